/** The port of the only writer of a machine's journals into the ledger: batch by batch, each exactly once. */
import type { MaybePromise } from '../../base/maybe-promise.js'
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

/** What the ledger knows of a journal: how far it has been taken, and what was open there. */
export interface JournalState {
  readonly mark: JournalProgress
  /** Payer line and line, by id. */
  readonly open: Map<string, string>
}

/** The lines of a journal between two positions. */
export interface JournalPiece {
  readonly journal: string
  readonly from: JournalPosition
  readonly batch: LedgerBatch
  readonly to: JournalProgress
}

export interface WritableLedger extends LedgerReader {
  readJournal(name: string): MaybePromise<JournalState>
  /**
   * Takes pieces of different journals, all of them or none: none when one does not begin where its journal has been
   * taken to. `committed` says whether it was this call that took them, and when every process sees them; `durable`
   * resolves when the disk has them. Both fail with `unavailable`; the pieces may be in the ledger nevertheless, which
   * `readJournal` tells. `isInherited`: all of them were left by an earlier run, so that what they have spent was not
   * reserved from leases of this one.
   */
  append(
    pieces: readonly JournalPiece[],
    isInherited: boolean,
  ): {
    readonly committed: Promise<boolean>
    readonly durable: Promise<boolean>
  }
  /**
   * The files of a journal that is done are gone. That it is done is known for some weeks more, whatever brings its
   * lines back; then it is forgotten. `now` as for `prune`.
   */
  forgetJournal(journal: string, now: number): Promise<boolean>
  /**
   * Removes a few rows and sums of hours that are older than so many days. True when there may be more of them. `now` is
   * this machine's time (Unix milliseconds), which a ledger that has a clock of its own does not trust.
   */
  prune(age: { readonly days: number; readonly now: number }): Promise<boolean>
  /** Whether a change is on its way to the disk; a process that exits meanwhile has to be ended by a signal. */
  isWriting(): boolean
  /** Waits for changes under way, then releases the files. */
  close(): Promise<void>
}
