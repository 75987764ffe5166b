/** A row of the ledger is the same after it has been a line. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { test } from 'tap'
import { newGenerationId } from '../../../src/base/ids.js'
import { decodeCoverage } from '../../../src/store/ledger/coverage.js'
import {
  closeAbandonedLine,
  encodeClosedLine,
  encodeLostLine,
  encodeOpenLine,
  encodePayerLine,
  findLostAttempts,
  findRow,
  lineId,
  lineTime,
  readFigures,
  readPayerIds,
} from '../../../src/store/ledger/row-text.js'
import { LEDGER_OUTCOMES, NOTHING_TOLD } from '../../../src/store/ledger-store.js'
import { ledgerRow as row, words } from '../../support/arbitraries/ledger-rows.js'

test('rows are what they were before they became lines, whoever pays for them', (t) => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), fc.nat(1), (wanted, same) => {
      const payers = wanted.map((each, at) => (same === 1 && at % 2 === 1 ? wanted[0]! : each))
      const rows = wanted.map((each, at) => {
        const { keyHash, organizationId, workspaceId } = payers[at]!
        return { ...each, keyHash, organizationId, workspaceId }
      })
      let text = ''
      let heading = ''
      for (const each of rows) {
        const line = encodeClosedLine(each)
        t.match(line, /^C [^\n]*\n$/)
        const payer = encodePayerLine(each)
        t.match(payer, /^P [^\n]*\n$/)
        text += payer === heading ? line : payer + line
        heading = payer
      }
      const block = Buffer.from(text.slice(0, -1))
      for (const each of rows) t.same(findRow(block, each.id), each)
      t.equal(findRow(block, newGenerationId(7)), null)
    }),
    { numRuns: 150 },
  )
  t.end()
})

test('of a name that is a book, the beginning is in the row', (t) => {
  const [some] = fc.sample(row, { seed: 1, numRuns: 1 })
  const detail = { ...some!.detail, nativeFinish: 'x'.repeat(1e6), serviceTier: 'y'.repeat(1e6) }
  const line = encodeClosedLine({ ...some!, detail })
  t.ok(line.length < 10_000)
  const read = findRow(Buffer.from(`${encodePayerLine(some!)}${line}`), some!.id)!
  t.equal(read.detail.nativeFinish, 'x'.repeat(256))
  t.equal(read.detail.serviceTier, 'y'.repeat(256))
  t.end()
})

test('a line of before says nothing of how its row came about, and is read all the same', (t) => {
  const id = newGenerationId(1_700_000_000_000)
  const detail = '["m/one",0,"One","completions",1,1,5,null,null,0,null,"stop",0,null,0,0]'
  const before = `P k o w\nC ${id} 12 0 0 3 4 [{},${detail.slice(1)}`
  const read = findRow(Buffer.from(before), id)
  t.match(read, { cost: 12, detail: { model: 'm/one', finish: 'stop', nativeFinish: 'stop' } })
  t.same(read?.detail.why, NOTHING_TOLD)
  t.end()
})

const lostAttempt = fc.record({
  model: words,
  provider: words,
  status: fc.nat(599),
  fault: words,
  upstreamCost: fc.maxSafeNat(),
  promptTokens: fc.nat(),
  completionTokens: fc.nat(),
  estimated: fc.boolean(),
  durationMs: fc.nat(),
})
const lostOnOwn = lostAttempt.map((lost) => ({ ...lost, byok: true as const }))

test('what a generation has lost is found among the lines of others, in its order', (t) => {
  fc.assert(
    fc.property(
      row,
      row,
      fc.array(fc.oneof(lostAttempt, lostOnOwn), { maxLength: 4 }),
      (mine, other, lost) => {
        const lines = lost.flatMap((each) => [
          encodeLostLine({ ...mine, ...each }),
          encodeLostLine({ ...other, ...each }),
        ])
        const block = Buffer.from(
          encodePayerLine(mine) + lines.join('') + encodeClosedLine(mine).slice(0, -1),
        )
        t.same(
          findLostAttempts(block, mine.id),
          lost.map((each) => ({ id: mine.id, ...each })),
        )
        t.same(findRow(block, mine.id), mine)
      },
    ),
    { numRuns: 100 },
  )
  t.end()
})

test('the books read the front of a line without the rest of it', (t) => {
  fc.assert(
    fc.property(row, (wanted) => {
      const line = encodeClosedLine(wanted).slice(0, -1)
      const { id, createdAt, cost, promptTokens, completionTokens } = wanted
      const figures = {
        cost: 0,
        coverage: 0,
        outcome: 0,
        promptTokens: 0,
        completionTokens: 0,
        byok: 0,
        detailAt: 0,
      }
      t.equal(lineId(line), id)
      t.equal(lineTime(line), createdAt)
      readFigures(line, id.length, figures)
      t.same(
        {
          ...figures,
          coverage: decodeCoverage(figures.coverage),
          outcome: LEDGER_OUTCOMES[figures.outcome],
          detailAt: line.slice(figures.detailAt - 1, figures.detailAt + 2),
        },
        {
          ...{ cost, coverage: wanted.coverage, outcome: wanted.outcome, promptTokens, completionTokens },
          ...{ byok: wanted.byokCost ?? 0, detailAt: ' [{' },
        },
      )
      const { keyHash, organizationId, workspaceId } = wanted
      t.same(readPayerIds(encodePayerLine(wanted).slice(0, -1)), { keyHash, organizationId, workspaceId })
    }),
    { numRuns: 200 },
  )
  t.end()
})

test('a call that nobody lives to tell about is charged what was estimated', (t) => {
  fc.assert(
    fc.property(row, fc.nat(), (call, estimate) => {
      const entry = { ...call, estimate, model: 'acme/large', provider: 'acme eu', api: 'completions' }
      const closed = closeAbandonedLine(encodeOpenLine(entry).slice(0, -1))
      const { id, keyHash, organizationId, workspaceId, createdAt } = call
      t.match(findRow(Buffer.from(encodePayerLine(call) + closed), id), {
        id,
        keyHash,
        organizationId,
        workspaceId,
        createdAt,
        cost: estimate,
        coverage: call.coverage,
        outcome: 'aborted-estimated',
        detail: {
          model: 'acme/large',
          provider: 'acme_eu',
          api: 'completions',
          estimated: true,
          guessed: true,
          fault: 'internal',
        },
      })
    }),
    { numRuns: 100 },
  )
  t.end()
})

test('books in the place of names are not kept', (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const [some] = fc.sample(row, { seed: 1, numRuns: 1 })
  const book = 'x'.repeat(1024 * 1024)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 0; at < 100; at++) {
    const nativeFinish = JSON.parse(`"${at}${book}"`) as string
    encodeClosedLine({ ...some!, detail: { ...some!.detail, nativeFinish } })
  }
  collect()
  t.ok(process.memoryUsage().heapUsed - before < 20 * 1024 * 1024)
  t.end()
})
