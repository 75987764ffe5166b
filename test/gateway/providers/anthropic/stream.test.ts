import { test } from 'tap'
import type { MessagesAnswer } from '../../../../src/gateway/formats/messages.js'
import {
  assembledMessage,
  messagesCall,
  streamedMessages,
  textBlock,
  wholeMessage,
  wireBlocks,
} from '../../../support/clients/messages-face-calls.js'
import {
  anthropicBench,
  frame,
  sendEvents,
  speaking,
  type WireAnswer,
  type WireEvent,
  wireEvents,
  wireMessage,
} from '../../../support/providers/mock-anthropic.js'
import { usage } from '../../../support/providers/scripted-provider.js'

const CITATION = {
  type: 'char_location',
  cited_text: 'x',
  document_index: 0,
  start_char_index: 0,
  end_char_index: 1,
}

const ANSWERS: Readonly<Record<string, WireAnswer>> = {
  'a text': { content: [textBlock('Hello, wörld 😀')] },
  'a text without a list of citations': { content: [{ type: 'text', text: 'bare' }] },
  nothing: { content: [] },
  'a tool call': {
    content: [textBlock('Let me see.'), { type: 'tool_use', id: 't1', name: 'f', input: { a: [1, 'ü'] } }],
    stop_reason: 'tool_use',
  },
  'parallel tool calls, one without arguments': {
    content: [
      { type: 'tool_use', id: 't1', name: 'f', input: {} },
      { type: 'tool_use', id: 't2', name: 'g', input: { b: 2 } },
    ],
    stop_reason: 'tool_use',
  },
  'signed thinking': {
    content: [{ type: 'thinking', thinking: 'hm', signature: 'c2lnbmF0dXJl' }, textBlock('so')],
  },
  'redacted thinking': { content: [{ type: 'redacted_thinking', data: 'ZGF0YQ==' }, textBlock('so')] },
  citations: { content: [{ type: 'text', text: 'cited', citations: [CITATION] }] },
  'a kind of block that nobody knows': { content: [{ type: 'brand_new', payload: { deep: [1] } }] },
  'a refusal': {
    content: [textBlock('I')],
    stop_reason: 'refusal',
    stop_details: { type: 'refusal', category: 'cyber', explanation: 'no' },
  },
  'a stop sequence': { content: [textBlock('a')], stop_reason: 'stop_sequence', stop_sequence: 'END' },
  'cached tokens': {
    content: [textBlock('a')],
    usage: { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 30, cache_creation_input_tokens: 4 },
  },
}

for (const [name, answer] of Object.entries(ANSWERS)) {
  test(`${name}: streamed and whole add up to the same`, async (t) => {
    const { provider } = await anthropicBench(t, speaking(answer))
    const whole = (await wholeMessage(provider.messages)) as MessagesAnswer
    const streamed = streamedMessages(provider.messages)
    t.equal(await streamed.end.opened, 'ended')
    t.strictSame(assembledMessage(streamed.events), whole)
    t.strictSame(whole.content, answer.content)
    t.equal(whole.stop.stop_reason, answer.stop_reason ?? 'end_turn')
    t.equal(streamed.told[0], 'start')
    t.same(streamed.told.slice(-3), ['stop', 'usage', 'ended'])
  })
}

test('block events go on as the text that came', async (t) => {
  const odd = [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    '{"index" : 0,\t"type":"content_block_delta", "delta": {"type":"text_delta","text":"\\u00e9 \\/"} , "odd":1e2}',
    { type: 'content_block_stop', index: 0, odd: null },
  ]
  const texts = odd.map((event) => (typeof event === 'string' ? event : JSON.stringify(event)))
  const [start, , delta, stop] = [
    wireEvents({ content: [] })[0]!,
    null,
    ...wireEvents({ content: [] }).slice(-2),
  ]
  const { provider } = await anthropicBench(t, (peer) => {
    peer.streamHead()
    peer.chunk(frame(start as WireEvent))
    for (const text of texts) peer.chunk(`event: whatever\ndata: ${text}\n\n`)
    peer.chunk(frame(delta as WireEvent) + frame(stop as WireEvent))
    peer.endChunks()
  })
  const streamed = streamedMessages(provider.messages)
  t.equal(await streamed.end.opened, 'ended')
  t.same(wireBlocks(streamed.events), texts)
})

test('what the begin says of the input comes first, the final figures last, by our rule and in their words', async (t) => {
  const figures = { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 30, service_tier: 'priority' }
  const { provider } = await anthropicBench(t, speaking({ content: [textBlock('a')], usage: figures }))
  const streamed = streamedMessages(provider.messages)
  await streamed.end.opened
  t.strictSame(streamed.events[0], { type: 'start', usage: { ...figures, output_tokens: 1 } })
  t.strictSame(streamed.events.at(-1), { type: 'usage', usage: usage(31, 2, { cached: 30 }), wire: figures })
})

test('a server that answers with a document although a stream was asked for is read all the same', async (t) => {
  for (const answer of Object.values(ANSWERS)) {
    const { provider } = await anthropicBench(t, (peer) => peer.json(wireMessage(answer)))
    const whole = (await wholeMessage(provider.messages)) as MessagesAnswer
    const streamed = streamedMessages(provider.messages)
    t.equal(await streamed.end.opened, 'ended')
    t.strictSame(assembledMessage(streamed.events), whole)
  }
})

test('the reply to a cancelled stream is not mixed up with the next one', async (t) => {
  const { provider } = await anthropicBench(t, (peer, { body }) => {
    const { messages } = JSON.parse(body) as { messages: [{ content: string }] }
    sendEvents(peer, wireEvents({ content: [textBlock(messages[0].content)] }))
  })
  const calls = Array.from({ length: 20 }, (_, i) => String(i).repeat(30))
  const streams = calls.map((content) =>
    streamedMessages(provider.messages, messagesCall({ messages: [{ role: 'user', content }] })),
  )
  streams.forEach((one, i) => i % 3 === 0 && one.flow.cancel())
  for (const [i, one] of streams.entries()) {
    if (i % 3 === 0) continue
    t.equal(await one.end.opened, 'ended')
    t.same(assembledMessage(one.events).content, [textBlock(calls[i]!)])
  }
})
