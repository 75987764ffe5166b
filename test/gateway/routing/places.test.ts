/** Every place that a call takes at an endpoint is given back once, however the call ends. */
import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type { ChatEvent, ChatRequest, RoutedRequest } from '../../../src/gateway/formats/canonical.js'
import { Gateway, type InferenceOutcome, type StreamListener } from '../../../src/gateway/gateway.js'
import { type CallPermit, HealthRegistry, REFUSED } from '../../../src/gateway/health/health-registry.js'
import type { ProviderFailure } from '../../../src/gateway/providers/port/provider.js'
import type { Generation } from '../../../src/gateway/run/generation.js'
import type { Admission } from '../../../src/gateway/run/ports.js'
import { serverTiming } from '../../../src/gateway/run/server-timing.js'
import { completeChat, inferenceOf, streamChat, Waiter } from '../../support/clients/gateway-calls.js'
import { NO_FILE_PORTS } from '../../support/data/no-files.js'
import { openBreakerOf, routingState } from '../../support/providers/routing.js'
import {
  CALLER,
  catalogOf,
  completion,
  failure,
  type ScriptedCall,
  ScriptedProvider,
  text,
  usage,
} from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

/** Counts the places that are taken, and the endings that were told of a place nobody had. */
class WatchedHealth extends HealthRegistry {
  readonly taken: CallPermit[] = []
  wrong = 0

  override tryAcquire(endpoint: ModelEndpoint, caller: string): CallPermit {
    const permit = super.tryAcquire(endpoint, caller)
    if (permit !== REFUSED) this.taken.push(permit)
    return permit
  }

  #give(permit: CallPermit): void {
    const at = this.taken.indexOf(permit)
    if (at < 0) this.wrong++
    else this.taken.splice(at, 1)
  }

  override recordAnswer(endpoint: ModelEndpoint, permit: CallPermit, ms: number): void {
    if (!this.taken.includes(permit)) this.wrong++
    super.recordAnswer(endpoint, permit, ms)
  }

  override recordEnd(endpoint: ModelEndpoint, permit: CallPermit, tokens: number, ms: number): void {
    this.#give(permit)
    super.recordEnd(endpoint, permit, tokens, ms)
  }

  override recordFailure(endpoint: ModelEndpoint, permit: CallPermit, failed: ProviderFailure): void {
    this.#give(permit)
    super.recordFailure(endpoint, permit, failed)
  }

  override recordAbort(endpoint: ModelEndpoint, permit: CallPermit, answering: boolean): void {
    this.#give(permit)
    super.recordAbort(endpoint, permit, answering)
  }
}

const DEAF: StreamListener<ChatRequest, ChatEvent> = {
  onRequestSent: () => {},
  onEvent: () => {},
  onFlush: () => {},
  onEnd: () => {},
  onFailure: () => {},
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

interface Bench {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly health: WatchedHealth
  readonly provider: ScriptedProvider
  readonly endpoints: readonly ModelEndpoint[]
  readonly admission: Admission
  readonly settled: { readonly generation: Generation<RoutedRequest>; readonly outcome: InferenceOutcome }[]
  admit: () => Admission | Promise<Admission>
}

function bench(slugs: readonly string[] = ['a', 'b']): Bench {
  const provider = new ScriptedProvider()
  const clock = new FakeClock()
  const catalog = catalogOf({ 'acme/one': slugs.map((slug) => ({ slug })) }, () => provider)
  const health = new WatchedHealth({ clock, random: () => 0, broadcast: null })
  const settled: Bench['settled'] = []
  const admission: Admission = {
    recordLost: () => {},
    settle: (generation, outcome) => {
      settled.push({ generation, outcome })
      return null
    },
  }
  const made: Bench = {
    admission,
    clock,
    health,
    provider,
    endpoints: catalog.models[0]!.endpoints,
    settled,
    admit: () => admission,
    gateway: new Gateway({
      catalog: () => catalog,
      ...routingState(clock, undefined, {
        rescue: 'unanswered',
        retries: 2,
        retryWaitMs: 1000,
        retryBudget: 1,
        hedge: 'never',
        hedgeBudget: 0,
      }),
      health,
      countTokens: async (texts) => ({ counts: texts.map(({ length }) => length), areGuessed: false }),
      admitCount: async () => () => {},
      clock,
      files: NO_FILE_PORTS,
      deadlineMs: 60_000,
      onDefect: (error) => {
        throw error
      },
      admit: () => made.admit(),
      observe: () => {},
    }),
  }
  return made
}

function begin({ gateway }: Bench, streamed: boolean): () => void {
  const waiter = new Waiter()
  if (streamed) {
    const { flow } = streamChat(gateway, DEAF)
    return () => flow.cancel()
  }
  void completeChat(gateway, inferenceOf(), waiter).catch(() => {})
  return () => waiter.leave()
}

const FAILURES = [
  failure('provider-failed', 'not-sent', 0),
  failure('provider-failed', 'refused', 500),
  failure('rate-limited', 'refused', 429),
  failure('bad-request', 'refused', 400),
  failure('provider-timeout', 'maybe-processed', 0),
]

/** What may happen to a call, at any time and as often as it likes. */
function happen(made: Bench, leave: () => void, what: string, call: ScriptedCall | undefined): void {
  const { stream, complete } = call ?? { stream: null, complete: null }
  if (what === 'leave') leave()
  else if (what === 'time') made.clock.advance(2000)
  else if (what === 'event') stream?.onEvent(text('x'))
  else if (what === 'usage') stream?.onEvent({ type: 'usage', usage: usage(1, 2) })
  else if (what === 'ended') {
    stream?.onEnd()
    complete?.onEnd(completion('x', null))
  } else if (what.startsWith('fail')) {
    const failed = FAILURES[Number(what.slice(4))]!
    stream?.onFailure(failed)
    complete?.onFailure(failed)
  }
}

const WHATS = [
  'leave',
  'time',
  'event',
  'event',
  'usage',
  'ended',
  'fail0',
  'fail1',
  'fail2',
  'fail3',
  'fail4',
]

test('whatever happens to calls, no place is lost and none is given back twice', async (t) => {
  const step = fc.record({
    what: fc.constantFrom(...WHATS, 'begin', 'begin'),
    which: fc.nat(9),
    streamed: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const made = bench()
      const leaves: (() => void)[] = []
      const isOver = new Set<ScriptedCall>()
      for (const { what, which, streamed } of steps) {
        if (what === 'begin') {
          leaves.push(begin(made, streamed))
          continue
        }
        const calls = made.provider.calls.filter((call) => !isOver.has(call) && !call.told.includes('cancel'))
        const call = calls[which % Math.max(1, calls.length)]
        // A provider tells an end once.
        if (call !== undefined && (what === 'ended' || what.startsWith('fail'))) isOver.add(call)
        happen(made, leaves[which % Math.max(1, leaves.length)] ?? (() => {}), what, call)
        await turn()
      }
      for (const leave of leaves) leave()
      await turn()
      await turn()
      return (
        made.health.taken.length === 0 && made.health.wrong === 0 && made.settled.length === leaves.length
      )
    }),
    { numRuns: 400 },
  )
  t.pass()
})

for (const streamed of [false, true]) {
  test(`a probe whose provider throws, and whose caller leaves in that turn, gives its place back, stream: ${streamed}`, async (t) => {
    const made = bench(['a'])
    openBreakerOf(made.health, made.endpoints[0]!)
    made.clock.advance(1000)
    made.provider.stream = made.provider.complete = () => {
      throw new TypeError('defect')
    }
    const leave = begin(made, streamed)
    t.equal(made.health.taken.length, 1)
    leave()
    await turn()
    t.equal(made.health.taken.length, 0)
    t.not(made.health.tryAcquire(made.endpoints[0]!, CALLER.organizationId), REFUSED, 'the next may try')
  })

  test(`whoever leaves during the admission has taken no place, and is settled once, stream: ${streamed}`, async (t) => {
    const made = bench()
    let admitted: () => void = () => {}
    made.admit = () => new Promise((resolve) => (admitted = () => resolve(made.admission)))
    const leave = begin(made, streamed)
    leave()
    t.equal(made.settled.length, 0)
    admitted()
    await turn()
    t.equal(made.provider.calls.length, 0)
    t.same(
      made.settled.map(({ outcome }) => outcome.kind),
      ['aborted'],
    )
    t.equal(made.health.taken.length, 0)
  })

  test(`a call that is refused at its admission takes no place and is not settled, stream: ${streamed}`, async (t) => {
    const made = bench()
    made.admit = () => Promise.reject(new Fault('payment-required'))
    const leave = begin(made, streamed)
    await turn()
    leave()
    t.equal(made.settled.length + made.health.taken.length + made.provider.calls.length, 0)
  })

  test(`whoever leaves during the pause before a retry is settled once, and no timer stays, stream: ${streamed}`, async (t) => {
    const made = bench(['a'])
    const leave = begin(made, streamed)
    const { stream, complete } = made.provider.last
    stream?.onFailure(FAILURES[1]!)
    complete?.onFailure(FAILURES[1]!)
    t.equal(made.clock.pending, 1)
    leave()
    await turn()
    t.equal(made.clock.pending, 0)
    t.same(
      made.settled.map(({ generation, outcome }) => [
        outcome.kind,
        generation.attempts.map(({ status }) => status),
      ]),
      [['aborted', [500]]],
    )
  })
}

test('an answer that is slowed down by its reader says nothing of how fast its endpoint is', async (t) => {
  const made = bench(['a'])
  for (const slowed of [true, false]) {
    const { flow } = streamChat(made.gateway, DEAF)
    const { stream } = made.provider.last
    stream!.onEvent(text('x'))
    if (slowed) {
      flow.pause()
      flow.resume()
    }
    stream!.onEvent({ type: 'usage', usage: usage(1, 50) })
    stream!.onEnd()
    t.equal(made.health.of(made.endpoints[0]!).throughput.quantile(0.5, 0) === null, slowed)
  }
})

test('a stream whose caller was slow during the pause of a retry begins held back', async (t) => {
  const made = bench(['a'])
  const { flow } = streamChat(made.gateway, DEAF)
  made.provider.last.stream!.onFailure(FAILURES[1]!)
  flow.pause()
  made.clock.advance(1000)
  t.equal(made.provider.calls.length, 2)
  t.same(made.provider.last.told, ['pause'])
})

test('Server-Timing tells pauses between attempts apart from what is ours', async (t) => {
  const made = bench(['a'])
  const { generation } = streamChat(made.gateway, DEAF)
  made.provider.last.stream!.onFailure(FAILURES[1]!)
  await new Promise((resolve) => setTimeout(resolve, 30))
  made.clock.advance(1000)
  made.provider.last.stream!.onEvent(text('x'))
  const told = new Map(
    serverTiming(generation, performance.now())
      .split(', ')
      .map((phase) => phase.split(';dur=') as [string, string])
      .map(([name, ms]) => [name, Number(ms)]),
  )
  t.ok(told.get('pause')! >= 28, String(told.get('pause')))
  const phases = ['queue', 'connect', 'first', 'failed', 'pause', 'overhead']
  const sum = phases.reduce((before, name) => before + told.get(name)!, 0)
  t.ok(Math.abs(sum - told.get('total')!) < 0.01, JSON.stringify([...told]))
})

test('while the first of an answer is waited for, that is told as such', async (t) => {
  const made = bench(['a'])
  const { generation } = streamChat(made.gateway, DEAF)
  const later = serverTiming(generation, performance.now() + 5000)
  t.match(later, /first;dur=[5-9]\d{3}\./)
})

test('a prompt that is too long for an endpoint of unknown length is not sent to its like', async (t) => {
  const made = bench(['a', 'b'])
  const answer = completeChat(made.gateway)
  const fault = new Fault('bad-request', { metadata: { error_type: 'context_length_exceeded' } })
  made.provider.last.complete!.onFailure({ fault, class: 'refused', status: 400 })
  t.equal((await answer).fault?.kind, 'bad-request')
  t.equal(made.provider.calls.length, 1)
})
