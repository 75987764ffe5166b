/** The ledger of a server, read from outside, beside the server or after its end. */
import { join } from 'node:path'
import { isWriterAlive, listJournals } from '../../../src/ledger/journal/segment-format.js'
import {
  isLostLine,
  isPayerLine,
  parseLostLine,
  parseRow,
  readPayerIds,
} from '../../../src/store/ledger/row-text.js'
import type { LedgerRow, LostAttemptRow } from '../../../src/store/ledger-store.js'
import { LmdbEnvironment } from '../../../src/store/lmdb/environment.js'
import { LEDGER_ROWS_TABLE } from '../../../src/store/lmdb/ledger.js'

export class LedgerReader {
  readonly #env: LmdbEnvironment
  readonly #rows: ReturnType<LmdbEnvironment['byteTable']>
  readonly #journals: string

  constructor(dataFolder: string) {
    this.#journals = join(dataFolder, 'ledger', 'journals')
    this.#env = new LmdbEnvironment(join(dataFolder, 'ledger'))
    this.#rows = this.#env.byteTable(LEDGER_ROWS_TABLE)
  }

  /** Whether a call stands open whose process is gone, or has left a journal behind that is not taken. */
  hasLeftovers(): boolean {
    return [...listJournals(this.#journals).keys()].some((journal) => !isWriterAlive(journal))
  }

  /** All rows by id; an id that stands there twice cannot be, it is their key. */
  rows(): Map<string, LedgerRow> {
    return new Map(this.#readBlocks(rowsIn).map((row) => [row.id, row]))
  }

  /** All attempts that were lost. */
  lostAttempts(): readonly LostAttemptRow[] {
    return this.#readBlocks((block) => block.toString().split('\n').filter(isLostLine).map(parseLostLine))
  }

  #readBlocks<T>(read: (block: Buffer) => readonly T[]): T[] {
    try {
      return this.#env.valuesWithPrefix(this.#rows, Buffer.alloc(0)).flatMap(read)
    } finally {
      this.#env.releaseSnapshot()
    }
  }

  close(): Promise<void> {
    return this.#env.close()
  }
}

/** The rows of a text of whole lines, each after its payer. */
function rowsIn(block: Buffer): LedgerRow[] {
  let payers = readPayerIds('')
  return block
    .toString()
    .split('\n')
    .flatMap((line) => {
      if (isLostLine(line)) return []
      if (!isPayerLine(line)) return [parseRow(payers, line)]
      payers = readPayerIds(line)
      return []
    })
}
