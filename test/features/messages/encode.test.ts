/** Answers in the messages format, whole and as events (contract/gateway 5.6 to 5.8). */

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { encodeAnswer, MessagesEncoder } from '../../../src/features/messages/encode.js'
import { MessagesReply, MessagesStreamEvent } from '../../../src/features/messages/response-schema.js'
import type {
  ContentBlockEvent,
  MessagesAnswer,
  MessagesEvent,
  MessagesRequest,
} from '../../../src/gateway/formats/messages.js'
import type { Generation } from '../../../src/gateway/run/generation.js'
import { serviceMetadata } from '../../../src/gateway/run/metadata.js'
import { assembled, messageEventsOf } from '../../support/clients/messages-calls.js'
import { usage } from '../../support/providers/scripted-provider.js'
import { GENERATION_ID, servedGeneration } from '../served-generation.js'

const REQUEST: MessagesRequest = {
  model: 'acme/one',
  max_tokens: 9,
  messages: [{ role: 'user', content: 'hi' }],
}
const FIGURES = usage(10, 4, { cached: 3, cacheWrite: 2, reasoning: 1 })

const served = (): Generation<MessagesRequest> => servedGeneration(REQUEST, FIGURES)

const STOP = { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null }
const answer = (more: Partial<MessagesAnswer> = {}): MessagesAnswer => ({
  content: [{ type: 'text', text: 'hello', citations: [] }],
  stop: STOP,
  usage: FIGURES,
  wireUsage: null,
  ...more,
})

// biome-ignore lint/suspicious/noExplicitAny: whatever was written
function whole(told: MessagesAnswer, metadata = false): any {
  const generation = served()
  const routing = metadata ? serviceMetadata(generation, performance.now()) : null
  const text = encodeAnswer(generation, told, routing)
  const body = JSON.parse(text)
  if (!MessagesReply.safeParse(body).success) throw new Error(`not of the contract: ${text}`)
  return body
}

test('a whole answer has every member the strictest client wants', async (t) => {
  const { usage: figures, ...rest } = whole(answer())
  t.strictSame(rest, {
    id: GENERATION_ID,
    type: 'message',
    role: 'assistant',
    model: 'acme/one',
    content: [{ type: 'text', text: 'hello', citations: [] }],
    ...STOP,
    provider: 'ONE',
  })
  t.strictSame(figures, {
    input_tokens: 5,
    output_tokens: 4,
    cache_creation_input_tokens: 2,
    cache_read_input_tokens: 3,
    cache_creation: null,
    output_tokens_details: { thinking_tokens: 1 },
    server_tool_use: null,
    inference_geo: null,
    service_tier: null,
    cost: 0.000018,
    cost_details: {
      upstream_inference_cost: 0.000018,
      upstream_inference_prompt_cost: 0.00001,
      upstream_inference_completions_cost: 0.000008,
    },
    is_byok: false,
  })
})

test('the provider’s own figures pass, a null of it says nothing, and the cost is ours', async (t) => {
  const wireUsage = {
    input_tokens: 77,
    output_tokens: 8,
    cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 0 },
    cache_read_input_tokens: null,
    service_tier: 'priority',
    speed: 'fast',
    later: null,
    cost: 12,
  }
  t.match(whole(answer({ wireUsage })).usage, {
    input_tokens: 77,
    output_tokens: 8,
    cache_creation: { ephemeral_5m_input_tokens: 1 },
    cache_read_input_tokens: 3,
    service_tier: 'priority',
    speed: 'fast',
    later: null,
    cost: 0.000018,
  })
})

test('citations and callers that a provider leaves out are filled in; other members stay', async (t) => {
  const content = [
    { type: 'text', text: 'a', citations: null },
    { type: 'text', text: 'b' },
    { type: 'tool_use', id: 't', name: 'f', input: {}, later: 1 },
    { type: 'later_block', anything: [1] },
  ]
  t.strictSame(whole(answer({ content })).content, [
    { type: 'text', text: 'a', citations: [] },
    { type: 'text', text: 'b', citations: [] },
    { type: 'tool_use', id: 't', name: 'f', input: {}, later: 1, caller: { type: 'direct' } },
    { type: 'later_block', anything: [1] },
  ])
})

test('routing metadata and edits of the context stand in the answer that has them', async (t) => {
  const stop = { ...STOP, context_management: { applied_edits: [{ type: 'x' }] } }
  const body = whole(answer({ stop }), true)
  t.match(body.service_metadata, { requested: 'acme/one', attempt: 1 })
  t.strictSame(body.context_management, { applied_edits: [{ type: 'x' }] })
  t.notOk('service_metadata' in whole(answer()))
})

const block = (event: ContentBlockEvent): MessagesEvent => ({
  type: 'block',
  data: JSON.stringify(event),
  event,
})
const START = block({
  type: 'content_block_start',
  index: 0,
  content_block: { type: 'text', text: '', citations: [] },
})
const delta = (text: string): MessagesEvent =>
  block({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
const END = block({ type: 'content_block_stop', index: 0 })
const FINAL: MessagesEvent = { type: 'usage', usage: FIGURES, wire: null }

function streamed(events: readonly MessagesEvent[], metadata = false): string {
  const generation = served()
  const encoder = new MessagesEncoder(generation)
  const told = events.map((event) => encoder.event(event)).join('')
  return told + encoder.end(metadata ? serviceMetadata(generation, performance.now()) : null)
}

test('a stream is message_start, blocks as they came, message_delta and message_stop', async (t) => {
  const text = streamed([
    { type: 'start', usage: { input_tokens: 5, output_tokens: 1 }, container: null },
    START,
    delta('hel'),
    delta('lo'),
    END,
    { type: 'stop', stop: STOP },
    FINAL,
  ])
  const events = messageEventsOf(text)
  for (const event of events) t.ok(MessagesStreamEvent.safeParse(event).success, JSON.stringify(event))
  t.match(events[0].message, { content: [], stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } })
  t.notOk('cost' in events[0].message.usage, 'a cost is known at the end')
  const { usage: figures, ...told } = assembled(events)
  const { usage: same, ...rest } = whole(answer())
  t.strictSame(told, rest)
  t.strictSame(figures, same)
})

test('a provider that leaves its lifecycle out does not leave the caller without', async (t) => {
  const typesOf = (...events: MessagesEvent[]): string[] =>
    messageEventsOf(streamed(events)).map(({ type }) => type)
  const all = ['message_start', 'content_block_start', 'content_block_stop', 'message_delta', 'message_stop']
  t.strictSame(typesOf(START, END), all)
  for (const only of [FINAL, { type: 'stop', stop: STOP } as const])
    t.strictSame(typesOf(only), ['message_start', 'message_delta', 'message_stop'])
  const begun = { type: 'start', usage: null } as const
  t.strictSame(typesOf(begun, begun, START, END), all)
})

test('a delta goes out in the bytes in which it came', async (t) => {
  const data = '{"index":0,  "type":"content_block_delta","delta":{"type":"later_delta","x":"\\u00e9"}}'
  const event: ContentBlockEvent = {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'later_delta', x: 'é' },
  }
  const stream = streamed([START, { type: 'block', data, event }, END])
  t.ok(stream.includes(`event: content_block_delta\ndata: ${data}\n\n`))
})

test('a text block that begins without citations gets some', async (t) => {
  const bare = block({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'text', text: '', citations: null },
  })
  const [, start] = messageEventsOf(streamed([bare, END]))
  t.strictSame(start, {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'text', text: '', citations: [] },
  })
})

test('metadata stand on message_stop, edits of the context on message_delta', async (t) => {
  const stop = { ...STOP, context_management: { applied_edits: [] } }
  const events = messageEventsOf(streamed([START, END, { type: 'stop', stop }], true))
  t.match(events.at(-1), { type: 'message_stop', service_metadata: { requested: 'acme/one' } })
  t.strictSame(events.at(-2).context_management, { applied_edits: [] })
  for (const event of events) t.ok(MessagesStreamEvent.safeParse(event).success)
})

test('a failure is one event named error, and nothing comes behind it', async (t) => {
  const generation = served()
  const fault = new Fault('provider-timeout', { metadata: { error_type: 'timeout', provider_name: 'One' } })
  const text = new MessagesEncoder(generation).failure(fault, serviceMetadata(generation, performance.now()))
  const [event, ...more] = messageEventsOf(text)
  t.same(more, [])
  t.ok(MessagesStreamEvent.safeParse(event).success)
  t.match(event, {
    type: 'error',
    error: {
      type: 'timeout_error',
      message: 'Request timed out. Please try again later.',
      error_type: 'timeout',
    },
    request_id: generation.id,
    metadata: { provider_name: 'One' },
    service_metadata: { requested: 'acme/one' },
  })
})

test('what is no count is not passed on as one, and a block that lacks a member of its kind gets it', async (t) => {
  const wireUsage = {
    input_tokens: '12',
    output_tokens: -1,
    cache_read_input_tokens: 1.5,
    'a "name"': { x: 1 },
  }
  t.match(whole(answer({ wireUsage })).usage, {
    input_tokens: 5,
    output_tokens: 4,
    cache_read_input_tokens: 3,
    'a "name"': { x: 1 },
  })
  const content = [
    { type: 'thinking', thinking: 'hm' },
    { type: 'tool_use', id: 't', name: 'f', caller: null },
  ]
  t.strictSame(whole(answer({ content })).content, [
    { type: 'thinking', thinking: 'hm', signature: '' },
    { type: 'tool_use', id: 't', name: 'f', input: {}, caller: { type: 'direct' } },
  ])
})

test('whatever a text holds, it is written as JSON writes it', async (t) => {
  const said = fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }) })
  const more = fc.record({ citations: fc.constantFrom(null, [], [{ type: 'x', cited_text: 'y' }]) })
  fc.assert(
    fc.property(fc.array(fc.tuple(said, fc.option(more))), (blocks) => {
      const content = blocks.map(([block, added]) => ({ ...block, ...added }))
      const written = JSON.parse(encodeAnswer(served(), answer({ content }), null)).content
      const expected = content.map((block) => ({ citations: [], ...block }))
      return isDeepStrictEqual(
        written,
        expected.map(({ citations, ...rest }) => ({ ...rest, citations: citations ?? [] })),
      )
    }),
  )
  t.pass()
})
