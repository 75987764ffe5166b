/** A row of the ledger is the same after it has been a line. */
import fc from 'fast-check'
import { test } from 'tap'
import { generationId } from '../../src/base/ids.js'
import {
  abandonedLine,
  closeLine,
  coverageOf,
  lineFront,
  openLine,
  parsedRow,
} from '../../src/store/journal/row-text.js'
import { LEDGER_OUTCOMES, type LedgerRow } from '../../src/store/ledger-store.js'
import { hashOf, idOf } from '../fixtures/accounts.js'

const coverage = fc.record({
  key: fc.constantFrom(null, 'never' as const, 'daily' as const, 'weekly' as const, 'monthly' as const),
  organization: fc.boolean(),
})
const words = fc.string({ unit: 'grapheme', maxLength: 40 })
const row: fc.Arbitrary<LedgerRow> = fc.record({
  id: fc.integer({ min: 0, max: 2 ** 40 }).map(generationId),
  keyHash: fc.nat().map(hashOf),
  organizationId: fc.nat(1_000).map(idOf),
  createdAt: fc.integer({ min: 0, max: 2 ** 42 }),
  coverage,
  outcome: fc.constantFrom(...LEDGER_OUTCOMES),
  cost: fc.maxSafeNat(),
  promptTokens: fc.nat(),
  completionTokens: fc.nat(),
  units: fc.dictionary(fc.constantFrom('cached_tokens', 'seconds', 'characters'), fc.nat()),
  detail: fc.record({
    model: words,
    requested: words,
    provider: words,
    workspaceId: fc.option(words),
    api: words,
    streamed: fc.boolean(),
    attempts: fc.nat(9),
    durationMs: fc.nat(),
    firstEventMs: fc.option(fc.nat()),
    sessionId: fc.option(words),
    estimated: fc.boolean(),
    fault: fc.option(words),
  }),
})

test('a row is what it was before it became a line', (t) => {
  fc.assert(
    fc.property(row, (wanted) => {
      const line = closeLine(wanted)
      t.match(line, /^C [^\n]*\n$/)
      t.same(parsedRow(line.slice(0, -1)), wanted)
    }),
    { numRuns: 300 },
  )
  t.end()
})

test('the books read the front of a line without the rest of it', (t) => {
  fc.assert(
    fc.property(row, (wanted) => {
      const front = lineFront(closeLine(wanted).slice(0, -1))
      const { id, keyHash, organizationId, createdAt, cost, promptTokens, completionTokens } = wanted
      t.same(
        { ...front, coverage: coverageOf(front.coverage) },
        {
          kind: 'close',
          id,
          keyHash,
          organizationId,
          createdAt,
          cost,
          coverage: wanted.coverage,
          promptTokens,
          completionTokens,
        },
      )
    }),
    { numRuns: 200 },
  )
  t.end()
})

test('a call that nobody lives to tell about is charged what was estimated', (t) => {
  fc.assert(
    fc.property(row, fc.nat(), (call, estimate) => {
      const { id, keyHash, organizationId, createdAt } = call
      const open = openLine({
        id,
        keyHash,
        organizationId,
        createdAt,
        estimate,
        coverage: call.coverage,
        model: 'acme/large',
        provider: 'acme eu',
      })
      const closed = parsedRow(abandonedLine(open.slice(0, -1)))
      t.match(closed, {
        id,
        keyHash,
        organizationId,
        createdAt,
        cost: estimate,
        coverage: call.coverage,
        outcome: 'aborted-estimated',
        detail: { model: 'acme/large', provider: 'acme_eu', estimated: true, fault: 'internal' },
      })
    }),
    { numRuns: 100 },
  )
  t.end()
})
