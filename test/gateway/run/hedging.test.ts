/** A second endpoint is asked beside a late one; the first to answer wins (contract/decisions 41). */
import fc from 'fast-check'
import { test } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import type { Principal } from '../../../src/base/principal.js'
import type { RoutingConfig } from '../../../src/gateway/catalog/configuration.js'
import type { ChatEvent, ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from '../../../src/gateway/formats/messages.js'
import { Gateway, type StreamListener } from '../../../src/gateway/gateway.js'
import { messagesFormat } from '../../../src/gateway/metering/messages-format.js'
import type { LostAttempt } from '../../../src/gateway/run/generation.js'
import { Hedging, mayBeAskedTwice } from '../../../src/gateway/run/hedging.js'
import { serviceMetadata } from '../../../src/gateway/run/metadata.js'
import { ownTime, serverTiming } from '../../../src/gateway/run/server-timing.js'
import {
  atOnce,
  completeChat,
  inferenceOf,
  prepareChat,
  REQUEST,
  streamChat,
  Waiter,
} from '../../support/clients/gateway-calls.js'
import { NO_FILE_PORTS } from '../../support/data/no-files.js'
import { routingState } from '../../support/providers/routing.js'
import {
  CALLER,
  catalogOf,
  completion,
  failure,
  PRICES,
  ScriptedProvider,
  text,
  usage,
} from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const CONFIG: RoutingConfig = {
  ...{ rescue: 'unanswered', retries: 0, retryWaitMs: 0, retryBudget: 0 },
  ...{ hedge: 'always', hedgeBudget: 1 },
}
const SENT = { queueMs: 0, connectMs: 0 }
const RESET = failure('provider-failed', 'maybe-processed', 0)
const DEARER = { ...PRICES, prompt: 3_000_000_000, completion: 5_000_000_000 }
/** As late as no call of those that are known was. */
const LATE_MS = 150

interface BenchOptions {
  readonly config?: Partial<RoutingConfig>
  /** Calls of which it is known how long they took. */
  readonly known?: number
  readonly second?: object
}

function bench({ config = {}, known = 40, second: more = {} }: BenchOptions = {}) {
  const clock = new FakeClock()
  const [first, second, third] = [new ScriptedProvider(), new ScriptedProvider(), new ScriptedProvider()]
  for (const each of [first, second, third]) each.waits = SENT
  const catalog = catalogOf(
    {
      'acme/one': [{ slug: 'first' }, { slug: 'second', prices: DEARER, ...more }],
      'acme/other': [{ slug: 'third' }],
    },
    (slug) => ({ first, second, third })[slug]!,
  )
  const lost: LostAttempt[] = []
  const settled: number[] = []
  const state = routingState(clock, undefined, { ...CONFIG, ...config })
  const [one] = catalog.model('acme/one')!.endpoints
  for (let call = 0; call < known; call++)
    for (const isWhole of [false, true]) state.health.recordTimeToAnswer(one!, isWhole, 100)
  const gateway = new Gateway({
    catalog: () => catalog,
    ...state,
    countTokens: async (texts) => ({ counts: texts.map(({ length }) => length), areGuessed: false }),
    admitCount: async () => () => {},
    clock: { ...systemClock, runAfter: (ms, task) => clock.runAfter(ms, task) },
    files: NO_FILE_PORTS,
    deadlineMs: 60_000,
    onDefect: (error) => {
      throw error
    },
    observe: () => {},
    admit: () => ({
      recordLost: (_, attempt) => void lost.push(attempt),
      settle: ({ consumption }) => {
        settled.push(consumption?.cost.total ?? 0)
        return null
      },
    }),
  })
  /** Time passes, and what was due has been done. */
  const pass = async (ms = LATE_MS): Promise<void> => {
    clock.advance(ms)
    await turn()
  }
  return { gateway, clock, first, second, third, lost, settled, pass, health: state.health, catalog }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function listener<E = ChatEvent>() {
  const heard: unknown[] = []
  const made: StreamListener<never, E> & { readonly heard: unknown[] } = {
    heard,
    onEvent: (event) => void heard.push(event),
    onFlush: () => {},
    onEnd: () => void heard.push('end'),
    onFailure: (fault) => void heard.push(fault.kind),
  }
  return made
}

const wants = (hedge: boolean | null): ChatRequest => ({ ...REQUEST, provider: { hedge } })

test('a stream whose first token is later than with 95 of 100 calls is asked of the next endpoint as well', async (t) => {
  const { gateway, first, second, lost, settled, pass } = bench()
  const ear = listener()
  const { generation } = streamChat(gateway, ear)
  await pass(95)
  t.equal(second.calls.length, 0, 'not yet late')
  await pass(20)
  t.equal(second.calls.length, 1)
  t.ok(second.last.call.repeatable)
  second.last.stream!.onEvent({ type: 'tier', serviceTier: 'slow' })
  t.same(first.last.told, [], 'which tells nothing yet')
  second.last.stream!.onEvent(text('hi'))
  t.same(first.last.told, ['cancel'], 'who answers first wins, and the other is ended in the same turn')
  second.last.stream!.onEvent({ type: 'usage', usage: usage(10, 20) })
  second.last.stream!.onEnd()
  await turn()
  t.same(ear.heard, [text('hi'), 'end'])
  t.match(lost, [
    {
      endpoint: { provider: { slug: 'first' } },
      ...{ status: 0, error: 'overtaken' },
      lost: { promptTokens: 6, completionTokens: 0, cost: 6_000, estimated: true },
    },
  ])
  t.same(
    settled,
    [10 * 3_000 + 20 * 5_000],
    'the caller pays for the answer it got, at the price of who gave it',
  )
  t.match(serviceMetadata(generation, performance.now()).attempts, [
    { provider: 'FIRST', status: 0, overtaken: true },
    { provider: 'SECOND', status: 200 },
  ])
})

test('where the late one answers after all, the one beside is ended and its cost is told', async (t) => {
  const { gateway, first, second, lost, settled, pass } = bench()
  const ear = listener()
  const { generation } = streamChat(gateway, ear)
  await pass()
  second.last.stream!.onEvent({ type: 'usage', usage: usage(7, 0) })
  first.last.stream!.onEvent(text('late'))
  t.same([first.last.told, second.last.told], [[], ['cancel']])
  first.last.stream!.onEvent({ type: 'usage', usage: usage(10, 20) })
  first.last.stream!.onEnd()
  await turn()
  t.same(ear.heard, [text('late'), 'end'])
  t.match(lost, [{ endpoint: { provider: { slug: 'second' } }, lost: { cost: 21_000, estimated: false } }])
  t.same(settled, [10 * 1_000 + 20 * 2_000])
  t.equal(generation.served?.provider.slug, 'first')
  t.match(
    generation.attempts.map(({ status, error }) => [status, error]),
    [
      [0, 'overtaken'],
      [200, undefined],
    ],
    'who serves stands last',
  )
})

test('a whole answer is hedged as well, by the time that whole answers take', async (t) => {
  const { gateway, first, second, lost, settled, pass } = bench()
  const answer = completeChat(gateway)
  await pass()
  second.last.complete!.onEnd(completion('hi', usage(1, 1)))
  const { generation, fault } = await answer
  t.equal(fault, null)
  t.equal(generation.served?.provider.slug, 'second')
  t.same(first.last.told, ['cancel'])
  t.equal(lost.length, 1)
  t.same(settled, [8_000])
})

test('a messages stream is hedged: message_start alone is no answer', async (t) => {
  const { gateway, first, second, pass } = bench()
  const ear = listener<MessagesEvent>()
  const request: MessagesRequest = {
    model: 'acme/one',
    max_tokens: 8,
    messages: [{ role: 'user', content: 'hello' }],
  }
  const inference = { request, caller: CALLER, simulate: '', traceparent: '' }
  const generation = atOnce(gateway.prepare(messagesFormat, inference, { arrivedAt: performance.now() }))
  gateway.stream<MessagesRequest, MessagesEvent, MessagesAnswer>(messagesFormat, generation, ear)
  first.last.stream!.onEvent({ type: 'tier', serviceTier: 'slow' })
  await pass()
  second.last.stream!.onEvent(text('hi'))
  t.same(first.last.told, ['cancel'])
  t.equal(generation.served?.provider.slug, 'second')
  t.match(ear.heard.at(-1), { type: 'block' })
})

const UNASKED: readonly (readonly [why: string, request: ChatRequest, options?: BenchOptions])[] = [
  ['nothing is set', REQUEST, { config: { hedge: 'never' } }],
  ['nothing is set, whatever the caller wishes', wants(true), { config: { hedge: 'never' } }],
  ['only those that ask for it are, and it does not', REQUEST, { config: { hedge: 'requested' } }],
  ['the caller does not want it', wants(false)],
  ['too little is known of the endpoint', REQUEST, { known: 39 }],
  ['there is no budget', REQUEST, { config: { hedgeBudget: 0 } }],
  ['nothing may be sent again that may have been worked on', REQUEST, { config: { rescue: 'unsent' } }],
  ['the caller allows no other endpoint', { ...REQUEST, provider: { allow_fallbacks: false } }],
  [
    'the next endpoint is of another model',
    { messages: REQUEST.messages, models: ['acme/other', 'acme/one'] },
  ],
  ['the next endpoint is under a key of the caller', REQUEST, { second: { own: { keyId: 'k' } } }],
  ['the provider runs a tool itself', { ...REQUEST, tools: [{ type: 'code_interpreter' }] }],
  ['the provider searches the web itself', { ...REQUEST, tools: [{ type: 'web_search_20260209' }] }],
  ['what is sent upstream is shown', { ...REQUEST, debug: { echo_upstream_body: true } }],
]

for (const [why, request, options] of UNASKED) {
  test(`no second endpoint is asked where ${why}`, async (t) => {
    const { gateway, first, second, third, clock, pass } = bench(options)
    streamChat(gateway, listener(), inferenceOf({ request }))
    await pass(10_000)
    t.equal(first.calls.length + second.calls.length + third.calls.length, 1)
    t.equal(clock.pending, 0)
  })
}

for (const [hedge, request] of [
  ['requested', wants(true)],
  ['always', wants(null)],
] as const) {
  test(`hedge: ${hedge} asks a second endpoint for a call with provider.hedge ${request.provider?.hedge}`, async (t) => {
    const { gateway, second, pass } = bench({ config: { hedge } })
    streamChat(gateway, listener(), inferenceOf({ request }))
    await pass()
    t.equal(second.calls.length, 1)
  })
}

for (const [what, request, config, untranslated] of [
  ['the configuration allows none', wants(true), { hedge: 'never' }, ['provider.hedge']],
  ['what was sent is not sent again', wants(true), { rescue: 'unsent' }, ['provider.hedge']],
  [
    'a provider runs a tool',
    { ...wants(true), tools: [{ type: 'code_interpreter' }] },
    {},
    ['provider.hedge'],
  ],
  ['it is done', wants(true), { hedge: 'requested' }, undefined],
  ['nobody asks for it', wants(false), { hedge: 'never' }, undefined],
] as const) {
  test(`a wish for a second endpoint is named where it has no effect: ${what}`, async (t) => {
    const { gateway } = bench({ config })
    const { generation } = streamChat(gateway, listener(), inferenceOf({ request: request as ChatRequest }))
    const told: { readonly untranslated?: readonly string[] } = serviceMetadata(generation, 0)
    t.same(told.untranslated, untranslated)
  })
}

test('once something has reached the caller nobody else is asked, and no timer is left', async (t) => {
  const { gateway, first, second, clock, pass } = bench()
  streamChat(gateway, listener())
  first.last.stream!.onEvent(text('hi'))
  t.equal(clock.pending, 0)
  await pass(60_000)
  t.equal(second.calls.length, 0)
})

test('an answer that arrives in the turn in which it becomes late is no reason to ask', async (t) => {
  const { gateway, first, second, clock } = bench()
  streamChat(gateway, listener())
  clock.advance(LATE_MS)
  first.last.stream!.onEvent(text('just in time'))
  await turn()
  t.equal(second.calls.length, 0)
})

test('where one of the two fails the other is waited for; where both do, the call has failed', async (t) => {
  for (const order of [
    ['first', 'second'],
    ['second', 'first'],
  ] as const) {
    const world = bench()
    const ear = listener()
    const { generation } = streamChat(world.gateway, ear)
    await world.pass()
    world[order[0]].last.stream!.onFailure(RESET)
    t.same(ear.heard, [])
    t.same(world[order[1]].last.told, [])
    world[order[1]].last.stream!.onFailure(RESET)
    t.same(ear.heard, ['provider-failed'])
    t.same(
      generation.attempts.map(({ endpoint, error }) => [endpoint.provider.slug, error]),
      order.map((slug) => [slug, 'provider-failed']),
    )
    t.equal(world.lost.length, 2)
    t.same(world.settled, [0])
    t.ok(
      generation.attempts.every(({ endpoint }) => world.health.of(endpoint).breakerOf(CALLER.organizationId)),
    )
  }
})

test('a mistake of the caller that one of them finds ends the other', async (t) => {
  const { gateway, first, second, pass } = bench()
  const ear = listener()
  streamChat(gateway, ear)
  await pass()
  first.last.stream!.onFailure(failure('bad-request', 'refused', 400))
  t.same(ear.heard, ['bad-request'])
  t.same(second.last.told, ['cancel'])
})

test('a caller that leaves ends both, and what both may cost is told', async (t) => {
  const { gateway, first, second, lost, settled, pass } = bench()
  const waiter = new Waiter()
  void completeChat(gateway, inferenceOf(), waiter)
  await pass()
  waiter.leave()
  t.same([first.last.told, second.last.told], [['cancel'], ['cancel']])
  t.match(
    lost.map(({ endpoint, error }) => [endpoint.provider.slug, error]),
    [
      ['second', 'aborted'],
      ['first', 'aborted'],
    ],
  )
  t.same(settled, [0])
})

test('what was never sent is no loss', async (t) => {
  const { gateway, first, second, lost, pass } = bench()
  streamChat(gateway, listener())
  await pass()
  first.waits = null
  second.last.stream!.onEvent(text('hi'))
  t.same(first.last.told, ['cancel'])
  t.same(lost, [])
})

test('a slow caller holds both back', async (t) => {
  const { gateway, first, second, pass } = bench()
  const { flow } = streamChat(gateway, listener())
  flow.pause()
  await pass()
  t.same([first.last.told, second.last.told], [['pause'], ['pause']])
  flow.resume()
  t.same(
    [first.last.told, second.last.told],
    [
      ['pause', 'resume'],
      ['pause', 'resume'],
    ],
  )
})

test('what the late one left out of the request is not told of the one that answers', async (t) => {
  const { gateway, first, second, pass } = bench()
  const { generation } = streamChat(gateway, listener())
  first.last.call.droppedFields.push('seed')
  await pass()
  t.same(generation.droppedFields, ['seed'])
  second.last.call.droppedFields.push('top_k')
  second.last.stream!.onEvent(text('hi'))
  t.same(generation.droppedFields, ['top_k'])
})

test('the phases of a hedged call add up, and waiting for a provider is not our own time', async (t) => {
  for (const winner of ['first', 'second'] as const) {
    const world = bench()
    const { generation } = streamChat(world.gateway, listener())
    await world.pass()
    world[winner].last.stream!.onEvent(text('hi'))
    const phases = new Map(
      serverTiming(generation, performance.now())
        .split(', ')
        .map((phase) => phase.split(';dur=') as [string, string]),
    )
    const sum = ['queue', 'connect', 'first', 'failed', 'pause', 'overhead'].reduce(
      (before, name) => before + Number(phases.get(name)),
      0,
    )
    t.ok(Math.abs(sum - Number(phases.get('total'))) < 0.01, JSON.stringify([...phases]))
    const begun = Math.min(...generation.attempts.map(({ startedAt }) => startedAt))
    t.ok(Math.abs(ownTime(generation)! - (begun - generation.startedAt)) < 0.001)
  }
})

test('calls that were overtaken keep counting as late, so that what is late does not sink', async (t) => {
  const { catalog, health } = bench({ known: 100 })
  const [one] = catalog.model('acme/one')!.endpoints
  const before = health.lateAfterMs(one!, false)!
  t.ok(before > 100 && before < 110, 'never below what 95 of 100 calls took')
  for (let call = 0; call < 20; call++) health.recordOvertaken(one!, false, 200)
  t.ok(health.lateAfterMs(one!, false)! > before)
  t.equal(health.lateAfterMs(one!, true), before, 'whole answers have figures of their own')
  t.ok(health.of(one!).latency.quantile(0.5, health.now())! > 100, 'and the router hears of it')
})

test('what one worker has seen the others know', async (t) => {
  const [told, hears] = [bench({ known: 0 }), bench({ known: 0 })]
  const [one] = told.catalog.model('acme/one')!.endpoints
  for (let call = 0; call < 50; call++) told.health.recordTimeToAnswer(one!, false, 100)
  const observations = [told.health.of(one!).drainObservations()!]
  hears.health.applyPeerUpdate({ type: 'observed', observations: [] }, 'elsewhere')
  t.equal(hears.health.lateAfterMs(one!, false), null)
  hears.health.applyPeerUpdate({ type: 'observed', observations }, 'elsewhere')
  t.equal(hears.health.lateAfterMs(one!, false), told.health.lateAfterMs(one!, false))
})

test('the budget is a share of the calls of each organization, to the call', async (t) => {
  const hedging = new Hedging(() => ({ ...CONFIG, hedgeBudget: 0.05 }))
  const { gateway } = bench()
  const other: Principal = { ...CALLER, organizationId: '01900000-0000-7000-8000-000000000009' }
  const asked = new Map([CALLER, other].map(({ organizationId }) => [organizationId, 0]))
  const call = (caller: Principal): void => {
    hedging.begin(prepareChat(gateway, inferenceOf({ caller })))
    const { organizationId } = caller
    if (!hedging.hasRoom(organizationId)) return
    hedging.spend(organizationId)
    asked.set(organizationId, asked.get(organizationId)! + 1)
  }
  for (let at = 1; at <= 1000; at++) {
    call(CALLER)
    t.equal(asked.get(CALLER.organizationId), Math.floor(at / 20))
  }
  for (let at = 0; at < 19; at++) call(other)
  t.equal(asked.get(other.organizationId), 0, 'nobody has anything of another')
})

test('tools that a caller runs itself are no hindrance', async (t) => {
  const types = ['function', 'custom', null, 'bash_20250124', 'text_editor_20250728'] as const
  for (const type of types) t.ok(mayBeAskedTwice({ ...REQUEST, tools: [{ type }] } as never))
})

/** What can happen to two attempts, in any order. */
const DEEDS = [
  'late',
  'word',
  'beside word',
  'fail',
  'beside fail',
  'lifecycle',
  'beside lifecycle',
  'leave',
] as const

test('whatever happens in whatever order: one answer, paid once, everything else ended and told', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...DEEDS), { maxLength: 8 }), async (deeds) => {
      const { gateway, first, second, lost, settled, pass, clock } = bench()
      const ear = listener()
      const { generation, flow } = streamChat(gateway, ear)
      const gone = new Set<ScriptedProvider>()
      const isLive = (of: ScriptedProvider): boolean =>
        of.calls.length > 0 && !gone.has(of) && !of.last.told.includes('cancel')
      let left = false
      for (const deed of deeds) {
        const of = deed.startsWith('beside') ? second : first
        if (deed === 'late') await pass()
        else if (deed === 'leave') {
          left = true
          flow.cancel()
        } else if (isLive(of)) {
          const to = of.last.stream!
          if (deed.endsWith('word')) to.onEvent(text(of === first ? 'first' : 'second'))
          else if (deed.endsWith('lifecycle')) to.onEvent({ type: 'tier', serviceTier: deed })
          else {
            gone.add(of)
            to.onFailure(RESET)
          }
        }
      }
      // Whoever still runs ends properly.
      for (const of of [first, second]) {
        if (!isLive(of)) continue
        of.last.stream!.onEvent(text(of === first ? 'first' : 'second'))
        of.last.stream!.onEvent({ type: 'usage', usage: usage(1, 1) })
        gone.add(of)
        of.last.stream!.onEnd()
      }
      await turn()
      await turn()
      const serving = generation.attempts.filter(({ status }) => status === 200)
      const answered = generation.served !== null
      const told = ear.heard.filter((each) => typeof each === 'string')
      const words = ear.heard.flatMap((each) => (typeof each === 'string' ? [] : [each]))
      const served = generation.served?.provider.slug
      return (
        clock.pending === 0 &&
        settled.length === 1 &&
        told.length === (left && told.length === 0 ? 0 : 1) &&
        // The words of the one that serves, and of nobody else.
        words.every((each) => (each as ReturnType<typeof text>).delta.content === served) &&
        serving.length <= (answered ? 1 : 0) &&
        (!answered || generation.attempts.at(-1)!.endpoint === generation.served) &&
        // Each call that was made is an attempt, and nobody is left under way.
        generation.attempts.length === first.calls.length + second.calls.length &&
        !isLive(first) &&
        !isLive(second) &&
        lost.length === generation.attempts.length - (answered ? 1 : 0)
      )
    }),
    { numRuns: 300 },
  )
  t.end()
})
