/** The ledger of all machines in bulk, in a transaction that lasts as long as the transfer does. */
import { LedgerBatch, type UsageSums } from '../ledger/ledger-batch.js'
import {
  type LedgerSink,
  type LedgerSource,
  TRANSFER_ROWS,
  type TransferredSum,
} from '../ledger/ledger-transfer.js'
import { encodePayerLine } from '../ledger/row-text.js'
import type { Query } from './database.js'
import { placeholders } from './ledger.js'
import { lineOf, payersOf, ROW_COLUMNS, type RowRecord } from './ledger-records.js'
import { RowColumns } from './ledger-rows.js'
import { hourColumns } from './ledger-sums.js'

/** What stands in the place of a machine's name in rows that came from an embedded ledger. */
const IMPORTED = 'imported'
const FIGURES: readonly (keyof UsageSums)[] = ['cost', 'promptTokens', 'completionTokens', 'calls']

/** Reads what the transaction of `query` sees. */
export function readPostgresLedger(query: Query): LedgerSource {
  return {
    rows: async function* () {
      for await (const records of pages<RowRecord>(query, `SELECT ${ROW_COLUMNS} FROM sluice.ledger_rows`)) {
        yield records.map((record) => ({
          payer: toBytes(encodePayerLine(payersOf(record)).slice(0, -1)),
          line: toBytes(lineOf(record)),
        }))
      }
    },
    sums: () =>
      pages<TransferredSum>(
        query,
        `SELECT payer, period, cost, prompt_tokens AS "promptTokens", completion_tokens AS "completionTokens", calls
         FROM sluice.ledger_sums`,
      ),
  }
}

/** Writes in the transaction of `query`. */
export function writePostgresLedger(query: Query): LedgerSink {
  let place = 0
  const put = async (name: string, values: readonly unknown[]): Promise<void> => {
    await query(`SELECT sluice.${name}(${placeholders(values.length)})`, values)
  }
  return {
    addRows: async (rows) => {
      const columns = new RowColumns()
      for (const { payer, line } of rows) columns.add(payer, line, place++)
      await put('put_ledger_rows', [IMPORTED, ...columns.values])
      const lines = rows.flatMap(({ payer, line }) => [payer, line])
      await put('put_ledger_hours', hourColumns(new LedgerBatch(lines, new Map()).deltas))
    },
    addSums: (sums) => {
      const column = (name: keyof TransferredSum): (string | number)[] => sums.map((sum) => sum[name])
      return put('put_ledger_sums', [column('payer'), column('period'), ...FIGURES.map(column)])
    },
  }
}

let cursors = 0

async function* pages<R extends object>(query: Query, select: string): AsyncGenerator<readonly R[]> {
  const name = `ledger_transfer_${++cursors}`
  await query(`DECLARE ${name} NO SCROLL CURSOR FOR ${select}`)
  for (;;) {
    const page = await query<R>(`FETCH FORWARD ${TRANSFER_ROWS} FROM ${name}`)
    if (page.length === 0) break
    yield page
  }
  await query(`CLOSE ${name}`)
}

/** As in a journal: a character for a byte. */
function toBytes(text: string): string {
  return Buffer.from(text).toString('latin1')
}
