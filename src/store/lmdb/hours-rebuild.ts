/**
 * Sums of hours of rows that a build without them has written. They are made in pieces before anything else is brought
 * in, each with the mark of how far it goes:
 *
 *     'h'   ->  key of the last block whose rows are summed up, or that all are
 */
import { Fault } from '../../base/fault.js'
import { largeTurn } from '../../base/large-turns.js'
import { LedgerBatch } from '../ledger/ledger-batch.js'
import type { LmdbEnvironment } from './environment.js'
import type { LedgerHours } from './ledger-hours.js'
import type { LmdbByteTable } from './table.js'

const MARK = Buffer.from('h')
/** Shorter than any key of a block. */
const ALL = Buffer.from('all')
/** Blocks of a piece. */
const BLOCKS = 64

interface Tables {
  readonly rows: LmdbByteTable
  readonly books: LmdbByteTable
}

export class HoursRebuild {
  readonly #env: LmdbEnvironment
  readonly #tables: Tables
  readonly #hours: LedgerHours
  #isComplete = false
  #underWay: Promise<void> | null = null

  constructor(env: LmdbEnvironment, tables: Tables, hours: LedgerHours) {
    this.#env = env
    this.#tables = tables
    this.#hours = hours
  }

  /** Whether this process knows that nothing is missing. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Fails with `unavailable` as long as sums are missing: what would be answered was not all. */
  require(): void {
    if (this.#isComplete) return
    const { rows } = this.#tables
    const isWhole = this.#env.inSnapshot(
      () => this.#mark()?.equals(ALL) === true || this.#env.entriesAfter(rows, null, 1).length === 0,
    )
    if (!isWhole) {
      throw new Fault('unavailable', { detail: 'rows of an earlier build are being summed up' })
    }
  }

  /** Makes what is missing. One that fails goes on where it was when it is asked for again. */
  complete(): Promise<void> {
    this.#underWay ??= this.#run().finally(() => {
      this.#underWay = null
    })
    return this.#underWay
  }

  async #run(): Promise<void> {
    while (!this.#isComplete) {
      this.#isComplete = await this.#takePiece()
      await largeTurn()
    }
  }

  /** True when there is nothing more to take. */
  async #takePiece(): Promise<boolean> {
    const { rows, books } = this.#tables
    const { mark, blocks } = this.#env.inSnapshot(() => {
      const mark = this.#mark()
      return { mark, blocks: mark?.equals(ALL) ? [] : this.#env.entriesAfter(rows, mark, BLOCKS) }
    })
    if (mark?.equals(ALL)) return true
    const lines = blocks.flatMap(({ value }) => value.toString('latin1').split('\n'))
    const { deltas } = new LedgerBatch(lines, new Map())
    const isLast = blocks.length < BLOCKS
    const isTaken = await this.#env.write(() => {
      // Another server on the folder may have been quicker.
      const now = this.#mark()
      if (mark === null ? now !== null : now?.equals(mark) !== true) return false
      this.#hours.add(deltas)
      books.put(MARK, isLast ? ALL : blocks.at(-1)!.key)
      return true
    }).committed
    return isTaken && isLast
  }

  #mark(): Buffer | null {
    const bytes = this.#env.get(this.#tables.books, MARK)
    return bytes === undefined ? null : Buffer.from(bytes)
  }
}
