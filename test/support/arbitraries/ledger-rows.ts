/** Rows of the ledger. */
import fc from 'fast-check'
import { newGenerationId } from '../../../src/base/ids.js'
import { lineTime } from '../../../src/store/ledger/row-text.js'
import { LEDGER_OUTCOMES, type LedgerRow } from '../../../src/store/ledger-store.js'
import { hashOf, idOf } from '../data/accounts.js'

const limitCoverage = fc.record({
  key: fc.constantFrom(null, 'never' as const, 'daily' as const, 'weekly' as const, 'monthly' as const),
  organization: fc.boolean(),
  byok: fc.boolean(),
})
export const words = fc.string({ unit: 'grapheme', maxLength: 40 })
const candidate = fc.record({
  provider: words,
  model: words,
  place: fc.nat(12),
  chance: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
  why: fc.array(words, { maxLength: 3 }),
})
const asked = fc.record(
  {
    models: fc.array(words, { maxLength: 3 }),
    provider: fc.dictionary(words, fc.jsonValue(), { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<
      Record<string, unknown>
    >,
    route: words,
    modalities: fc.array(words, { maxLength: 2 }),
    serviceTier: words,
    needs: fc.array(words, { maxLength: 3 }),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const why: fc.Arbitrary<LedgerRow['detail']['why']> = fc.record({
  configVersion: fc.option(words),
  priceVersion: fc.option(words),
  region: fc.option(words),
  queueMs: fc.nat(),
  connectMs: fc.nat(),
  admitMs: fc.nat(),
  candidates: fc.array(candidate, { maxLength: 3 }),
  unlisted: fc.nat(9),
  attempts: fc.array(
    fc.record(
      {
        provider: words,
        model: words,
        status: fc.nat(599),
        fault: fc.option(words),
        durationMs: fc.nat(),
        startMs: fc.nat(),
      },
      { requiredKeys: ['provider', 'model', 'status', 'fault', 'durationMs'], noNullPrototype: true },
    ),
    { maxLength: 3 },
  ),
  user: fc.option(words),
  referer: fc.option(words),
  agent: fc.option(words),
  title: fc.option(words),
  cacheDiscount: fc.integer(),
  asked: fc.oneof(fc.constantFrom(null, 'untold' as const), asked),
  metadata: fc.option(fc.dictionary(words, words, { maxKeys: 3, noNullPrototype: true })),
  trace: fc.option(fc.dictionary(words, fc.jsonValue(), { maxKeys: 3, noNullPrototype: true })),
})
/** Of any time until 2109, with texts of all kinds. */
export const ledgerRow: fc.Arbitrary<LedgerRow> = fc
  .record({
    id: fc.integer({ min: 0, max: 2 ** 42 }).map(newGenerationId),
    keyHash: fc.nat().map(hashOf),
    organizationId: fc.nat(1_000).map(idOf),
    workspaceId: fc.option(fc.nat(1_000).map(idOf)),
    createdAt: fc.constant(0),
    coverage: limitCoverage,
    outcome: fc.constantFrom(...LEDGER_OUTCOMES),
    cost: fc.maxSafeNat(),
    byokCost: fc.option(fc.nat(1_000_000)),
    promptTokens: fc.nat(),
    completionTokens: fc.nat(),
    units: fc.dictionary(fc.constantFrom('cached_tokens', 'seconds', 'characters'), fc.nat()),
    detail: fc.record({
      model: words,
      requested: words,
      provider: words,
      api: words,
      streamed: fc.boolean(),
      attempts: fc.nat(9),
      durationMs: fc.nat(),
      firstEventMs: fc.option(fc.nat()),
      sessionId: fc.option(words),
      estimated: fc.boolean(),
      guessed: fc.boolean(),
      fault: fc.option(words),
      finish: fc.option(words),
      nativeFinish: fc.option(words),
      serviceTier: fc.option(words),
      mediaParts: fc.nat(9),
      audioParts: fc.nat(9),
      why,
    }),
    lost: fc.constant([]),
    parts: fc.constant([]),
  })
  .map(({ byokCost, coverage: { byok, ...coverage }, ...each }) => ({
    ...each,
    ...(byokCost !== null && { byokCost }),
    coverage: { ...coverage, ...(byok && { byok: true as const }) },
    // What is guessed is estimated as well.
    detail: { ...each.detail, estimated: each.detail.estimated || each.detail.guessed },
    createdAt: lineTime(`C ${each.id} `),
  }))
