/** Rows as columns of a statement: what is read past the parser is what a parser finds. */
import fc from 'fast-check'
import { test } from 'tap'
import { LedgerBatch } from '../../../src/store/ledger/ledger-batch.js'
import { encodeClosedLine, encodeLostLine, encodePayerLine } from '../../../src/store/ledger/row-text.js'
import type { LedgerRow } from '../../../src/store/ledger-store.js'
import { RowColumns } from '../../../src/store/postgres/ledger-rows.js'
import { ledgerRow, words } from '../../support/arbitraries/ledger-rows.js'
import { hashOf } from '../../support/data/accounts.js'

const LOST = {
  ...{ model: 'm', provider: 'p"\\,', status: 500, fault: 'provider-failed', upstreamCost: 7 },
  ...{ promptTokens: 1, completionTokens: 2, estimated: false, durationMs: 9 },
}

/** Rows as the database makes them of the columns. */
function rowsOf(columns: RowColumns) {
  const [details, ids, begun, numbers, costs, prompts, completions, durations, ...more] =
    columns.values as Buffer[]
  const [keys, organizations, workspaces, kinds, models, providers, apis, outcomes, faults, ...rest] = more
  const [coverages, places] = rest
  const texts = (column: Buffer | undefined): string[] => column!.toString().split('\n')
  const kindColumns = [keys, organizations, workspaces, kinds, models, providers, apis, outcomes, faults]
  const ofKinds = kindColumns.map(texts)
  const [idTexts, detailTexts] = [texts(ids), texts(details)]
  const rowFigures = [begun, costs, prompts, completions, durations].map(wholeNumbers)
  return wholeNumbers(numbers).map((number, at) => ({
    kind: ofKinds.map((column) => column[number - 1]),
    coverage: wholeNumbers(coverages)[number - 1],
    place: wholeNumbers(places)[number - 1]! + at + 1,
    id: idTexts[at],
    detail: detailTexts[at],
    figures: rowFigures.map((column) => column[at]),
  }))
}

/** Of an array of PostgreSQL in its binary form. */
function wholeNumbers(bytes: Buffer | undefined): number[] {
  if (bytes!.readInt32BE(0) === 0) return []
  const [type, length] = [8, 12].map((at) => bytes!.readInt32BE(at))
  if (type !== 20 || bytes!.length !== 20 + 12 * length!) throw new Error('no array of bigint')
  return Array.from({ length: length! }, (_, n) => Number(bytes!.readBigInt64BE(24 + 12 * n)))
}

/** What a parser finds in the bytes of a line; control characters do not go into a column. */
function inColumn(text: string | null): string {
  const found: string = JSON.parse(Buffer.from(JSON.stringify(text ?? '')).toString('latin1'))
  return bytesText(found.replaceAll(/[^\x20-\xff]/g, '?'))
}

/** What stands in the database of a row, found by the parser. */
function expected(row: LedgerRow, place: number) {
  const line = Buffer.from(encodeClosedLine(row).slice(0, -1)).toString('latin1')
  const { model, provider, api, fault, durationMs } = row.detail
  const names = [model, provider, api].map(inColumn)
  return {
    kind: [
      ...[row.keyHash, row.organizationId, row.workspaceId ?? '', 'call', ...names],
      ...[row.outcome, inColumn(fault)],
    ],
    coverage: Number(line.split(' ')[3]),
    place,
    id: row.id,
    detail: bytesText(line.slice(line.indexOf(' [') + 1)),
    figures: [row.createdAt, row.cost, row.promptTokens, row.completionTokens, durationMs],
  }
}

const bytesText = (text: string): string => Buffer.from(text, 'latin1').toString()

const toBytes = (line: string): string => Buffer.from(line.slice(0, -1)).toString('latin1')

test('columns are what a parser finds in the lines, whatever stands in them', (t) => {
  const rows = fc.array(ledgerRow, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(rows, fc.array(fc.nat(7), { maxLength: 20 }), (some, again) => {
      // Rows of the same kinds come again, in any order and for other payers.
      const more = again.map((at) => ({ ...some[at % some.length]!, keyHash: hashOf(at % 2), cost: at }))
      const columns = new RowColumns()
      const all = [...some, ...more]
      const first = 2 ** 40
      for (const [at, row] of all.entries()) {
        columns.add(toBytes(encodePayerLine(row)), toBytes(encodeClosedLine(row)), first + at)
      }
      t.strictSame(
        rowsOf(columns),
        all.map((row, at) => expected(row, first + at)),
      )
    }),
    { numRuns: 200 },
  )
  t.end()
})

/** As it goes into a column; what is no number of ours counts as none. */
function wholeOf(value: unknown): number {
  const whole = Math.round(Number(value))
  return Number.isSafeInteger(whole) ? whole : 0
}

test('details that stand in a line otherwise than ours do are read as the parser reads them', (t) => {
  const [row] = fc.sample(ledgerRow, { seed: 4, numRuns: 1 })
  const front = encodeClosedLine(row!).split(' ').slice(0, 7).join(' ')
  const units = fc.dictionary(fc.constantFrom('a', 'b'), fc.nat())
  const number = fc.oneof(fc.double({ noNaN: true }), fc.nat())
  const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), words, number, fc.constant('",[{},'))
  const detail = fc.oneof(
    fc.array(value, { maxLength: 20 }),
    fc.tuple(
      units,
      value,
      value,
      words,
      words,
      fc.nat(),
      fc.nat(),
      number,
      value,
      value,
      value,
      value,
      value,
    ),
  )
  fc.assert(
    fc.property(detail, (values) => {
      const tail = JSON.stringify(values)
      const columns = new RowColumns()
      columns.add(toBytes(encodePayerLine(row!)), toBytes(`${front} ${tail}\n`), 0)
      const [{ kind, figures }] = rowsOf(columns) as [ReturnType<typeof rowsOf>[0]]
      const [, model, , provider, api, , , durationMs, , , , fault] = JSON.parse(tail) as unknown[]
      const texts = [model, provider, api, fault].map((text) =>
        inColumn(typeof text === 'string' ? text : ''),
      )
      t.strictSame([...kind.slice(4, 7), kind[8], figures[4]], [...texts, wholeOf(durationMs)])
    }),
    { numRuns: 1_000 },
  )
  t.end()
})

test('pieces of several journals keep their places, and lost attempts and parts are kinds of their own', (t) => {
  const [row] = fc.sample(ledgerRow, { seed: 4, numRuns: 1 })
  const part = { ...row!, id: `${row!.id}.1` }
  const lines = [
    encodePayerLine(row!),
    ...[encodeLostLine({ ...row!, ...LOST }), encodeClosedLine(part), encodeClosedLine(row!)],
  ]
  const batch = new LedgerBatch(lines.map(toBytes), new Map())
  const columns = new RowColumns()
  for (const segment of [3, 0]) {
    const to = { segment, offset: 900, done: false }
    columns.addPiece({ journal: `j${segment}`, from: { segment, offset: 17 }, batch, to })
  }
  const found = rowsOf(columns).map(({ kind, place, figures }) => [kind[3], kind[7], place, figures[1]])
  const places = (segment: number) => [0, 1, 2].map((n) => segment * 2 ** 32 + 17 + n)
  t.strictSame(
    found,
    [places(3), places(0)].flatMap(([lost, second, third]) => [
      ['lost', 'lost', lost, 7],
      ['part', row!.outcome, second, row!.cost],
      ['call', row!.outcome, third, row!.cost],
    ]),
  )
  t.end()
})

test('no rows are empty columns', (t) => {
  t.strictSame(rowsOf(new RowColumns()), [])
  t.end()
})
