/** The simulated provider in the messages format: one script, told in blocks, and a receiver that may leave at any event. */

import { test } from 'tap'
import { ANONYMOUS } from '../../src/base/principal.js'
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from '../../src/gateway/formats/messages.js'
import type { CallHandle, ProviderCall, ProviderFailure } from '../../src/gateway/providers/port/provider.js'
import type { Behaviour } from '../../src/simulator/behaviour.js'
import { SimulatedProvider } from '../../src/simulator/simulated-provider.js'
import { TimerWheel } from '../../src/simulator/timer-wheel.js'
import { endpointOf, FakeClock } from './calls.js'

const clock = new FakeClock()
const wheel = new TimerWheel(clock)
const provider = new SimulatedProvider({
  seed: 1,
  allowRequestFaults: true,
  wheel,
  files: null,
})

interface MessagesScenario {
  readonly request?: Partial<MessagesRequest>
  readonly behaviour?: Behaviour
  readonly simulate?: string
}

function callOf({
  request = {},
  behaviour = {},
  simulate = '',
}: MessagesScenario): ProviderCall<MessagesRequest> {
  return {
    request: { model: 'sim/x', max_tokens: 1000, messages: [{ role: 'user', content: 'hi' }], ...request },
    endpoint: endpointOf(behaviour),
    generationId: 'gen-1',
    caller: ANONYMOUS,
    endUser: 'user-1',
    serviceTier: undefined,
    simulate,
    deadlineAt: clock.time + 600_000,
    droppedFields: [],
  }
}

class MessagesRecorder {
  readonly events: MessagesEvent[] = []
  handle: CallHandle | null = null
  outcome: 'ended' | ProviderFailure | null = null
  flushes = 0

  /** Leaves at the event of this number. */
  constructor(readonly cancelsAt = Number.POSITIVE_INFINITY) {}

  onEvent(event: MessagesEvent): void {
    this.events.push(event)
    if (this.events.length === this.cancelsAt) this.handle?.cancel()
  }
  onFlush(): void {
    this.flushes++
  }
  onEnd(): void {
    this.outcome = 'ended'
  }
  onFailure(failure: ProviderFailure): void {
    this.outcome = failure
  }
}

function streamed(scenario: MessagesScenario, recorder = new MessagesRecorder()): MessagesRecorder {
  recorder.handle = provider.messages!.stream(callOf(scenario), recorder)
  clock.run()
  return recorder
}

function whole(scenario: MessagesScenario): MessagesAnswer | ProviderFailure {
  const outcomes: (MessagesAnswer | ProviderFailure)[] = []
  provider.messages!.complete(callOf(scenario), {
    onEnd: (answer) => outcomes.push(answer),
    onFailure: (failure) => outcomes.push(failure),
  })
  clock.run()
  return outcomes[0]!
}

const LOOKUP = {
  name: 'f',
  input_schema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
}
const RICH: MessagesScenario = {
  behaviour: { reasoning_tokens: { constant: 3 }, tokens: { constant: 4 } },
  request: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
}

test('a stream begins with what is known of the input, and ends with the reason and the figures', async (t) => {
  const { events, outcome } = streamed(RICH)
  t.equal(outcome, 'ended')
  t.match(events[0], { type: 'start', usage: { input_tokens: Number, output_tokens: 0 } })
  t.match(events.at(-2), { type: 'stop', stop: { stop_reason: 'end_turn' } })
  t.match(events.at(-1), {
    type: 'usage',
    usage: { completion: 7, reasoning: 3 },
    wire: { output_tokens: 7 },
  })
  for (const event of events) if (event.type === 'block') t.strictSame(JSON.parse(event.data), event.event)
})

test('whoever leaves at an event hears nothing more, at whichever event it is', async (t) => {
  const { events } = streamed(RICH)
  for (let at = 1; at <= events.length; at++) {
    const left = streamed(RICH, new MessagesRecorder(at))
    t.equal(left.events.length, at)
    t.equal(left.outcome, null)
  }
  t.equal(wheel.size(), 0)
})

test('a paused stream says nothing until it is resumed', async (t) => {
  const recorder = new MessagesRecorder()
  recorder.handle = provider.messages!.stream(callOf({ behaviour: { gap_ms: { constant: 10 } } }), recorder)
  recorder.handle.pause()
  clock.run()
  t.equal(recorder.events.length, 0)
  recorder.handle.resume()
  clock.run()
  t.equal(recorder.outcome, 'ended')
})

test('tokens are told at the times at which chat tells them', async (t) => {
  const recorder = new MessagesRecorder()
  const startedAt = clock.time
  recorder.handle = provider.messages!.stream(
    callOf({
      behaviour: { first_token_ms: { constant: 100 }, gap_ms: { constant: 10 }, tokens: { constant: 5 } },
    }),
    recorder,
  )
  clock.run()
  t.equal(recorder.outcome, 'ended')
  t.ok(Math.abs(clock.time - startedAt - 140) < 3, `took ${clock.time - startedAt} ms`)
})

const FAULTS: readonly (readonly [simulate: string, kind: string, deltas: number])[] = [
  ['fault=error', 'provider-failed', 0],
  ['fault=rate-limited; retry_after=3', 'rate-limited', 0],
  ['fault=cut; after=2; tokens=9', 'provider-failed', 2],
  ['fault=stall; after=2; limit_ms=50; tokens=9', 'provider-timeout', 2],
  ['fault=malformed; after=1; tokens=9', 'provider-failed', 1],
  ['fault=no-terminator; tokens=3', 'provider-failed', 3],
]

test('faults come where they come on chat', async (t) => {
  for (const [simulate, kind, deltas] of FAULTS) {
    const { events, outcome } = streamed({ simulate })
    t.match(outcome, { fault: { kind } }, simulate)
    const outcomes = events.filter(
      (event) => event.type === 'block' && event.event.type === 'content_block_delta',
    )
    t.equal(outcomes.length, deltas, simulate)
    t.match(whole({ simulate }), { fault: { kind } }, simulate)
  }
})

test('a length that the behaviour leaves to the request is an ordinary one, for every request names a limit', async (t) => {
  t.match(whole({ request: { max_tokens: 60_000 } }), {
    usage: { completion: 32 },
    stop: { stop_reason: 'end_turn' },
  })
  t.match(whole({ request: { max_tokens: 3 } }), {
    usage: { completion: 3 },
    stop: { stop_reason: 'max_tokens' },
  })
})

test('what decides about the answer decides, and nothing else', async (t) => {
  const said = (request: Partial<MessagesRequest>): string => {
    const answer = whole({ request })
    return 'content' in answer ? JSON.stringify(answer.content) : 'failed'
  }
  const plain = said({})
  for (const same of [{ user: 'u' }, { session_id: 's' }, { service_tier: 'auto' }, { max_tokens: 500 }]) {
    t.equal(said(same), plain, JSON.stringify(same))
  }
  for (const other of [
    { system: 'x' },
    { temperature: 0.5 },
    { messages: [{ role: 'user', content: 'ho' } as const] },
  ]) {
    t.not(said(other), plain, JSON.stringify(other))
  }
  t.equal(said({ messages: [{ role: 'user', content: 'hi' }] }), plain)
})

test('the count is that of the answer', async (t) => {
  const request = { system: 'be brief', tools: [LOOKUP] }
  const answer = whole({ request })
  t.equal(await provider.countMessages!(callOf({ request })), 'usage' in answer ? answer.usage?.prompt : -1)
  const refused = await provider.countMessages!(
    callOf({ request: { tools: [{ type: 'later', name: 'x' }] } }),
  )
  t.match(refused, { kind: 'bad-request', note: /runs no tool of type "later"/ })
})
