import { test } from 'tap'
import type { ChatEvent } from '../../../../src/gateway/formats/canonical.js'
import {
  chunk,
  GENERATION,
  openAiBench,
  providerCall,
  streamed,
} from '../../../support/clients/openai-calls.js'
import { usage } from '../../../support/providers/scripted-provider.js'

/** What a delta of choice 0 becomes. */
const delta = (value: object): ChatEvent => ({ type: 'delta', choice: 0, delta: value })
const STOP: ChatEvent = { type: 'finish', choice: 0, reason: 'stop', native: 'stop' }
const STOP_UNSAID: ChatEvent = { type: 'finish', choice: 0, reason: 'stop', native: null }
const USAGE = usage(1, 2)
const MADE = `call_${GENERATION.slice(4)}`

const call = (fragment: object): unknown => chunk({ tool_calls: [fragment] })
const fn = (name?: string, text?: unknown): object => ({
  ...(name === undefined ? {} : { name }),
  ...(text === undefined ? {} : { arguments: text }),
})

const RARE = {
  refusal: 'r',
  reasoning_details: [{ type: 'reasoning.summary', summary: 's' }],
  audio: { id: 'i' },
  images: [{ image_url: { url: 'u' } }],
  annotations: [{ type: 'x' }],
}
/** The deltas of a tool call: its beginning, and a later piece of its arguments. */
const opened = (index: number, id: string, name: string, text: string): ChatEvent =>
  delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }] })
const argued = (index: number, text: string): ChatEvent =>
  delta({ tool_calls: [{ index, function: { arguments: text } }] })

const reads = (chunks: readonly unknown[], events: readonly ChatEvent[]) => [chunks, events] as const

const STREAMS = {
  'the usual one': reads(
    [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'a' }),
      chunk({ content: 'b' }),
      chunk({}, 'stop'),
      { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
    ],
    [delta({ content: 'a' }), delta({ content: 'b' }), STOP, { type: 'usage', usage: USAGE }],
  ),
  'a reason beside the last content': reads(
    [chunk({ content: 'a' }, 'stop')],
    [delta({ content: 'a' }), STOP],
  ),
  'a reason told twice': reads(
    [chunk({ content: 'a' }, 'stop'), chunk({}, 'stop')],
    [delta({ content: 'a' }), STOP],
  ),
  'no reason': reads([chunk({ content: 'a' })], [delta({ content: 'a' }), STOP_UNSAID]),
  'only a role': reads([chunk({ role: 'assistant' })], [STOP_UNSAID]),
  'nulls and empty texts': reads(
    [
      chunk({
        role: '',
        content: null,
        reasoning: '',
        refusal: null,
        tool_calls: null,
        audio: null,
        images: null,
        reasoning_details: [],
      }),
      chunk({ content: 'a' }),
    ],
    [delta({ content: 'a' }), STOP_UNSAID],
  ),
  'reasoning in either spelling': reads(
    [chunk({ reasoning: 'a' }), chunk({ reasoning_content: 'b' }), chunk({ content: 'c' })],
    [delta({ reasoning: 'a' }), delta({ reasoning: 'b' }), delta({ content: 'c' }), STOP_UNSAID],
  ),
  'rare members': reads([chunk(RARE)], [delta(RARE), STOP_UNSAID]),
  'the last figures count': reads(
    [
      { choices: [], usage: { prompt_tokens: 9, completion_tokens: 9 } },
      chunk({ content: 'a' }),
      { choices: [], usage: null },
      { x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } },
    ],
    [delta({ content: 'a' }), STOP_UNSAID, { type: 'usage', usage: USAGE }],
  ),
  'a tier, once': reads(
    [
      { ...(chunk({ content: 'a' }) as object), service_tier: 'flex' },
      { ...(chunk({ content: 'b' }) as object), service_tier: 'flex' },
    ],
    [{ type: 'tier', serviceTier: 'flex' }, delta({ content: 'a' }), delta({ content: 'b' }), STOP_UNSAID],
  ),
  'log probabilities': reads(
    [
      {
        choices: [
          { index: 0, delta: { content: 'a' }, logprobs: { content: [{ token: 'a', logprob: -1 }] } },
        ],
      },
    ],
    [
      {
        type: 'delta',
        choice: 0,
        delta: { content: 'a' },
        logprobs: { content: [{ token: 'a', logprob: -1, bytes: null, top_logprobs: [] }], refusal: null },
      },
      STOP_UNSAID,
    ],
  ),
  'events that say nothing': reads(
    ['', '{"type":"ping"}', '{"choices":null}', chunk({ content: 'a' })],
    [delta({ content: 'a' }), STOP_UNSAID],
  ),
  'a message where the delta belongs': reads(
    [{ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] }],
    [delta({ content: 'a' }), STOP],
  ),
  'two choices': reads(
    [
      {
        choices: [
          { index: 0, delta: { content: 'a' } },
          { index: 1, delta: { content: 'b' }, finish_reason: 'stop' },
        ],
      },
    ],
    [
      delta({ content: 'a' }),
      { type: 'delta', choice: 1, delta: { content: 'b' } },
      { type: 'finish', choice: 1, reason: 'stop', native: 'stop' },
      STOP_UNSAID,
    ],
  ),
  'a tool call': reads(
    [
      call({ index: 0, id: 'x', type: 'function', function: fn('f', '') }),
      call({ index: 0, function: fn(undefined, '{"a"') }),
      call({ index: 0, id: null, type: null, function: fn(undefined, ':1}') }),
      chunk({}, 'tool_calls'),
    ],
    [
      opened(0, 'x', 'f', ''),
      argued(0, '{"a"'),
      argued(0, ':1}'),
      { type: 'finish', choice: 0, reason: 'tool_calls', native: 'tool_calls' },
    ],
  ),
  'tool calls without an index, told apart by id and by order': reads(
    [
      call({ id: 'x', function: fn('f', '1') }),
      call({ function: fn(undefined, '2') }),
      call({ id: 'y', function: fn('g', '3') }),
      call({ id: 'x', function: fn(undefined, '4') }),
      call({ function: fn(undefined, '5') }),
    ],
    [
      opened(0, 'x', 'f', '1'),
      argued(0, '2'),
      opened(1, 'y', 'g', '3'),
      argued(0, '4'),
      argued(1, '5'),
      STOP_UNSAID,
    ],
  ),
  'parallel tool calls all under index 0': reads(
    [
      call({ index: 0, id: 'x', function: fn('f', '1') }),
      call({ index: 0, id: 'y', function: fn('g', '2') }),
    ],
    [opened(0, 'x', 'f', '1'), opened(1, 'y', 'g', '2'), STOP_UNSAID],
  ),
  'a new id for every fragment of one call': reads(
    [
      call({ index: 0, id: 'x', function: fn('f', '') }),
      call({ index: 0, id: 'x2', function: fn(undefined, '1') }),
    ],
    [opened(0, 'x', 'f', ''), argued(0, '1'), STOP_UNSAID],
  ),
  'a name repeated in every fragment': reads(
    [
      call({ index: 0, id: 'x', function: fn('f', '1') }),
      call({ index: 0, id: 'x', function: fn('f', '2') }),
    ],
    [opened(0, 'x', 'f', '1'), argued(0, '2'), STOP_UNSAID],
  ),
  'indexes that do not begin at 0, without an id': reads(
    [call({ index: 3, function: fn('f', { a: 1 }) })],
    [opened(0, `${MADE}_0`, 'f', '{"a":1}'), STOP_UNSAID],
  ),
  'a name that comes late': reads(
    [call({ index: 0, id: 'x', function: fn(undefined, '{') }), call({ index: 0, function: fn('f', '}') })],
    [opened(0, 'x', 'f', '{}'), STOP_UNSAID],
  ),
  'the old single call': reads(
    [chunk({ function_call: fn('f', '') }), chunk({ function_call: fn(undefined, '{}') }, 'function_call')],
    [
      opened(0, `${MADE}_0`, 'f', ''),
      argued(0, '{}'),
      { type: 'finish', choice: 0, reason: 'tool_calls', native: 'function_call' },
    ],
  ),
}

for (const [name, [chunks, events]] of Object.entries(STREAMS)) {
  test(`a stream with ${name}`, async (t) => {
    const { provider } = await openAiBench(t, (peer) => peer.stream(chunks))
    const one = streamed(provider)
    t.equal(await one.end.opened, 'ended')
    t.strictSame(one.events, events)
  })
}

const PLAIN = [chunk({ content: 'é' }), chunk({ content: '😀' }), chunk({ content: '€' }, 'stop')]

test('figures that came before a failure are told before it', async (t) => {
  const { provider } = await openAiBench(t, (peer) => {
    peer.streamHead()
    peer.event({ ...(chunk({ content: 'a' }) as object), usage: { prompt_tokens: 1, completion_tokens: 2 } })
    peer.event('broken')
  })
  const one = streamed(provider)
  t.match(await one.end.opened, { fault: { kind: 'provider-failed' } })
  t.same(one.told, ['delta', 'usage', 'failed'])
})

test('the body that was sent is shown before the first event, when asked for', async (t) => {
  const { mock, provider } = await openAiBench(t, (peer) => peer.stream(PLAIN))
  const one = streamed(provider, providerCall({ debug: { echo_upstream_body: true } }))
  await one.end.opened
  t.equal(one.told[0], 'sent')
  t.same(one.body, JSON.parse(mock.requests[0]!.body))
  const silent = streamed(provider)
  await silent.end.opened
  t.notOk(silent.told.includes('sent'))
})
