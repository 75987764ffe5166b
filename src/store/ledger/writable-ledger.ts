/** The port of the ledger's only writer: journals come in, part by part, each exactly once. */
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

export interface LedgerWriter {
  /** How far a journal has been taken, and what was open there: payer line and line, by id. */
  readJournal(name: string): { readonly mark: JournalProgress; readonly open: Map<string, string> }
  /**
   * Takes a part that lies between two positions. `committed` says whether it was this call that took it, and when
   * everybody sees it; `durable` resolves when the disk has it. Both fail with `unavailable`.
   */
  appendBatch(
    readJournal: string,
    from: JournalPosition,
    part: LedgerBatch,
    to: JournalProgress,
  ): { readonly committed: Promise<boolean>; readonly durable: Promise<boolean> }
  /** Forgets a journal that is done, and whose files are gone. */
  forgetJournal(readJournal: string): Promise<boolean>
  /** Removes a few rows and sums of hours from before then (Unix milliseconds). True when there may be more of them. */
  prune(before: number): Promise<boolean>
}

export interface WritableLedger {
  readonly reader: LedgerReader
  readonly writer: LedgerWriter
  /** Whether a change is on its way to the disk; a process that exits meanwhile has to be ended by a signal. */
  isWriting(): boolean
  /** Releases the files. No change may be under way. */
  close(): Promise<void>
}
