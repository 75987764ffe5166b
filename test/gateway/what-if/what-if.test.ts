/** Calls of the ledger under another configuration. The cost of a whole other run is foretold by the trial `what-if`. */
import fc from 'fast-check'
import { test } from 'tap'
import { usageOfRow } from '../../../src/gateway/accounting/ledger-rows.js'
import { costOf } from '../../../src/gateway/pricing/price.js'
import type { SupposedKeyLimits } from '../../../src/gateway/what-if/limit-use.js'
import { LimitTrial } from '../../../src/gateway/what-if/limits.js'
import { type LedgerRow, NOTHING_TOLD } from '../../../src/store/ledger-store.js'
import { ledgerRow } from '../../support/arbitraries/ledger-rows.js'
import { BEGAN, hashOf, idOf } from '../../support/data/accounts.js'
import { askOf, catalogWith, MODEL, many, passed, priced, rowOf, sure } from './past-calls.js'

test('a call that stays where it was is reckoned anew to the nano-dollar, and takes as long as it did', (t) => {
  const told = askOf(catalogWith({ slug: 'north', prices: priced(2_000_000, 30_000_000) }), [rowOf()])
  t.same(told.calls, { all: 1, exact: 1, estimated: 0, unknown: 0 })
  const cost = 1000 * 2 + 100 * 30
  t.same(told.money, { before: 5, after: sure(cost), unknown: 0 })
  t.same(told.totalMs.before, told.totalMs.after && { p50: 200, p95: 200, p99: 200 })
  t.equal(told.totalMs.after?.p99.low, told.totalMs.after?.p99.high)
  t.end()
})

test('under the prices that it was charged by any row comes to what it was charged', (t) => {
  const prices = priced(1_234_567, 7_654_321)
  const catalog = catalogWith({ slug: 'north', prices })
  fc.assert(
    fc.property(ledgerRow, (any) => {
      const { units, promptTokens, completionTokens } = any
      const usage = usageOfRow({
        units,
        promptTokens: promptTokens % 10_000,
        completionTokens: completionTokens % 10_000,
      })
      const cost = costOf(usage, prices).total
      const row = rowOf({ units, promptTokens: usage.prompt, completionTokens: usage.completion, cost })
      const { money } = askOf(catalog, [row])
      return money.before === cost && money.after.low === cost && money.after.high === cost
    }),
    { numRuns: 200 },
  )
  t.end()
})

test('a call that would go where nothing is known of is unknown, and stands in no figure', (t) => {
  const told = askOf(catalogWith({ slug: 'south' }), [rowOf({ cost: 9 })])
  t.same(told.calls, { all: 1, exact: 0, estimated: 0, unknown: 1 })
  t.same(told.money, { before: 0, after: sure(0), unknown: 9 })
  t.equal(told.totalMs.before, null)
  t.equal(told.totalMs.after, null)
  t.end()
})

test('a call that would go elsewhere takes as long as calls took there, and pays what is asked there', (t) => {
  const slow = many(40, () => rowOf({}, { provider: 'SOUTH', durationMs: 900, firstEventMs: 700 }))
  const since = BEGAN + passed()
  const told = askOf(
    catalogWith({ slug: 'south', prices: priced(3_000_000) }),
    [...slow, ...many(10, () => rowOf())],
    { since },
  )
  t.same(
    told.calls,
    { all: 10, exact: 0, estimated: 10, unknown: 0 },
    'what came before tells and is not counted',
  )
  t.same(told.money.after, { ...sure(30_000), basis: 'estimated' })
  t.ok(told.firstEventMs.after!.p50.value >= 690)
  t.same(
    told.by.provider.map(({ name, before, after }) => [name, before, after.value]),
    [
      ['SOUTH', 0, 30_000],
      ['NORTH', 50, 0],
    ],
  )
  t.end()
})

test('nothing that came later is used for a call', (t) => {
  const first = rowOf()
  const later = many(40, () => rowOf({}, { provider: 'SOUTH' }))
  const told = askOf(catalogWith({ slug: 'south' }), [first, ...later])
  t.equal(told.calls.unknown, 1)
  t.equal(told.calls.exact, 40)
  t.end()
})

test('where a draw decides, each endpoint gets its share, with a range', (t) => {
  const past = many(40, () => rowOf({}, { provider: 'SOUTH' }))
  const since = BEGAN + passed()
  const catalog = catalogWith(
    { slug: 'north', prices: priced(1_000_000) },
    { slug: 'south', prices: priced(2_000_000) },
  )
  const told = askOf(catalog, [...past, ...many(500, () => rowOf())], { since, replicates: 200 })
  // Half the price gets four calls of five.
  const expected = 500 * (0.8 * 1000 + 0.2 * 2000)
  const { low, high } = told.money.after
  t.ok(low < expected && expected < high, `${low} < ${expected} < ${high}`)
  t.ok((high - low) / expected < 0.1)
  t.end()
})

test('the same draw as before changes nothing: what was drawn stays', (t) => {
  const catalog = catalogWith(
    { slug: 'north', prices: priced(1_000_000) },
    { slug: 'south', prices: priced(2_000_000) },
  )
  const why = ['SOUTH', 'NORTH'].map((provider, at) => ({
    ...{ provider, model: MODEL, place: at + 1, chance: provider === 'NORTH' ? 0.8 : 0.2, why: [] },
  }))
  const row = rowOf({}, { provider: 'SOUTH', why: { ...NOTHING_TOLD, asked: null, candidates: why } })
  const told = askOf(catalog, [row])
  t.equal(told.calls.exact, 1)
  t.same(told.money.after, sure(2_000))
  t.end()
})

test('a row that does not say what it asked for is known only where there is nothing to choose', (t) => {
  const row = rowOf({}, { why: NOTHING_TOLD })
  t.equal(askOf(catalogWith({ slug: 'north' }), [row]).calls.exact, 1)
  t.equal(askOf(catalogWith({ slug: 'north' }, { slug: 'south' }), [row]).calls.unknown, 1)
  t.end()
})

test('what a request asked for decides again', (t) => {
  const catalog = catalogWith(
    { slug: 'north', prices: priced(1_000_000) },
    { slug: 'south', prices: priced(2_000_000) },
  )
  const asked = { provider: { only: ['north'] } }
  t.equal(askOf(catalog, [rowOf({}, { why: { ...NOTHING_TOLD, asked } })]).money.after.value, 1_000)
  const demanding = { ...NOTHING_TOLD, asked: { needs: ['tools'] } }
  const unable = catalogWith({ slug: 'north', supportedParameters: new Set() })
  t.equal(askOf(unable, [rowOf({}, { why: demanding })]).refused.no_endpoint.value, 1)
  t.end()
})

test('a call of a model that is no more is refused', (t) => {
  const told = askOf(catalogWith({ slug: 'north' }), [
    rowOf({}, { model: 'gone/model', requested: 'gone/model' }),
  ])
  t.same(told.refused.no_endpoint, sure(1))
  t.same(told.money, { before: 5, after: sure(0), unknown: 0 })
  t.end()
})

test('an endpoint that failed for the call fails again, and the next one takes over', (t) => {
  const attempts = [
    { provider: 'SOUTH', model: MODEL, status: 503, fault: 'provider-failed', durationMs: 80 },
    { provider: 'NORTH', model: MODEL, status: 200, fault: null, durationMs: 120 },
  ]
  const asked = { provider: { order: ['south', 'north'] } }
  const row = rowOf({}, { attempts: 2, why: { ...NOTHING_TOLD, asked, attempts } })
  const catalog = catalogWith({ slug: 'north', prices: priced(1_000_000) }, { slug: 'south' })
  const told = askOf(catalog, [row])
  t.equal(told.calls.exact, 1)
  t.equal(told.money.after.value, 1_000)
  t.end()
})

test('tools keep their fees, and what ran on a callers own account stays there', (t) => {
  const tool = rowOf(
    { cost: 70 },
    { api: 'tool', model: 'web_search', requested: 'web_search', provider: 'search' },
  )
  const turn = rowOf({}, { api: 'turn' })
  const told = askOf(catalogWith({ slug: 'north', prices: priced(1_000_000) }), [
    rowOf({ cost: 0, promptTokens: 0, completionTokens: 0, parts: [turn, tool] }),
    rowOf({ cost: 3, byokCost: 400 }),
  ])
  t.same(told.calls, { all: 2, exact: 2, estimated: 0, unknown: 0 })
  t.equal(told.money.before, 78)
  t.equal(told.money.after.value, 1_000 + 70 + 3)
  t.end()
})

// ── Limits ──────────────────────────────────────────────────────────────────

const NONE: SupposedKeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrent: null,
  spending: null,
}
const limitsOf = (limits: Partial<SupposedKeyLimits>, credits: readonly [string, number][] = []) => ({
  limits: { keys: new Map([['*', { ...NONE, ...limits }]]), credits: new Map(credits) },
})
/** Calls of a second each, ten a second. */
const busy = (): LedgerRow[] =>
  many(100, (at) => rowOf({ createdAt: BEGAN + at * 100 }, { durationMs: 1000 }))
const NORTH = catalogWith({ slug: 'north', prices: priced(1_000_000) })

const LIMITS = [
  ['requests per minute', { requestsPerMinute: 30 }, 'requests', 70],
  ['tokens per minute', { tokensPerMinute: 11_000 }, 'tokens', 90],
  ['calls at a time', { concurrent: 5 }, 'concurrent', 50],
  ['money of a key', { spending: { limit: 40_000, reset: 'daily' } }, 'key_money', 60],
] as const

for (const [what, limits, kind, refused] of LIMITS) {
  test(`${what} are bounded in the order in which calls came`, (t) => {
    const told = askOf(NORTH, busy(), limitsOf(limits))
    t.same(told.refused[kind], sure(refused))
    t.equal(told.money.after.value, (100 - refused) * 1_000)
    t.end()
  })
}

test('credits of an organization bound its calls, and nobody elses', (t) => {
  const other = rowOf({ organizationId: idOf(2) })
  const told = askOf(NORTH, [...busy(), other], limitsOf({}, [[idOf(1), 25_500]]))
  t.equal(told.refused.organization_money.value, 75)
  t.equal(told.money.after.value, 26_000)
  t.end()
})

test('the limit of a key begins anew with its period', (t) => {
  const days = many(4, (at) => rowOf({ createdAt: BEGAN + at * 12 * 60 * 60 * 1000 }))
  const told = askOf(NORTH, days, limitsOf({ spending: { limit: 1_000, reset: 'daily' } }))
  t.ok(told.refused.key_money.value >= 1 && told.refused.key_money.value <= 2)
  t.end()
})

test('a key is known by the begin of its hash, and the entry that says most of it counts', (t) => {
  const strict = { ...NONE, requestsPerMinute: 1 }
  const hash = hashOf(1)
  const keys = new Map([
    ['*', strict],
    [hash.slice(0, 8), strict],
    [hash.slice(0, 10), { ...NONE, requestsPerMinute: 30 }],
  ])
  const told = askOf(NORTH, busy(), { limits: { keys, credits: new Map() } })
  t.equal(told.refused.requests.value, 70)
  t.same(told.limits, { unmet: ['keys.*', `keys.${hash.slice(0, 8)}`], ambiguous: [] })
  t.end()
})

test('entries of limits that no call is of are named, and begins of hashes that several keys have', (t) => {
  const common = 'ab'.repeat(6)
  const keyed = ['1', '2'].map((end) => rowOf({ keyHash: `${common}${end.repeat(52)}` }))
  const keys = new Map([
    [common, NONE],
    [hashOf(77), NONE],
  ])
  const credits = new Map([
    [idOf(1), 1e9],
    [idOf(99), 1e9],
  ])
  const { limits } = askOf(NORTH, keyed, { limits: { keys, credits } })
  t.same(limits, {
    unmet: [`keys.${hashOf(77)}`, `organizations.${idOf(99)}`],
    ambiguous: [`keys.${common}`],
  })
  t.end()
})

test('what entries of limits come to is told of as many as are allowed in a turn of the loop', (t) => {
  const begins = Array.from({ length: 10_000 }, (_, at) => at.toString(16).padStart(12, '0'))
  const keys = new Map(begins.map((begin) => [begin, NONE]))
  const trial = new LimitTrial({ keys, credits: new Map() }, 1)
  for (const begin of begins.slice(1)) trial.meet({ keyHash: begin.padEnd(64, '0'), organizationId: idOf(1) })
  const began = process.cpuUsage()
  const odd = trial.oddEntries()
  const { user, system } = process.cpuUsage(began)
  t.same(odd, { unmet: [`keys.${begins[0]}`], ambiguous: [] })
  t.ok(user + system < 200_000, `${user + system} microseconds`)
  t.end()
})

test('equal seeds give equal answers', (t) => {
  const rows = [...many(40, () => rowOf({}, { provider: 'SOUTH' })), ...many(40, () => rowOf())]
  const dearer = { slug: 'south', prices: priced(2_000_000) }
  const catalog = catalogWith({ slug: 'north', prices: priced(1_000_000) }, dearer)
  t.same(askOf(catalog, rows, { seed: 3 }), askOf(catalog, rows, { seed: 3 }))
  t.notSame(askOf(catalog, rows, { seed: 3 }).money, askOf(catalog, rows, { seed: 4 }).money)
  t.end()
})
