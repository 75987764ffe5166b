/** Calls that got no answer are rescued, and what that may cost upstream is told (contract/decisions 41). */
import { test } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import type { Fault } from '../../../src/base/fault.js'
import type { RoutingConfig } from '../../../src/gateway/catalog/configuration.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from '../../../src/gateway/formats/messages.js'
import { Gateway, type StreamListener } from '../../../src/gateway/gateway.js'
import { messagesFormat } from '../../../src/gateway/metering/messages-format.js'
import type { MessagesApi, StreamReceiver } from '../../../src/gateway/providers/port/provider.js'
import type { LostAttempt } from '../../../src/gateway/run/generation.js'
import {
  atOnce,
  completeChat,
  inferenceOf,
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
  ScriptedProvider,
  text,
  usage,
} from '../../support/providers/scripted-provider.js'

const RESET = failure('provider-failed', 'maybe-processed', 0)
const SILENT = failure('provider-timeout', 'maybe-processed', 0)

function bench(more: Partial<RoutingConfig> = {}, deadlineMs = 1_000) {
  const first = new ScriptedProvider()
  const second = new ScriptedProvider()
  const catalog = catalogOf({ 'acme/one': [{ slug: 'first' }, { slug: 'second' }] }, (slug) =>
    slug === 'first' ? first : second,
  )
  const lost: LostAttempt[] = []
  const config: RoutingConfig = {
    ...{ rescue: 'unanswered', retries: 0, retryWaitMs: 0, retryBudget: 0, hedge: 'never', hedgeBudget: 0 },
    ...more,
  }
  const state = routingState(systemClock, undefined, config)
  const gateway = new Gateway({
    catalog: () => catalog,
    ...state,
    countTokens: async (texts) => ({ counts: texts.map(({ length }) => length), areGuessed: false }),
    admitCount: async () => () => {},
    clock: systemClock,
    files: NO_FILE_PORTS,
    deadlineMs,
    onDefect: (error) => {
      throw error
    },
    observe: () => {},
    admit: () => ({ recordLost: (_, attempt) => void lost.push(attempt), settle: () => null }),
  })
  return { gateway, catalog, first, second, lost, health: state.health }
}

function listener<E = unknown>() {
  const heard: unknown[] = []
  const made: StreamListener<never, E> & { readonly heard: unknown[] } = {
    heard,
    onRequestSent: (body) => void heard.push(['sent', body]),
    onEvent: (event) => void heard.push(event),
    onFlush: () => {},
    onEnd: () => void heard.push('end'),
    onFailure: (fault: Fault) => void heard.push(fault.kind),
  }
  return made
}

test('a whole answer that breaks is rescued, and what it may cost is told: question, and answer as set aside', async (t) => {
  const { gateway, first, second, lost } = bench()
  const answer = completeChat(gateway)
  first.last.complete!.onFailure(RESET)
  t.match(
    lost,
    [
      {
        endpoint: { provider: { slug: 'first' } },
        status: 0,
        error: 'provider-failed',
        lost: { promptTokens: 6, completionTokens: 1024, cost: 6_000 + 1024 * 2_000, estimated: true },
      },
    ],
    'before anything else comes of the call',
  )
  second.last.complete!.onEnd(completion('hi', usage(3, 4)))
  const { fault, generation } = await answer
  t.equal(fault, null)
  t.equal(generation.consumption?.cost.total, 11_000, 'the caller pays for the answer alone')
  t.equal(lost.length, 1)
})

test('a stream that breaks before its first content is rescued; of the lost one nothing is heard', async (t) => {
  const { gateway, first, second, lost } = bench()
  const ear = listener<{ readonly type: string }>()
  streamChat(gateway, ear)
  first.last.stream!.onEvent({ type: 'tier', serviceTier: 'slow' })
  first.last.stream!.onFailure(SILENT)
  t.match(lost, [{ lost: { promptTokens: 6, completionTokens: 0, cost: 6_000, estimated: true } }])
  second.last.stream!.onEvent(text('hi'))
  second.last.stream!.onEnd()
  await new Promise((resolve) => setImmediate(resolve))
  t.same(ear.heard, [text('hi'), 'end'])
})

test('what a provider has counted before it failed is what it may ask', async (t) => {
  const { gateway, first, second, lost } = bench()
  streamChat(gateway, listener())
  first.last.stream!.onEvent({ type: 'usage', usage: usage(70, 90) })
  first.last.stream!.onFailure(failure('rate-limited', 'refused', 429))
  t.match(lost, [
    { lost: { promptTokens: 70, completionTokens: 90, cost: 70_000 + 180_000, estimated: false } },
  ])
  t.equal(second.calls.length, 1)
})

test('what was never sent, or was turned away without a figure, is no loss', async (t) => {
  const { gateway, first, second, lost } = bench()
  void completeChat(gateway)
  first.last.complete!.onFailure(failure('provider-failed', 'not-sent', 0))
  second.last.complete!.onFailure(failure('provider-failed', 'refused', 500))
  t.same(lost, [])
})

for (const waits of [{ queueMs: 0, connectMs: 1 }, null]) {
  test(`a call that its caller leaves ${waits === null ? 'before it is sent is no loss' : 'after it was sent is a loss'}`, async (t) => {
    const { gateway, first, lost } = bench()
    first.waits = waits
    const waiter = new Waiter()
    void completeChat(gateway, inferenceOf(), waiter)
    const { flow } = streamChat(gateway, listener())
    waiter.leave()
    flow.cancel()
    const costs = waits === null ? [] : [6_000 + 1024 * 2_000, 6_000]
    t.match(
      lost,
      costs.map((cost) => ({ status: 0, error: 'aborted', lost: { cost, estimated: true } })),
    )
    t.equal(lost.length, costs.length)
  })
}

test('a call that its caller leaves in the middle of the answer is none that was lost', async (t) => {
  const { gateway, first, lost } = bench()
  first.waits = { queueMs: 0, connectMs: 1 }
  const { flow } = streamChat(gateway, listener())
  first.last.stream!.onEvent(text('hi'))
  flow.cancel()
  t.same(lost, [])
})

test('with rescue: unsent a call that may have been worked on fails, and its loss is told all the same', async (t) => {
  const { gateway, first, second, lost } = bench({ rescue: 'unsent' })
  t.notOk(first.calls.length)
  const answer = completeChat(gateway)
  t.notOk(first.last.call.repeatable)
  first.last.complete!.onFailure(RESET)
  t.equal((await answer).fault?.kind, 'provider-failed')
  t.equal(second.calls.length, 0)
  t.equal(lost.length, 1)
})

test('a call whose tools the provider runs is rescued only where it was never sent', async (t) => {
  const { gateway, first, second } = bench()
  const tools: ChatRequest['tools'] = [{ type: 'code_interpreter' }]
  const inference = inferenceOf({ request: { ...REQUEST, tools } })
  const answer = completeChat(gateway, inference)
  t.notOk(first.last.call.repeatable)
  first.last.complete!.onFailure(SILENT)
  t.equal((await answer).fault?.kind, 'provider-timeout')
  t.equal(second.calls.length, 0)
  void completeChat(gateway, inference)
  first.last.complete!.onFailure(failure('provider-failed', 'not-sent', 0))
  t.equal(second.calls.length, 1)
})

test('without fallbacks no other endpoint is asked', async (t) => {
  const { gateway, first, second } = bench()
  const request: ChatRequest = { ...REQUEST, provider: { allow_fallbacks: false } }
  const answer = completeChat(gateway, inferenceOf({ request }))
  first.last.complete!.onFailure(RESET)
  t.equal((await answer).fault?.kind, 'provider-failed')
  t.equal(second.calls.length, 0)
})

test('when the time of the call is up there is no further attempt, and the caller is told of the timeout', async (t) => {
  const { gateway, first, second } = bench({}, 0)
  const answer = completeChat(gateway)
  first.last.complete!.onFailure(SILENT)
  t.equal((await answer).fault?.kind, 'provider-timeout')
  t.equal(second.calls.length, 0)
})

test('an endpoint that was left no time by the one before it is not blamed for that', async (t) => {
  const { gateway, first, second, health } = bench({}, 500)
  const answer = completeChat(gateway)
  first.last.complete!.onFailure(SILENT)
  while (performance.now() < second.last.call.deadlineAt)
    await new Promise((resolve) => setImmediate(resolve))
  second.last.complete!.onFailure(SILENT)
  const { fault, generation } = await answer
  t.equal(fault?.kind, 'provider-timeout')
  const [silent, late] = generation.plan.endpoints.map((endpoint) => health.of(endpoint))
  t.ok(silent!.breakerOf(CALLER.organizationId))
  t.notOk(late!.breakerOf(CALLER.organizationId))
  t.equal(late!.latency.quantile(0.5, health.now()), null)
})

test('what a call fetched before it was sent does not make its endpoint slow', async (t) => {
  const { gateway, first, second, health } = bench({}, 60_000)
  const fetched = { queueMs: 0, connectMs: 0, preparedMs: 1_000_000 }
  first.waits = fetched
  second.waits = fetched
  const answer = completeChat(gateway)
  first.last.complete!.onFailure(SILENT)
  second.last.complete!.onEnd(completion('x', usage(1, 1_000)))
  const { generation } = await answer
  for (const endpoint of generation.plan.endpoints)
    t.ok(health.of(endpoint).latency.quantile(0.5, health.now())! < 1)
})

test('one endpoint alone is asked again, as configured', async (t) => {
  const { gateway, first } = bench({ retries: 1, retryWaitMs: 1_000, retryBudget: 1 })
  const request: ChatRequest = { ...REQUEST, provider: { only: ['first'] } }
  const answer = completeChat(gateway, inferenceOf({ request }))
  first.last.complete!.onFailure(RESET)
  while (first.calls.length < 2) await new Promise((resolve) => setImmediate(resolve))
  first.last.complete!.onEnd(completion('hi'))
  t.equal((await answer).fault, null)
})

const QUESTION: MessagesRequest = {
  model: 'acme/one',
  max_tokens: 8,
  messages: [{ role: 'user', content: 'hello' }],
}
const START: MessagesEvent = {
  type: 'start',
  usage: null,
} as unknown as MessagesEvent
const BEGUN: MessagesEvent = {
  type: 'block',
  data: '',
  event: { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
}
const SAID: MessagesEvent = {
  type: 'block',
  data: '',
  event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
}
const COUNTED: MessagesEvent = { type: 'usage', usage: usage(5, 0), wire: null }

test('a messages stream that has begun, opened an empty text and counted is still rescued', async (t) => {
  const { gateway, catalog, lost } = bench()
  const receivers: StreamReceiver<MessagesEvent>[] = []
  const flow = { pause: () => {}, resume: () => {}, cancel: () => {} }
  const api: MessagesApi = {
    stream: (_, receiver) => {
      receivers.push(receiver)
      return flow
    },
    complete: () => flow,
  }
  for (const entry of catalog.providers) Object.assign(entry, { messages: api })
  const ear = listener<MessagesEvent>()
  const inference = { request: QUESTION, caller: CALLER, simulate: '', traceparent: '' }
  const generation = atOnce(gateway.prepare(messagesFormat, inference, { arrivedAt: performance.now() }))
  gateway.stream<MessagesRequest, MessagesEvent, MessagesAnswer>(messagesFormat, generation, ear)
  for (const event of [START, BEGUN, COUNTED]) receivers[0]!.onEvent(event)
  receivers[0]!.onFailure(RESET)
  t.same(ear.heard, [])
  t.match(lost, [{ lost: { promptTokens: 5, cost: 5_000, estimated: false } }])
  for (const event of [START, BEGUN, SAID]) receivers[1]!.onEvent(event)
  t.same(ear.heard, [START, BEGUN, SAID])
})
