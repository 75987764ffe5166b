import fc from 'fast-check'
import { test } from 'tap'
import { Fault, type FaultKind } from '../../../src/base/fault.js'
import type { RoutingConfig } from '../../../src/gateway/catalog/configuration.js'
import type { FailureClass, ProviderFailure } from '../../../src/gateway/providers/port/provider.js'
import { changesNothing, isRescuable, RetryBudget } from '../../../src/gateway/run/rescue.js'
import { failure } from '../../support/providers/scripted-provider.js'

const CONFIG: RoutingConfig = {
  rescue: 'unanswered',
  retries: 2,
  retryWaitMs: 2500,
  retryBudget: 0.1,
  hedge: 'never',
  hedgeBudget: 0.05,
}
const BUSY = failure('unavailable', 'refused', 503)

const ORGANIZATION = 'org_1'

function budget(more: Partial<RoutingConfig> = {}, random = 0.5): RetryBudget {
  return new RetryBudget(
    () => ({ ...CONFIG, ...more }),
    () => random,
  )
}

function asking(retryAfter: number, kind: FaultKind = 'rate-limited', status = 429): ProviderFailure {
  return { fault: new Fault(kind, { retryAfter }), class: 'refused', status }
}

const AGAIN: readonly (readonly [why: string, failed: ProviderFailure, elsewhere: boolean, here: boolean])[] =
  [
    ['a limit', failure('rate-limited', 'refused', 429), true, true],
    ['a server that is down', failure('provider-failed', 'refused', 500), true, true],
    ['a server that is overloaded', failure('provider-overloaded', 'refused', 529), true, true],
    ['nobody there', failure('provider-failed', 'not-sent', 0), true, true],
    ['our own limit of connections', failure('unavailable', 'not-sent', 0), true, true],
    ['a credential of ours that is not taken', failure('provider-failed', 'refused', 401), true, false],
    ['a path of ours that is not there', failure('provider-failed', 'refused', 404), true, false],
    ['a redirect', failure('provider-failed', 'refused', 307), true, false],
    ['what this format cannot say', failure('unprocessable', 'not-sent', 0), true, false],
    ['a defect of ours', failure('internal', 'not-sent', 0), true, false],
    ['silence', failure('provider-timeout', 'maybe-processed', 0), true, true],
    ['a connection that broke', failure('provider-failed', 'maybe-processed', 0), true, true],
    ['an answer nobody can read', failure('provider-failed', 'maybe-processed', 200), true, true],
    ['a content policy', failure('bad-request', 'refused', 400), false, false],
  ]

for (const [why, failed, elsewhere, here] of AGAIN) {
  test(`after ${why} another endpoint is ${elsewhere ? '' : 'not '}tried, the same one ${here ? '' : 'not '}again`, async (t) => {
    t.equal(isRescuable(failed, 'unanswered', true), elsewhere)
    t.equal(budget().pauseAfter(failed, 0, ORGANIZATION) !== null, here)
  })
}

const UNREPEATED: readonly (readonly [failed: ProviderFailure, unsent: boolean, withTools: boolean])[] = [
  [failure('provider-timeout', 'maybe-processed', 0), false, false],
  [failure('provider-failed', 'maybe-processed', 200), false, false],
  [failure('provider-failed', 'refused', 500), true, false],
  [failure('provider-failed', 'refused', 502), true, false],
  [BUSY, true, true],
  [failure('provider-overloaded', 'refused', 529), true, true],
  [failure('rate-limited', 'refused', 429), true, true],
  [failure('provider-failed', 'not-sent', 0), true, true],
]

for (const [failed, unsent, withTools] of UNREPEATED) {
  const what = `${failed.class} ${failed.status}`
  test(`after ${what}: rescue unsent goes ${unsent ? 'on' : 'no further'}, a provider's own tools ${withTools ? 'go on' : 'do not'}`, async (t) => {
    t.equal(isRescuable(failed, 'unsent', true), unsent)
    t.equal(isRescuable(failed, 'unanswered', false), withTools)
    t.equal(isRescuable(failed, 'unsent', false), withTools)
  })
}

const TOOLS: readonly (readonly [type: string | null | undefined, harmless: boolean])[] = [
  [undefined, true],
  [null, true],
  ['function', true],
  ['custom', true],
  ['bash_20250124', true],
  ['text_editor_20250728', true],
  ['service:web_search', true],
  ['web_search_20260209', true],
  ['tool_search_tool_bm25', true],
  ['mcp_toolset', false],
  ['mcp', false],
  ['code_execution_20250825', false],
  ['code_interpreter', false],
  ['memory_20250818', false],
  ['computer_20250124', false],
  ['service:bash', false],
  ['a_kind_of_next_year', false],
]

for (const [type, harmless] of TOOLS) {
  test(`a call with a tool of type ${type} ${harmless ? 'changes nothing' : 'may change something'} at a provider`, async (t) => {
    t.equal(changesNothing({ tools: [{ type: 'function' }, type === undefined ? {} : { type }] }), harmless)
  })
}

test('a prompt that is too long goes elsewhere, never to the same one again', async (t) => {
  const fault = new Fault('bad-request', { metadata: { error_type: 'context_length_exceeded' } })
  const failed = { fault, class: 'refused' as FailureClass, status: 400 }
  t.ok(isRescuable(failed, 'unanswered', true))
  t.equal(budget().pauseAfter(failed, 0, ORGANIZATION), null)
})

test('the pause doubles, with jitter of half of it to both sides', async (t) => {
  t.equal(budget({}, 0).pauseAfter(BUSY, 0, ORGANIZATION), 50)
  t.equal(budget({}, 0.5).pauseAfter(BUSY, 0, ORGANIZATION), 100)
  t.equal(budget({}, 0.999_999).pauseAfter(BUSY, 0, ORGANIZATION)! < 150, true)
  t.equal(budget({}, 0.5).pauseAfter(BUSY, 1, ORGANIZATION), 200)
})

test('Retry-After is the least wait, a little is added, and one beyond the longest ends the trying', async (t) => {
  t.equal(budget({}, 0).pauseAfter(asking(2), 0, ORGANIZATION), 2000)
  const later = budget({}, 0.9).pauseAfter(asking(2), 0, ORGANIZATION)!
  t.ok(later > 2000 && later < 2200, String(later))
  t.equal(budget().pauseAfter(asking(3), 0, ORGANIZATION), null)
  t.equal(budget({ retryWaitMs: 3000 }).pauseAfter(asking(3), 0, ORGANIZATION) !== null, true)
})

test('a Retry-After of ours, for our own limit of connections, is not waited for', async (t) => {
  t.equal(budget().pauseAfter(asking(1, 'unavailable', 0), 0, ORGANIZATION), 100)
})

const NEVER = [
  ['no retries', { retries: 0 }],
  ['no budget', { retryBudget: 0 }],
  ['no patience', { retryWaitMs: 0 }],
] as const

for (const [what, config] of NEVER) {
  test(`configured for ${what}, nothing is tried again`, async (t) => {
    t.equal(budget(config).pauseAfter(BUSY, 0, ORGANIZATION), null)
  })
}

test('after as many retries as are configured it is enough', async (t) => {
  t.ok(budget().pauseAfter(BUSY, 1, ORGANIZATION))
  t.equal(budget().pauseAfter(BUSY, 2, ORGANIZATION), null)
})

test('a changed configuration counts from the next call on', async (t) => {
  let config = CONFIG
  const changing = new RetryBudget(
    () => config,
    () => 0.5,
  )
  t.ok(changing.pauseAfter(BUSY, 0, ORGANIZATION))
  config = { ...CONFIG, retries: 0 }
  t.equal(changing.pauseAfter(BUSY, 0, ORGANIZATION), null)
})

test('however calls and failures come: never more retries than ten and a tenth of the calls', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 2000 }), (steps) => {
      const retries = budget()
      let calls = 0
      let retried = 0
      for (const isCall of steps) {
        if (isCall) {
          calls++
          retries.recordCall(ORGANIZATION)
        } else if (retries.pauseAfter(BUSY, 0, ORGANIZATION) !== null) retried++
        if (retried > 10 + calls / 10 + 1e-6) return false
      }
      return true
    }),
    { numRuns: 300 },
  )
  const outage = budget()
  let retried = 0
  for (let call = 0; call < 1000; call++) {
    outage.recordCall(ORGANIZATION)
    if (outage.pauseAfter(BUSY, 0, ORGANIZATION) !== null) retried++
  }
  t.ok(retried >= 99 && retried <= 110, `${retried} of 1000`)
})

test('an organization whose calls fail uses up its own retries, not those of others', async (t) => {
  const retries = budget()
  for (let call = 0; call < 10; call++) t.ok(retries.pauseAfter(BUSY, 0, 'org_failing'))
  t.equal(retries.pauseAfter(BUSY, 0, 'org_failing'), null)
  t.ok(retries.pauseAfter(BUSY, 0, ORGANIZATION))
  for (let call = 0; call < 10; call++) retries.recordCall(ORGANIZATION)
  t.equal(retries.pauseAfter(BUSY, 0, 'org_failing'), null, 'nor do calls of others earn it any')
})
