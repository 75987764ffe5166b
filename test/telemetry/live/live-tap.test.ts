import { test } from 'tap'
import { Histogram } from '../../../src/base/histogram.js'
import { type ClosedLedgerEntry, NO_LIMIT_COVERAGE, NOTHING_TOLD } from '../../../src/store/ledger-store.js'
import { type LiveScope, scopeName, type WorkerReport } from '../../../src/telemetry/live/live-report.js'
import { LiveTap, MOST_ROWS } from '../../../src/telemetry/live/live-tap.js'

const idOf = (n: number): string => `gen-${String(n).padStart(26, '0')}`

interface More extends Partial<Omit<ClosedLedgerEntry, 'detail'>> {
  readonly detail?: Partial<ClosedLedgerEntry['detail']>
}

function entry(n: number, { detail, ...more }: More = {}): ClosedLedgerEntry {
  return {
    ...{
      id: idOf(n),
      keyHash: 'key',
      organizationId: 'acme',
      workspaceId: 'east',
      coverage: NO_LIMIT_COVERAGE,
    },
    ...{ outcome: 'settled', cost: 1, promptTokens: 2, completionTokens: 3, units: {} },
    ...more,
    detail: {
      ...{ model: 'm', requested: 'm', provider: 'p', api: 'completions', streamed: true, attempts: 1 },
      ...{ durationMs: 40, firstEventMs: 10, sessionId: null, estimated: false, guessed: false, fault: null },
      ...{ finish: 'stop', nativeFinish: 'stop', serviceTier: null, mediaParts: 0, audioParts: 0 },
      why: NOTHING_TOLD,
      ...detail,
    },
  }
}

const ALL = scopeName({ of: 'machine' })
const ACME = scopeName({ of: 'organization', organizationId: 'acme' })

function bench() {
  const watched: string[] = []
  const tap = new LiveTap({
    encode: ({ id, cost, byokCost, promptTokens, detail }) =>
      JSON.stringify({ id, cost, byokCost, promptTokens, attempts: detail.attempts }),
    ownerOf: (keyHash) => (keyHash === 'ann’s' ? 'ann' : null),
    machine: {
      begin: () => watched.push('begin'),
      read: (overhead) => ({ overheadMs: overhead.snapshot() }) as WorkerReport,
      end: () => watched.push('end'),
    },
  })
  const run = (row: ClosedLedgerEntry): void => {
    tap.recordOpen({ ...row, estimate: 0, model: 'm', provider: 'p', api: row.detail.api })
    tap.recordClosed(row)
  }
  return { tap, run, watched }
}

test('what happens before somebody watches is not told, but for what is under way', (t) => {
  const { tap, run } = bench()
  run(entry(1))
  tap.recordOpen({ ...entry(2), estimate: 0, model: 'm', provider: 'p', api: 'completions' })
  t.match(tap.report([ACME]).scopes[ACME], { calls: 0, inFlight: 1, rows: [] })
  tap.recordClosed(entry(2))
  t.match(tap.report([ACME]).scopes[ACME], { calls: 1, inFlight: 0, cost: 1 })
  t.match(tap.report([ACME]).scopes[ACME], { calls: 0, cost: 0, rows: [], durationMs: { count: 0 } })
  tap.rest()
  run(entry(3))
  t.match(tap.report([ACME]).scopes[ACME], { calls: 0 })
  t.end()
})

test('a report has what became of each call', (t) => {
  const { tap, run } = bench()
  tap.report([ACME])
  run(entry(1, { byokCost: 5 }))
  run(entry(2, { outcome: 'failed', detail: { fault: 'rate-limited', firstEventMs: null } }))
  run(entry(3, { outcome: 'aborted-estimated' }))
  t.match(tap.report([ACME]).scopes[ACME], {
    ...{ calls: 3, failed: 1, aborted: 1, faults: { 'rate-limited': 1 }, cost: 3, byokCost: 5 },
    ...{ promptTokens: 6, completionTokens: 9, durationMs: { count: 3 }, firstEventMs: { count: 2 } },
  })
  t.end()
})

test('of very many calls the latest are told, and all are counted', (t) => {
  const { tap, run } = bench()
  tap.report([ACME])
  for (let n = 0; n < 10 * MOST_ROWS + 7; n++) run(entry(n))
  const { calls, rows } = tap.report([ACME]).scopes[ACME]!
  t.equal(calls, 10 * MOST_ROWS + 7)
  t.equal(rows.length, MOST_ROWS)
  t.equal(JSON.parse(rows.at(-1)!).id, idOf(10 * MOST_ROWS + 6))
  t.end()
})

test('a request with turns and tools is one call with the figures of all of them', (t) => {
  const { tap, run } = bench()
  tap.report([ACME])
  const root = entry(1, { cost: 0, promptTokens: 0, completionTokens: 0 })
  tap.recordOpen({ ...root, estimate: 0, model: 'm', provider: 'p', api: 'completions' })
  run(entry(1, { id: `${idOf(1)}.1`, cost: 3, byokCost: 4, detail: { api: 'turn', attempts: 2 } }))
  run(entry(1, { id: `${idOf(1)}.2`, cost: 5, promptTokens: 0, detail: { api: 'tool', attempts: 0 } }))
  t.match(tap.report([ACME]).scopes[ACME], { calls: 0, cost: 8, byokCost: 4, inFlight: 1, rows: [] })
  tap.recordClosed(root)
  const { calls, cost, inFlight, rows } = tap.report([ACME]).scopes[ACME]!
  t.same([calls, cost, inFlight], [1, 0, 0])
  t.same(JSON.parse(rows[0]!), { id: idOf(1), cost: 8, byokCost: 4, promptTokens: 2, attempts: 2 })
  t.end()
})

const person = (adminOf: string[], memberOf: string[]): LiveScope => ({
  ...{ of: 'person', organizationId: 'acme', userId: 'ann', adminOf, memberOf },
})

const SEEN: readonly (readonly [what: string, scope: LiveScope, row: More, seen: boolean])[] = [
  ['all by the operator', { of: 'machine' }, { organizationId: 'other' }, true],
  ['its own by an organization', { of: 'organization', organizationId: 'acme' }, { workspaceId: null }, true],
  ['none of another', { of: 'organization', organizationId: 'acme' }, { organizationId: 'other' }, false],
  ['all of its workspace by an admin', person(['east'], []), {}, true],
  ['none of another workspace', person(['west'], []), {}, false],
  ['none without a workspace', person(['east'], []), { workspaceId: null }, false],
  ['none of another organization', person(['east'], []), { organizationId: 'other' }, false],
  ['its own by a member', person([], ['east']), { keyHash: 'ann’s' }, true],
  ['no other by a member', person([], ['east']), {}, false],
  ['not its own of where it is none any more', person([], ['west']), { keyHash: 'ann’s' }, false],
  ['none by nobody', person([], []), { keyHash: 'ann’s' }, false],
]

for (const [what, scope, row, seen] of SEEN) {
  test(`who sees what: ${what}`, (t) => {
    const { tap, run } = bench()
    const name = scopeName(scope)
    tap.report([name])
    run(entry(1, row))
    const { calls, cost, rows, inFlight } = tap.report([name]).scopes[name]!
    t.same([calls, cost, rows.length], seen ? [1, 1, 1] : [0, 0, 0])
    t.equal(inFlight, scope.of === 'person' ? null : 0)
    t.end()
  })
}

test('the worker speaks of itself while the operator watches, and then rests', (t) => {
  const { tap, watched } = bench()
  tap.recordOverhead(1)
  t.equal(tap.watchesOverhead, false)
  t.equal(tap.report([ACME]).worker, null)
  t.same(watched, [])
  const overhead = (): Histogram => new Histogram().merge(tap.report([ALL]).worker!.overheadMs)
  t.equal(overhead().count, 0)
  t.equal(tap.watchesOverhead, true)
  tap.recordOverhead(2)
  tap.recordOverhead(3)
  t.same([overhead().count, overhead().count], [2, 0])
  t.same(watched, ['begin'])
  t.equal(tap.report([ACME]).worker, null)
  t.same(watched, ['begin', 'end'])
  tap.rest()
  t.same(watched, ['begin', 'end'], 'it rests once')
  t.end()
})
