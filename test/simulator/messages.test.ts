/** The simulated provider in the messages format: one answer in blocks, and a receiver that may cancel at any event. */

import { test } from 'tap'
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from '../../src/gateway/formats/messages.js'
import type { ProviderCall, ProviderFailure } from '../../src/gateway/providers/port/provider.js'
import type { Behaviour } from '../../src/simulator/behaviour.js'
import { CallRecorder, endpointOf, providerCall, runCompletion, setUpSimulator } from './calls.js'

const { clock, wheel, provider } = setUpSimulator({ seed: 1 })

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
  const messages = [{ role: 'user', content: 'hi' } as const]
  const whole = { model: 'sim/x', max_tokens: 1000, messages, ...request }
  return providerCall<MessagesRequest>(whole, endpointOf(behaviour), { simulate })
}

type MessagesRecorder = CallRecorder<MessagesEvent, MessagesAnswer>

function start(scenario: MessagesScenario) {
  const recorder: MessagesRecorder = new CallRecorder(clock)
  return { recorder, handle: provider.messages.stream(callOf(scenario), recorder) }
}

/** Streams to the end, or until it is cancelled at the event of this number. */
function streamed(scenario: MessagesScenario, cancelAt = 0): MessagesRecorder {
  const { recorder, handle } = start(scenario)
  recorder.onEventCount = (count) => {
    if (count === cancelAt) handle.cancel()
  }
  clock.run()
  return recorder
}

function whole(scenario: MessagesScenario): MessagesAnswer | ProviderFailure {
  const recorder: MessagesRecorder = new CallRecorder(clock)
  provider.messages.complete(callOf(scenario), recorder)
  clock.run()
  return recorder.completion ?? (recorder.outcome as ProviderFailure)
}

const LOOKUP = {
  name: 'f',
  input_schema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
}
const RICH: MessagesScenario = {
  behaviour: { reasoning_tokens: { constant: 3 }, tokens: { constant: 4 } },
  request: {
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'Grass is green.' },
            citations: { enabled: true },
          },
        ],
      },
    ],
  },
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
    const left = streamed(RICH, at)
    t.equal(left.events.length, at)
    t.equal(left.outcome, null)
  }
  t.equal(wheel.size(), 0)
})

test('a paused stream says nothing until it is resumed', async (t) => {
  const { recorder, handle } = start({ behaviour: { gap_ms: { constant: 10 } } })
  handle.pause()
  clock.run()
  t.equal(recorder.events.length, 0)
  handle.resume()
  clock.run()
  t.equal(recorder.outcome, 'ended')
})

test('tokens are told at the times at which chat tells them', async (t) => {
  const startedAt = clock.time
  const recorder = streamed({
    behaviour: { first_token_ms: { constant: 100 }, gap_ms: { constant: 10 }, tokens: { constant: 5 } },
  })
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
  t.equal(await provider.countMessages(callOf({ request })), 'usage' in answer ? answer.usage?.prompt : -1)
  const refused = await provider.countMessages(callOf({ request: { tools: [{ type: 'later', name: 'x' }] } }))
  t.match(refused, { kind: 'bad-request', note: /runs no tool of type "later"/ })
})

test('a tool counts with its description, as in a chat request that says the same', async (t) => {
  const { name, input_schema: parameters } = LOOKUP
  const description = 'Looks up what is known of a name, however it is written.'
  const messages = [{ role: 'user', content: 'hi' } as const]
  const chat = runCompletion({
    model: 'sim/x',
    messages,
    tools: [{ type: 'function', function: { name, description, parameters } }],
  })
  const told = whole({ request: { tools: [{ ...LOOKUP, description }] } })
  const silent = whole({ request: { tools: [LOOKUP] } })
  const inputOf = (answer: object): number => (answer as { usage: { prompt: number } }).usage.prompt
  t.equal(inputOf(told), inputOf(chat.completion!))
  t.ok(inputOf(told) - inputOf(silent) >= description.length / 4)
})
