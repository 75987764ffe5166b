import { test } from 'tap'
import { NEVER_ABORTED } from '../../src/base/cancellation.js'
import { systemClock } from '../../src/base/clock.js'
import type { Fault } from '../../src/base/fault.js'
import type { ChatEvent, ChatRequest, RoutedRequest } from '../../src/gateway/formats/canonical.js'
import { Gateway, type InferenceOutcome, type StreamListener } from '../../src/gateway/gateway.js'
import { chatFormat } from '../../src/gateway/metering/format.js'
import type { Generation } from '../../src/gateway/run/generation.js'
import { serviceMetadata } from '../../src/gateway/run/metadata.js'
import type { Admission } from '../../src/gateway/run/ports.js'
import {
  completeChat,
  inferenceOf,
  prepareChat,
  REQUEST,
  streamChat,
  Waiter,
} from '../support/clients/gateway-calls.js'
import { NO_FILE_PORTS } from '../support/data/no-files.js'
import { routingState } from '../support/providers/routing.js'
import {
  CALLER,
  catalogOf,
  completion,
  failure,
  ScriptedProvider,
  text,
  usage,
} from '../support/providers/scripted-provider.js'

/** What a stream told, in order. */
class Ear implements StreamListener<ChatRequest, ChatEvent> {
  readonly heard: string[] = []
  ended_: Generation | null = null
  fault: Fault | null = null
  onRequestSent(body: unknown): void {
    this.heard.push(`echo ${JSON.stringify(body)}`)
  }
  onEvent(event: ChatEvent & { readonly type: 'delta' | 'finish' }): void {
    this.heard.push(event.type === 'delta' ? `said ${event.delta.content}` : `finish ${event.reason}`)
  }
  onFlush(): void {
    this.heard.push('flush')
  }
  onEnd(generation: Generation): void {
    this.heard.push('ended')
    this.ended_ = generation
  }
  onFailure(fault: Fault): void {
    this.heard.push(`failed ${fault.kind}`)
    this.fault = fault
  }
}

interface Bench {
  readonly gateway: Gateway
  readonly first: ScriptedProvider
  readonly second: ScriptedProvider
  readonly records: { generation: Generation<RoutedRequest>; outcome: InferenceOutcome }[]
  readonly counted: (readonly string[])[]
  /** What `onDefect` was told. */
  readonly defects: unknown[]
}

/** A stream, and what it tells. */
function listen(gateway: Gateway) {
  const ear = new Ear()
  return { ear, ...streamChat(gateway, ear) }
}

const kindsOf = (records: Bench['records']): string[] => records.map(({ outcome }) => outcome.kind)
const statusesOf = ({ attempts }: Pick<Generation<RoutedRequest>, 'attempts'>): number[] =>
  attempts.map(({ status }) => status)

/** What an inference has taken, which is nothing. */
function admission(more: Partial<Admission>): Admission {
  return { recordLost: () => {}, settle: () => null, ...more }
}

/** `more` stands in for parts of the gateway. */
function bench(more: Partial<ConstructorParameters<typeof Gateway>[0]> = {}): Bench {
  const first = new ScriptedProvider()
  const second = new ScriptedProvider()
  const catalog = catalogOf({ 'acme/one': [{ slug: 'first' }, { slug: 'second' }] }, (slug) =>
    slug === 'first' ? first : second,
  )
  const records: Bench['records'] = []
  const counted: (readonly string[])[] = []
  const defects: unknown[] = []
  const gateway = new Gateway({
    catalog: () => catalog,
    ...routingState(),
    countTokens: async (texts) => {
      counted.push(texts)
      return { counts: texts.map(({ length }) => length), areGuessed: false }
    },
    clock: systemClock,
    files: NO_FILE_PORTS,
    deadlineMs: 1000,
    onDefect: (error) => defects.push(error),
    observe: (generation, outcome) => records.push({ generation, outcome }),
    admit: () => admission({}),
    admitCount: async () => () => {},
    ...more,
  })
  return { gateway, first, second, records, counted, defects }
}

const ALICE: ChatRequest = { ...REQUEST, user: 'alice@example.org' }
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a whole answer carries the usage and the cost of the provider’s figures', async (t) => {
  const { gateway, first, records } = bench()
  const answer = completeChat(gateway)
  first.last.complete!.onEnd(completion('hi', usage(3, 4)))
  const { generation, fault } = await answer
  t.equal(fault, null)
  t.match(generation.consumption, { usage: usage(3, 4), estimated: false, cost: { total: 11_000 } })
  t.same(kindsOf(records), ['completed'])
})

test('a provider without figures is estimated, and says so in the metadata', async (t) => {
  const { gateway, first, counted } = bench()
  const answer = completeChat(gateway)
  first.last.complete!.onEnd(completion('hi', null))
  const { generation } = await answer
  t.same(counted, [['hello', '', 'hi', '']])
  t.match(generation.consumption, { estimated: true, guessed: false, usage: { completion: 2 } })
  t.equal(serviceMetadata(generation, performance.now()).usage_estimated, true)
})

const RETRIES = [
  ['it was never sent', failure('provider-failed', 'not-sent'), true],
  ['the provider turned it away', failure('rate-limited', 'refused', 429), true],
  ['the provider may have worked on it', failure('provider-timeout', 'maybe-processed', 524), true],
  ['the request itself is at fault', failure('bad-request', 'refused', 400), false],
  ['the request is too large', failure('payload-too-large', 'refused', 413), false],
  ['the provider cannot carry it out', failure('unprocessable', 'refused', 422), false],
] as const

for (const [why, failed, again] of RETRIES) {
  test(`${again ? 'another' : 'no other'} endpoint is tried when ${why}`, async (t) => {
    const { gateway, first, second, records } = bench()
    const answer = completeChat(gateway)
    first.last.complete!.onFailure(failed)
    t.equal(second.calls.length, again ? 1 : 0)
    if (again) second.last.complete!.onEnd(completion('hi'))
    const { generation, fault } = await answer
    t.equal(fault?.kind ?? null, again ? null : failed.fault.kind)
    t.same(statusesOf(generation), again ? [failed.status, 200] : [failed.status])
    t.equal(serviceMetadata(generation, 0).attempt, again ? 2 : 0)
    t.equal(records.length, 1)
  })

  test(`a stream tries ${again ? 'another' : 'no other'} endpoint when ${why}`, async (t) => {
    const { gateway, first, second } = bench()
    const { ear } = listen(gateway)
    first.last.stream!.onFailure(failed)
    t.equal(second.calls.length, again ? 1 : 0)
    t.same(ear.heard, again ? [] : [`failed ${failed.fault.kind}`])
  })
}

test('when every endpoint fails the caller gets the last fault', async (t) => {
  const { gateway, first, second } = bench()
  const answer = completeChat(gateway)
  first.last.complete!.onFailure(failure('rate-limited', 'refused', 429))
  second.last.complete!.onFailure(failure('provider-failed', 'refused', 500))
  const { fault, generation } = await answer
  t.equal(fault?.kind, 'provider-failed')
  t.notOk(
    serviceMetadata(generation, 0).endpoints.available.some(({ selected }) => selected),
    'and on an error none is selected',
  )
})

test('once an event has been handed over, a failure is told and nothing else is tried', async (t) => {
  const { gateway, first, second } = bench()
  const { ear } = listen(gateway)
  first.last.stream!.onEvent(text('half'))
  first.last.stream!.onFailure(failure('rate-limited', 'refused', 429))
  t.equal(second.calls.length, 0)
  t.same(ear.heard, ['said half', 'failed rate-limited'])
})

test('a stream ends with the consumption of the provider’s figures', async (t) => {
  const { gateway, first } = bench()
  const { ear } = listen(gateway)
  const { stream } = first.last
  stream!.onEvent(text('hi'))
  stream!.onEvent({ type: 'finish', choice: 0, reason: 'stop', native: 'stop' })
  stream!.onEvent({ type: 'usage', usage: usage(1, 2) })
  stream!.onFlush()
  stream!.onEnd()
  t.same(ear.heard, ['said hi', 'finish stop', 'flush', 'ended'])
  t.match(ear.ended_?.consumption, { usage: usage(1, 2), estimated: false })
})

test('a stream without figures is estimated from what it said', async (t) => {
  const { gateway, first, counted } = bench()
  const { ear } = listen(gateway)
  first.last.stream!.onEvent(text('one '))
  first.last.stream!.onEvent({ type: 'delta', choice: 0, delta: { reasoning: 'think' } })
  first.last.stream!.onEvent({
    type: 'delta',
    choice: 0,
    delta: { tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] },
  })
  first.last.stream!.onEnd()
  t.equal(ear.heard.at(-1), 'flush', 'what came with the end is not kept back meanwhile')
  await turn()
  t.same(counted, [['hello', '', 'one f{}', 'think']])
  t.equal(ear.ended_?.consumption?.estimated, true)
})

test('a stream that ends without a single event is a failure', async (t) => {
  const { gateway, first, second } = bench()
  const { ear } = listen(gateway)
  first.last.stream!.onEnd()
  t.same(ear.heard, [], 'of that endpoint')
  second.last.stream!.onEnd()
  t.same(ear.heard, ['failed provider-failed'])
})

test('a caller who leaves ends the upstream call in the same turn, and what was said is counted', async (t) => {
  const { gateway, first, records, counted } = bench()
  const { ear, flow } = listen(gateway)
  first.last.stream!.onEvent(text('half'))
  flow.cancel()
  t.same(first.last.told, ['cancel'])
  first.last.stream!.onEvent(text('late'))
  first.last.stream!.onEnd()
  await turn()
  t.same(ear.heard, ['said half'], 'nothing more is told')
  t.same(counted, [['hello', '', 'half', '']])
  t.match(records, [{ outcome: { kind: 'aborted' }, generation: { consumption: { estimated: true } } }])
})

test('a caller who leaves before the first event has consumed nothing', async (t) => {
  const { gateway, first, records } = bench()
  const { flow } = streamChat(gateway, new Ear())
  flow.cancel()
  await turn()
  t.same(first.last.told, ['cancel'])
  t.match(records, [{ outcome: { kind: 'aborted' }, generation: { consumption: null } }])
})

test('a caller who leaves a whole answer ends the upstream call', async (t) => {
  const { gateway, first, records } = bench()
  const waiter = new Waiter()
  void completeChat(gateway, inferenceOf(), waiter)
  waiter.leave()
  t.same(first.last.told, ['cancel'])
  first.last.complete!.onEnd(completion('late'))
  t.same(kindsOf(records), ['aborted'])
})

test('backpressure reaches the provider, also the one that is tried next', async (t) => {
  const { gateway, first, second } = bench()
  const { flow } = streamChat(gateway, new Ear())
  flow.pause()
  first.last.stream!.onFailure(failure('provider-failed', 'not-sent'))
  flow.resume()
  t.same(first.last.told, ['pause'])
  t.same(second.last.told, ['pause', 'resume'])
})

test('the provider is told a pseudonym of the end user, and the account’s when there is none', async (t) => {
  const { gateway, first } = bench()
  void completeChat(gateway, inferenceOf({ request: ALICE }))
  const named = first.last.call.endUser
  t.match(named, /^user-[0-9a-f]{40}$/)
  void completeChat(gateway)
  t.match(first.last.call.endUser, /^user-[0-9a-f]{40}$/)
  t.not(first.last.call.endUser, named)
  void completeChat(gateway, inferenceOf({ request: ALICE, caller: { ...CALLER, organizationId: 'o' } }))
  t.not(first.last.call.endUser, named, 'and another organization’s alice is somebody else')
})

test('generation ids sort by time and look as the contract says', async (t) => {
  const { gateway, first } = bench()
  const answer = completeChat(gateway)
  first.last.complete!.onEnd(completion('hi'))
  t.match((await answer).generation.id, /^gen-[0-9a-z]{26}$/)
})

test('what a failed attempt told about its usage is not billed to the one that answers', async (t) => {
  const { gateway, first, second } = bench()
  const { ear } = listen(gateway)
  first.last.stream!.onEvent({ type: 'usage', usage: usage(999_999, 0) })
  first.last.stream!.onFailure(failure('rate-limited', 'refused', 429))
  second.last.stream!.onEvent(text('hi'))
  second.last.stream!.onEnd()
  await turn()
  t.equal(ear.ended_?.consumption?.estimated, true)
  t.ok((ear.ended_?.consumption?.usage.prompt ?? 0) < 100)
})

test('on a failure in the middle the metadata selects nobody and tells the status that was meant', async (t) => {
  const { gateway, first } = bench()
  const { generation } = streamChat(gateway, new Ear())
  first.last.stream!.onEvent(text('half'))
  first.last.stream!.onFailure(failure('rate-limited', 'refused', 429))
  const told = serviceMetadata(generation, 0)
  t.equal(told.attempt, 0)
  t.same(
    told.attempts.map(({ status }) => status),
    [429],
  )
  t.notOk(told.endpoints.available.some(({ selected }) => selected))
})

test('a caller who leaves while the answer is being counted is billed for it', async (t) => {
  const { gateway, first, records } = bench()
  const waiter = new Waiter()
  void completeChat(gateway, inferenceOf(), waiter)
  first.last.complete!.onEnd(completion('all of it', null))
  waiter.leave()
  await turn()
  t.match(records, [{ outcome: { kind: 'completed' }, generation: { consumption: { estimated: true } } }])
})

test('an attempt under way counts as one when the caller leaves', async (t) => {
  const { gateway, records } = bench()
  const waiter = new Waiter()
  void completeChat(gateway, inferenceOf(), waiter)
  waiter.leave()
  t.same(statusesOf(records[0]!.generation), [0])
})

test('a provider that throws ends the call as a defect of ours, also on the second attempt', async (t) => {
  const { gateway, first, second } = bench()
  second.stream = () => {
    throw new TypeError('defect')
  }
  const { ear } = listen(gateway)
  first.last.stream!.onFailure(failure('provider-failed', 'not-sent'))
  await turn()
  t.same(ear.heard, ['failed internal'])
})

/** A counter with a defect, and an answer without figures: the case in which nobody but the run could catch it. */
const defective = (): Bench =>
  bench({
    countTokens: async () => {
      throw new TypeError('a defect in the counter')
    },
  })

const GUESSED = { consumption: { estimated: true, guessed: true, usage: { prompt: 6 } } }

test('a whole answer that cannot be counted is given, and settled with a guess; the log hears once', async (t) => {
  const { gateway, first, records, defects } = defective()
  const answer = completeChat(gateway)
  first.last.complete!.onEnd(completion('twelve chars', null))
  t.equal((await answer).fault, null)
  t.match(records, [{ outcome: { kind: 'completed' }, generation: GUESSED }])
  t.equal(records[0]?.generation.consumption?.usage.completion, 4)
  t.match(defects, [TypeError])
  t.equal(defects.length, 1)
})

test('a stream that cannot be counted ends as others do, and is settled with a guess', async (t) => {
  const { gateway, first, records, defects } = defective()
  const { ear } = listen(gateway)
  first.last.stream!.onEvent(text('twelve chars'))
  first.last.stream!.onEnd()
  await turn()
  t.same(ear.heard, ['said twelve chars', 'flush', 'ended'])
  t.match(records, [{ outcome: { kind: 'completed' }, generation: GUESSED }])
  t.equal(defects.length, 1)
})

for (const how of ['is left', 'breaks off'] as const) {
  test(`a stream that ${how} and cannot be counted is settled with a guess`, async (t) => {
    const { gateway, first, records, defects } = defective()
    const { ear, flow } = listen(gateway)
    first.last.stream!.onEvent(text('half'))
    if (how === 'is left') flow.cancel()
    else first.last.stream!.onFailure(failure('provider-failed', 'maybe-processed'))
    await turn()
    const kind = how === 'is left' ? 'aborted' : 'failed'
    t.same(ear.heard, how === 'is left' ? ['said half'] : ['said half', 'failed provider-failed'])
    t.match(records, [{ outcome: { kind }, generation: GUESSED }])
    t.equal(defects.length, 1)
  })
}

test('what was admitted is settled also where its observer throws, and the caller is answered', async (t) => {
  const settled: string[] = []
  const { gateway, first, defects } = bench({
    observe: () => {
      throw new TypeError('a defect in the log')
    },
    admit: () =>
      admission({
        settle: (_generation, { kind }) => {
          settled.push(kind)
          return Promise.reject(new TypeError('a defect in the journal'))
        },
      }),
  })
  const answer = completeChat(gateway)
  first.last.complete!.onEnd(completion('hi', usage(3, 4)))
  t.match(await answer, { fault: { kind: 'internal' } })
  t.same(settled, ['completed'])
  t.match(defects, [/defect in the log/, /defect in the journal/])
})

test('a whole answer that cannot be told rejects, and is settled as one that came', async (t) => {
  const { gateway, first, records } = bench()
  const generation = prepareChat(gateway, inferenceOf())
  const told = gateway.complete(chatFormat, generation, NEVER_ABORTED, () => {
    throw new TypeError('a defect in the encoder')
  })
  first.last.complete!.onEnd(completion('hi', usage(3, 4)))
  await t.rejects(told, /a defect in the encoder/)
  t.match(records, [{ outcome: { kind: 'completed' } }])
})

test('what was admitted is settled also where the first attempt cannot even be chosen', async (t) => {
  const settled: string[] = []
  const parts = routingState()
  parts.health.tryAcquire = () => {
    throw new TypeError('a defect in the health')
  }
  const settle = (_generation: unknown, { kind }: InferenceOutcome): null => {
    settled.push(kind)
    return null
  }
  const { gateway } = bench({ ...parts, admit: () => admission({ settle }) })
  await t.rejects(completeChat(gateway), /defect in the health/)
  t.throws(() => streamChat(gateway, new Ear()), /defect in the health/)
  t.same(settled, ['failed', 'failed'])
})

test('a settlement that throws is told to the log, and the caller is answered all the same', async (t) => {
  const settle = (): null => {
    throw new TypeError('a defect in the settlement')
  }
  const { gateway, first, defects } = bench({ admit: () => admission({ settle }) })
  const answer = completeChat(gateway)
  first.last.complete!.onEnd(completion('hi', null))
  t.equal((await answer).fault, null)
  const { ear } = listen(gateway)
  first.last.stream!.onEvent(text('hi'))
  first.last.stream!.onEnd()
  await turn()
  t.same(ear.heard, ['said hi', 'flush', 'ended'])
  t.equal(defects.length, 2)
})

test('a listener with a defect ends its own stream and nothing else', async (t) => {
  const { gateway, first, records, defects } = bench()
  const ear = new Ear()
  ear.onEnd = () => {
    throw new TypeError('a defect in the listener')
  }
  streamChat(gateway, ear)
  first.last.stream!.onEvent(text('hi'))
  first.last.stream!.onEnd()
  await turn()
  t.same(ear.heard, ['said hi', 'flush', 'failed internal'])
  t.match(records, [{ outcome: { kind: 'completed' } }])
  t.equal(records.length, 1)
  t.equal(defects.length, 1)
})
