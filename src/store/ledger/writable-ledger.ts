/** The port of the ledger's only writer: journals come in, batch by batch, each exactly once. */
import type { LedgerReader } from '../ledger-store.js'
import type { LedgerBatch } from './ledger-batch.js'

/** A place in a journal: how many bytes of which of its segments. */
export interface JournalPosition {
  readonly segment: number
  readonly offset: number
}

/** How far a journal has been taken. `done`: wholly, and its writer is gone. */
export interface JournalProgress extends JournalPosition {
  readonly done: boolean
}

export interface WritableLedger extends LedgerReader {
  /** How far a journal has been taken, and what was open there: payer line and line, by id. */
  readJournal(name: string): { readonly mark: JournalProgress; readonly open: Map<string, string> }
  /**
   * Takes a batch that lies between two positions. `committed` says whether it was this call that took it, and when
   * every process sees it; `durable` resolves when the disk has it. Both fail with `unavailable`.
   */
  appendBatch(
    journal: string,
    from: JournalPosition,
    batch: LedgerBatch,
    to: JournalProgress,
  ): { readonly committed: Promise<boolean>; readonly durable: Promise<boolean> }
  /** Forgets a journal that is done, and whose files are gone. */
  forgetJournal(journal: string): Promise<boolean>
  /** Removes a few rows and sums of hours from before then (Unix milliseconds). True when there may be more of them. */
  prune(before: number): Promise<boolean>
  /** Whether a change is on its way to the disk; a process that exits meanwhile has to be ended by a signal. */
  isWriting(): boolean
  /** Waits for changes under way, then releases the files. */
  close(): Promise<void>
}
