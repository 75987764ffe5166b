import fc from 'fast-check'
import { test } from 'tap'
import type { ContentBlock, MessagesAnswer } from '../../../../src/gateway/formats/messages.js'
import {
  assembledMessage,
  messagesCall,
  StreamedMessages,
  streamedMessages,
  textBlock,
  wholeMessage,
  wireBlocks,
} from '../../../support/clients/messages-face-calls.js'
import {
  anthropicBench,
  breakingOff,
  frame,
  sendEvents,
  speaking,
  type WireAnswer,
  type WireEvent,
  wireEvents,
  wireMessage,
} from '../../../support/providers/mock-anthropic.js'
import type { Script } from '../../../support/providers/mock-upstream.js'
import { usage } from '../../../support/providers/scripted-provider.js'
import { eventually } from '../../../support/timing/eventually.js'

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

const TEXT = frame(wireEvents({ content: [textBlock('é😀€')] }, 1)[0]!)
const ALL = wireEvents({ content: [textBlock('é😀€')] }, 1)
  .map(frame)
  .join('')

const FRAMINGS: Readonly<Record<string, string>> = {
  LF: ALL,
  CRLF: ALL.replaceAll('\n', '\r\n'),
  CR: ALL.replaceAll('\n', '\r'),
  'comments, ids and retries': ALL.replaceAll('event: ', ': PROCESSING\n\nid: 1\nretry: 5\nevent: '),
  'no names': ALL.replaceAll(/event: .*\n/g, ''),
  'data over several lines': ALL.replaceAll('"index":', '\ndata: "index":'),
  'the word of another format at the end': `${ALL}data: [DONE]\n\n`,
  'a terminator without its blank line': ALL.trimEnd(),
  'something after the terminator': `${ALL}data: {"CANARY"\n\n`,
  'kinds that nobody knows': ALL.replace(TEXT, `${TEXT}event: brand_new\ndata: {"type":"brand_new"}\n\n`),
}

test('however it is framed and wherever its bytes are cut, a stream reads the same', async (t) => {
  let text = ''
  let sizes: number[] = []
  const { provider } = await anthropicBench(t, (peer) => {
    peer.streamHead()
    const bytes = Buffer.from(text)
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = sizes[i % sizes.length]!
      peer.chunk(bytes.subarray(at, at + size))
      at += size
    }
    peer.endChunks()
  })
  const property = fc.asyncProperty(
    fc.constantFrom(...Object.values(FRAMINGS)),
    fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }),
    async (one, cuts) => {
      text = one
      sizes = cuts
      const streamed = streamedMessages(provider.messages)
      t.equal(await streamed.end.opened, 'ended')
      t.strictSame(assembledMessage(streamed.events).content, [textBlock('é😀€')])
      t.ok(
        wireBlocks(streamed.events).every((data) => !/[\r\n]/.test(data)),
        'one line each',
      )
    },
  )
  await fc.assert(property, { numRuns: 120 })
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

test('the first event comes before the last is made, and each turn is followed by a flush', async (t) => {
  const events = wireEvents({ content: [textBlock('abcdefgh')] })
  const { mock, provider } = await anthropicBench(t, breakingOff(events.slice(0, 4)))
  const streamed = streamedMessages(provider.messages)
  await streamed.first.opened
  await eventually(() => streamed.told.length === 3 && streamed.flushes > 0)
  t.same(streamed.told, ['start', 'block', 'block'])
  for (const event of events.slice(4)) mock.peers[0]!.chunk(frame(event))
  t.equal(await streamed.end.opened, 'ended')
})

test('the connection of a finished stream serves again', async (t) => {
  const { mock, client, provider } = await anthropicBench(t, speaking({ content: [textBlock('a')] }))
  for (let i = 0; i < 3; i++) t.equal(await streamedMessages(provider.messages).end.opened, 'ended')
  await eventually(() => client.inFlight() === 0)
  t.equal(mock.peers.length, 1)
})

const STANDINGS: Readonly<Record<string, Script>> = {
  'before the head': () => {},
  'before the first event': (peer) => peer.streamHead(),
  'before the first content': breakingOff(wireEvents({ content: [] }).slice(0, 1)),
  'in the middle': breakingOff(wireEvents({ content: [textBlock('abcdefgh')] }).slice(0, 4)),
}

for (const [name, script] of Object.entries(STANDINGS)) {
  test(`a stream cancelled ${name} closes its socket and tells nothing more`, async (t) => {
    const { mock, client, provider } = await anthropicBench(t, script)
    const streamed = streamedMessages(provider.messages)
    await eventually(() => mock.requests.length === 1)
    if (name.startsWith('in')) await eventually(() => streamed.told.length === 3)
    streamed.flow.cancel()
    const told = streamed.told.length
    await mock.peers[0]!.closed()
    await eventually(() => client.sockets() === 0 && client.inFlight() === 0)
    t.equal(streamed.told.length, told)
  })
}

test('a whole answer cancelled in the middle closes its socket', async (t) => {
  const { mock, client, provider } = await anthropicBench(t, (peer) => {
    peer.head(200, { 'content-type': 'application/json', 'content-length': '1000' })
    peer.write('{"type":"mess')
  })
  const receiver = { onEnd: () => t.fail('an end'), onFailure: () => t.fail('a failure') }
  const flow = provider.messages.complete(messagesCall(), receiver)
  await eventually(() => mock.requests.length === 1)
  flow.cancel()
  await mock.peers[0]!.closed()
  await eventually(() => client.sockets() === 0 && client.inFlight() === 0)
})

test('cancelling inside an event ends the telling there', async (t) => {
  const { mock, provider } = await anthropicBench(t, speaking({ content: [textBlock('abcdefgh')] }))
  const receiver = new (class extends StreamedMessages {
    override onEvent(event: Parameters<StreamedMessages['onEvent']>[0]): void {
      super.onEvent(event)
      if (this.told.length === 3) this.flow.cancel()
    }
  })()
  streamedMessages(provider.messages, messagesCall(), receiver)
  await receiver.first.opened
  await mock.peers[0]!.closed()
  t.same(receiver.told, ['start', 'block', 'block'])
})

test('a paused stream stops the server, and loses nothing', async (t) => {
  const EVENTS = 6_000
  const filler = 'x'.repeat(4_000)
  let written = 0
  const { provider } = await anthropicBench(t, (peer) => {
    const events = wireEvents({ content: [textBlock('')] })
    peer.streamHead()
    peer.chunk(events.slice(0, 3).map(frame).join(''))
    const more = (): void => {
      while (written < EVENTS) {
        const text = `${written++} ${filler}`
        const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }
        if (!peer.chunk(frame(delta))) {
          peer.socket.once('drain', more)
          return
        }
      }
      peer.chunk(events.slice(3).map(frame).join(''))
      peer.endChunks()
    }
    more()
  })
  const streamed = streamedMessages(provider.messages)
  await streamed.first.opened
  streamed.flow.pause()
  let seen = -1
  await eventually(async () => {
    const stood = seen === written
    seen = written
    await new Promise((resolve) => setTimeout(resolve, 100))
    return stood && seen === written
  })
  t.ok(written < EVENTS, `the server stands at event ${written}`)
  streamed.flow.resume()
  t.equal(await streamed.end.opened, 'ended')
  const [{ text }] = assembledMessage(streamed.events).content as [ContentBlock]
  t.same(
    String(text)
      .match(/\d+(?= )/g)
      ?.map(Number),
    Array.from({ length: EVENTS }, (_, i) => i),
  )
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
