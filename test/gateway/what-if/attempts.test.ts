/** What calls that more than one endpoint was asked for tell, and what becomes of them. */
import { test } from 'tap'
import { attemptsOf } from '../../../src/gateway/what-if/known-attempts.js'
import { endpointName } from '../../../src/gateway/what-if/plan-again.js'
import type { WhatIf } from '../../../src/gateway/what-if/what-if.js'
import { type LedgerRow, NOTHING_TOLD, type RowAttempt } from '../../../src/store/ledger-store.js'
import { BEGAN } from '../../support/data/accounts.js'
import { askOf, catalogWith, MODEL, many, priced, rowOf, sure } from './past-calls.js'

type Report = ReturnType<WhatIf['report']>

const ok = (provider: string, durationMs: number, startMs: number): RowAttempt => ({
  ...{ provider, model: MODEL, status: 200, fault: null, durationMs, startMs },
})
const lost = (provider: string, fault: string, durationMs: number, startMs = 0): RowAttempt => ({
  ...{ provider, model: MODEL, status: 0, fault, durationMs, startMs },
})
/** The order is asked for, so that nothing is drawn. */
const tried = (order: readonly string[], attempts: readonly RowAttempt[]) => ({
  attempts: attempts.length,
  why: { ...NOTHING_TOLD, asked: { provider: { order } }, attempts },
})

const NORTH = { slug: 'north', prices: priced(1_000_000) }
const SOUTH = { slug: 'south', prices: priced(2_000_000) }
const ofSouth = (): LedgerRow => rowOf({}, { provider: 'SOUTH', durationMs: 900, firstEventMs: 700 })
/** NORTH fails after 80 ms, and SOUTH answers after 120. */
const rescued = (more: Partial<LedgerRow> = {}): LedgerRow =>
  rowOf(more, {
    ...{ provider: 'SOUTH', durationMs: 200, firstEventMs: 130 },
    ...tried(['north', 'south'], [lost('NORTH', 'provider-failed', 80), ok('SOUTH', 50, 80)]),
  })

test('a call whose rescuer is no more fails, and costs nothing', (t) => {
  const told = askOf(
    catalogWith(NORTH),
    many(46, () => rescued()),
  )
  t.same(told.calls, { all: 46, exact: 46, estimated: 0, unknown: 0 })
  t.same(told.failed, { before: 0, after: sure(46) })
  t.same(told.money, { before: 46 * 5, after: sure(0), unknown: 0 })
  t.equal(told.by.provider.find(({ name }) => name === 'SOUTH')?.after.value, 0)
  t.equal(told.totalMs.after, null, 'a call without an answer has no time of one')
  t.end()
})

test('a call that its rescuer is asked for at once takes as long as that one took', (t) => {
  const told = askOf(catalogWith(SOUTH), [rescued()])
  t.equal(told.calls.exact, 1)
  t.same(told.money.after, sure(2_000))
  near(t, told.firstEventMs.after!.p50.value, 50)
  near(t, told.totalMs.after!.p50.value, 120)
  t.end()
})

function near(t: { ok: (is: boolean, what: string) => void }, value: number, wanted: number): void {
  t.ok(Math.abs(value - wanted) <= wanted / 50, `${value} is about ${wanted}`)
}

test('a call that failed is charged nothing again, not even a fee for each call', (t) => {
  const fee = { slug: 'north', prices: { ...priced(1_000_000), request: 7_000_000 } }
  const nothing = { cost: 0, promptTokens: 0, completionTokens: 0 }
  const row = rowOf(
    { ...nothing, outcome: 'failed' },
    { ...tried(['north'], [lost('NORTH', 'provider-failed', 80)]), firstEventMs: null },
  )
  const told = askOf(catalogWith(fee), [row])
  t.same(told.money.after, sure(0))
  t.same(told.failed, { before: 1, after: sure(1) })
  t.end()
})

test('an answer that broke off breaks off again: nobody is asked after it, and what it used is paid', (t) => {
  const broken = rowOf({ outcome: 'failed' }, tried(['north'], [lost('NORTH', 'provider-failed', 200)]))
  const told = askOf(catalogWith(NORTH, SOUTH), [broken])
  t.equal(told.calls.exact, 1)
  t.same(told.money.after, sure(1_000))
  t.same(told.failed, { before: 1, after: sure(1) })
  t.end()
})

test('where more attempts were made than a row lists, the last one listed is not the one that ended the call', (t) => {
  // The row has room for 12: NORTH fails 13 times, and the answer of SOUTH breaks off.
  const listed = Array.from({ length: 12 }, (_, at) => lost('NORTH', 'provider-failed', 10, at * 10))
  const asked = { provider: { order: ['north', 'south'] } }
  const detail = { provider: 'SOUTH', attempts: 14, why: { ...NOTHING_TOLD, asked, attempts: listed } }
  const known = attemptsOf(rowOf({ outcome: 'failed' }, detail))
  t.equal(known.get(endpointName('NORTH', MODEL))?.end, 'failed')
  t.equal(known.get(endpointName('SOUTH', MODEL))?.end, 'broken')
  t.end()
})

// ── Calls of several turns ──────────────────────────────────────────────────

const NONE_USED = { cost: 0, promptTokens: 0, completionTokens: 0 }
const turn = (more: Partial<LedgerRow> = {}, detail: Partial<LedgerRow['detail']> = {}): LedgerRow =>
  rowOf(more, { api: 'turn', ...detail })
/** NORTH has answered nothing. */
const failedTurn = (): LedgerRow =>
  turn(
    { ...NONE_USED, outcome: 'failed' },
    { ...tried(['north'], [lost('NORTH', 'provider-failed', 80)]), firstEventMs: null },
  )
/** Its answer breaks off. */
const brokenTurn = (api = 'turn'): LedgerRow =>
  turn({ outcome: 'failed' }, { api, ...tried(['north'], [lost('NORTH', 'provider-failed', 200)]) })
const whole = (outcome: LedgerRow['outcome'], ...parts: LedgerRow[]): LedgerRow =>
  rowOf({ ...NONE_USED, outcome, parts })

for (const [what, row] of [
  ['that failed in its second turn', () => whole('failed', turn(), failedTurn())],
  ['that failed beside its turns', () => whole('failed', turn(), turn())],
  ['whose answer broke off', () => whole('failed', turn(), brokenTurn())],
] as const) {
  test(`a call of several turns ${what} fails again, once`, (t) => {
    const told = askOf(catalogWith(NORTH), [row(), whole('settled', turn(), turn())])
    t.equal(told.calls.exact, 2)
    t.same(told.failed, { before: 1, after: sure(1) })
    t.end()
  })
}

test('a call that has outlived the failure of a tool, or of a model that one asked, outlives it again', (t) => {
  const tool = turn({ ...NONE_USED, outcome: 'failed' }, { api: 'tool', provider: 'search' })
  const told = askOf(catalogWith(NORTH), [whole('settled', turn(), tool, brokenTurn('panel'), turn())])
  t.equal(told.calls.exact, 1)
  t.same(told.failed, { before: 0, after: sure(0) })
  t.end()
})

test('a call of several turns fails where a turn has lost its rescuer, however many turns have', (t) => {
  const saved = (): LedgerRow => ({ ...rescued(), detail: { ...rescued().detail, api: 'turn' } })
  const told = askOf(catalogWith(NORTH), [whole('settled', saved(), saved())])
  t.same(told.failed, { before: 0, after: sure(1) })
  t.end()
})

test('a call of several turns no longer fails where the turn that it failed with would be answered', (t) => {
  const history = many(20, ofSouth)
  const since = Math.max(...history.map(({ createdAt }) => createdAt)) + 1
  const lastTurn = turn(
    { outcome: 'failed', completionTokens: 0 },
    { ...tried(['south'], [lost('NORTH', 'provider-failed', 80)]), firstEventMs: null },
  )
  const row = { ...whole('failed', lastTurn), createdAt: since }
  const told = askOf(catalogWith(SOUTH), [...history, row], { since })
  t.equal(told.calls.estimated, 1)
  t.match(told.failed, { before: 1, after: { value: 0, low: 0, high: 1, basis: 'estimated' } })
  t.end()
})

// ── What is learned ─────────────────────────────────────────────────────────

/** Calls of NORTH that would go to SOUTH, after calls that tell of SOUTH. */
function afterHistory(history: readonly LedgerRow[]): Report {
  const since = Math.max(...history.map(({ createdAt }) => createdAt)) + 1
  const calls = many(100, (at) => rowOf({ createdAt: since + at * 1000 }))
  return askOf(catalogWith(SOUTH), [...history, ...calls], { since })
}

test('callers who leave tell nothing of whether the endpoint answers', (t) => {
  const left = (): LedgerRow =>
    rowOf(
      { outcome: 'aborted-estimated', cost: 0, promptTokens: 0, completionTokens: 0 },
      { provider: 'SOUTH', firstEventMs: null, ...tried(['south'], [lost('SOUTH', 'aborted', 3000)]) },
    )
  const told = afterHistory([...many(40, ofSouth), ...many(40, left)])
  t.equal(told.calls.estimated, 100)
  t.equal(told.failed.after.value, 0)
  t.end()
})

test('a caller who left before anything came leaves again, and pays nothing', (t) => {
  const left = rowOf(
    { outcome: 'aborted-estimated', cost: 0, promptTokens: 0, completionTokens: 0 },
    { firstEventMs: null, ...tried(['north'], [lost('NORTH', 'aborted', 3000)]) },
  )
  const told = askOf(catalogWith(NORTH), [left])
  t.equal(told.calls.exact, 1)
  t.same([told.money.after, told.failed.after], [sure(0), sure(0)])
  t.end()
})

test('one that was overtaken has not failed, and who overtook it answers from its own begin on', (t) => {
  // NORTH is silent for 1,000 ms, of which SOUTH is asked for the last 400.
  const hedged = (): LedgerRow =>
    rowOf(
      {},
      {
        ...{ provider: 'SOUTH', durationMs: 1100, firstEventMs: 1000 },
        ...tried(['north', 'south'], [lost('NORTH', 'overtaken', 1000), ok('SOUTH', 400, 600)]),
      },
    )
  const told = afterHistory(many(40, hedged))
  t.equal(told.calls.estimated, 100)
  near(t, told.firstEventMs.after!.p50.value, 400)
  near(t, told.totalMs.after!.p50.value, 500)
  const again = askOf(catalogWith(NORTH, SOUTH), [hedged()])
  t.equal(again.calls.exact, 1, 'the same two are as they were')
  near(t, again.totalMs.after!.p50.value, 1100)
  const alone = askOf(catalogWith(NORTH), [...many(30, () => rowOf()), hedged()])
  t.same(alone.failed.after.value, 0, 'the late one might have answered')
  t.equal(alone.calls.estimated, 1)
  t.end()
})

test('one that was asked beside and came too late takes nothing off the time of the other', (t) => {
  const attempts = [lost('SOUTH', 'overtaken', 300, 500), ok('NORTH', 790, 10)]
  const row = rowOf({}, { durationMs: 900, firstEventMs: 800, ...tried(['north', 'south'], attempts) })
  const told = askOf(catalogWith(NORTH, SOUTH), [row])
  t.equal(told.calls.exact, 1)
  t.same(told.firstEventMs.after!.p50.value, told.firstEventMs.before!.p50)
  t.end()
})

test('rows of before, which do not say when attempts began, take none off that ran beside the one that answered', (t) => {
  const { startMs: _, ...winner } = ok('SOUTH', 400, 600)
  const { startMs: __, ...loser } = lost('NORTH', 'overtaken', 1000)
  const hedged = (): LedgerRow =>
    rowOf(
      {},
      {
        ...{ provider: 'SOUTH', durationMs: 1100, firstEventMs: 1000 },
        ...tried(['north', 'south'], [loser, winner]),
      },
    )
  near(t, afterHistory(many(40, hedged)).firstEventMs.after!.p50.value, 1000)
  t.end()
})

// ── How sure it is ──────────────────────────────────────────────────────────

test('of an endpoint with fewer than 20 calls nothing is told', (t) => {
  t.equal(afterHistory(many(19, ofSouth)).calls.unknown, 100)
  t.equal(afterHistory(many(20, ofSouth)).calls.estimated, 100)
  t.end()
})

test('what was drawn is estimated, also where all draws come to the same', (t) => {
  const told = afterHistory(many(40, ofSouth))
  t.match(told.money.after, { low: 200_000, high: 200_000, basis: 'estimated' })
  for (const figure of [told.failed.after, told.totalMs.after!.p50, told.by.provider[0]!.after])
    t.equal(figure.basis, 'estimated')
  t.equal(told.refused.no_endpoint.basis, 'exact', 'no draw refuses for want of an endpoint')
  t.end()
})

for (const [known, most] of [
  [20, 20],
  [100, 5],
  [400, 2],
] as const) {
  test(`100 calls of an endpoint of which ${known} are known and none failed may fail ${most} times`, (t) => {
    t.match(afterHistory(many(known, ofSouth)).failed.after, { value: 0, low: 0, high: most })
    t.end()
  })
}

test('where another one stands behind that is known to answer, what was never seen to fail adds nothing', (t) => {
  const history = [...many(40, ofSouth), ...many(40, () => rowOf({}, { provider: 'EAST' }))]
  const since = Math.max(...history.map(({ createdAt }) => createdAt)) + 1
  const asked = { provider: { order: ['south', 'east'] } }
  const calls = many(100, (at) =>
    rowOf({ createdAt: since + at * 1000 }, { why: { ...NOTHING_TOLD, asked } }),
  )
  const told = askOf(catalogWith(SOUTH, { slug: 'east' }), [...history, ...calls], { since })
  t.equal(told.calls.estimated, 100)
  t.equal(told.failed.after.high, 0)
  t.end()
})

test('calls at a time are judged by how long they would have taken', (t) => {
  const slow = many(40, () => rowOf({ createdAt: BEGAN - 60_000 }, { provider: 'SOUTH', durationMs: 5000 }))
  // One in a second, each of a tenth of one.
  const calls = many(20, (at) => rowOf({ createdAt: BEGAN + at * 1000 }, { durationMs: 100 }))
  const concurrent = { requestsPerMinute: null, tokensPerMinute: null, concurrent: 1, spending: null }
  const limits = { keys: new Map([['*', concurrent]]), credits: new Map() }
  const stays = askOf(catalogWith(NORTH), [...slow, ...calls], { since: BEGAN, limits })
  t.same(stays.refused.concurrent, sure(0))
  const told = askOf(catalogWith(SOUTH), [...slow, ...calls], { since: BEGAN, limits })
  t.same(told.refused.concurrent, { value: 16, low: 16, high: 16, basis: 'estimated' })
  t.end()
})

test('a call that stays where it was is estimated where those before it decide whether it is let in', (t) => {
  const slow = many(40, (at) =>
    rowOf({ createdAt: BEGAN - 60_000 }, { provider: 'SOUTH', durationMs: at % 2 === 0 ? 100 : 5000 }),
  )
  const south = { why: { ...NOTHING_TOLD, asked: { provider: { only: ['south'] } } } }
  const north = { why: { ...NOTHING_TOLD, asked: { provider: { only: ['north'] } } } }
  const calls = [
    rowOf({ createdAt: BEGAN }, south),
    rowOf({ createdAt: BEGAN + 1000 }, { ...north, durationMs: 100 }),
  ]
  const concurrent = { requestsPerMinute: null, tokensPerMinute: null, concurrent: 1, spending: null }
  const limits = { keys: new Map([['*', concurrent]]), credits: new Map() }
  const told = askOf(catalogWith(NORTH, SOUTH), [...slow, ...calls], { since: BEGAN, limits })
  t.same(told.calls, { all: 2, exact: 0, estimated: 2, unknown: 0 })
  t.match(told.refused.concurrent, { low: 0, high: 1, basis: 'estimated' })
  t.end()
})
