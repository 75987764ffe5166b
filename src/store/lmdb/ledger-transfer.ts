/** An embedded ledger in bulk. Nobody else may have its folder open. */
import { LedgerBatch } from '../ledger/ledger-batch.js'
import {
  type LedgerSink,
  type LedgerSource,
  TRANSFER_ROWS,
  type TransferredRow,
  type TransferredSum,
} from '../ledger/ledger-transfer.js'
import { isPayerLine } from '../ledger/row-text.js'
import { LmdbEnvironment } from './environment.js'
import { HoursRebuild } from './hours-rebuild.js'
import { LEDGER_BOOKS_TABLE, LEDGER_ROWS_TABLE } from './ledger.js'
import { LedgerHours } from './ledger-hours.js'
import { rowBlockKey } from './ledger-rows.js'
import { LedgerSums } from './ledger-sums.js'
import type { LmdbByteTable, TableEntry } from './table.js'

/** Blocks read at a time; each has the rows of a few hundredths of a second. */
const BLOCKS = 64

interface LedgerTransfer extends LedgerSource, LedgerSink {
  close(): Promise<void>
}

/** Opens the ledger in a folder, which is made where it is missing. */
export function openLmdbLedgerTransfer(folder: string): LedgerTransfer {
  const env = new LmdbEnvironment(folder)
  const rows = env.byteTable(LEDGER_ROWS_TABLE)
  const books = env.byteTable(LEDGER_BOOKS_TABLE)
  const sums = new LedgerSums(env, books)
  const hours = new LedgerHours(env, books)
  const rebuild = new HoursRebuild(env, { rows, books }, hours)
  let pieces = 0
  return {
    rows: async function* () {
      for (const entries of pages(env, rows, BLOCKS)) yield entries.flatMap(({ value }) => readBlock(value))
    },
    sums: async function* () {
      for (const entries of pages(env, books, TRANSFER_ROWS)) {
        const found = entries.map((entry) => sums.read(entry)).filter((sum) => sum !== null)
        if (found.length > 0) yield found
      }
    },
    addRows: async (added) => {
      await rebuild.complete()
      const place = `imported.${pieces++}`
      const batch = new LedgerBatch(
        added.flatMap(({ payer, line }) => [payer, line]),
        new Map(),
      )
      await env.write(() => {
        for (const [slot, { lines }] of batch.blocks) {
          rows.put(rowBlockKey(slot, place), Buffer.from(lines.join('\n'), 'latin1'))
        }
        hours.add(batch.deltas)
      }).committed
    },
    addSums: async (added: readonly TransferredSum[]) => {
      await env.write(() => {
        for (const sum of added) sums.put(sum)
      }).committed
    },
    close: () => env.close(),
  }
}

function* pages(env: LmdbEnvironment, table: LmdbByteTable, size: number): Generator<readonly TableEntry[]> {
  for (let last: Uint8Array | null = null; ; ) {
    const entries: readonly TableEntry[] = env.inSnapshot(() => env.entriesAfter(table, last, size))
    if (entries.length === 0) return
    yield entries
    last = entries.at(-1)!.key
  }
}

function readBlock(block: Buffer): TransferredRow[] {
  let payer = ''
  const found: TransferredRow[] = []
  for (const line of block.toString('latin1').split('\n')) {
    if (isPayerLine(line)) payer = line
    else found.push({ payer, line })
  }
  return found
}
