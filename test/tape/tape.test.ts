/** Pace tapes: what of a stream is kept, read, compared and replayed. */
import { createServer } from 'node:http'
import { connect } from 'node:net'
import fc from 'fast-check'
import { test } from 'tap'
import { compareTapes } from '../../src/tape/fit.js'
import { startRelay } from '../../src/tape/relay.js'
import { StreamRecord } from '../../src/tape/stream-record.js'
import { formatStream, LONGEST_LINE, readTape, STREAM_ENDS, type TapedStream } from '../../src/tape/tape.js'
import { mockUpstream } from '../support/providers/mock-upstream.js'
import { mockChunk, mockStream } from '../support/servers/chat-bench.js'
import { listen } from '../support/servers/listen.js'
import { eventually } from '../support/timing/eventually.js'

const CANARY = 'canary-of-the-tape-7f3a'
const frame = (...events: unknown[]): Buffer =>
  Buffer.from(
    events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join(''),
  )
const said = (content: string): object => mockChunk({ content })

const stream = (more: Partial<TapedStream> = {}): TapedStream => ({
  ...{ v: 1, at: 0, model: 'm', in: 1, out: 3, ttft: 100, gaps: [10, 20], tok: [1, 1, 1], end: 'stop' },
  ...more,
})

test('a chat stream: gaps in 100 µs, tokens that add up to those counted, reads that brought several', async (t) => {
  const record = new StreamRecord('acme/one', 12.34, 1000)
  record.read(frame(mockChunk({ role: 'assistant', content: '' })), 1005)
  record.read(frame(said('a')), 1010.04)
  record.read(frame(said('bb'), said('cccccccc')), 1020.06)
  record.read(frame(mockChunk({}, 'length')), 1021)
  record.read(
    frame(mockChunk({}, null, { usage: { prompt_tokens: 9, completion_tokens: 7 } }), '[DONE]'),
    1022,
  )
  t.same(record.finish('ended', 1022.5), {
    ...{ v: 1, at: 123, model: 'acme/one', in: 9, out: 7, ttft: 100 },
    ...{ gaps: [101, 0], tok: [1, 2, 4], reads: [1, 2], took: 225, end: 'length' },
  })
})

test('a messages stream', async (t) => {
  const record = new StreamRecord('acme/one', 0, 0)
  record.read(frame({ type: 'message_start', message: { usage: { input_tokens: 4, output_tokens: 1 } } }), 1)
  record.read(frame({ type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'hm' } }), 2)
  record.read(frame({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'hi' } }), 4)
  record.read(
    frame({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
    5,
  )
  record.read(frame({ type: 'message_stop' }), 6)
  t.match(record.finish('ended', 6), { in: 4, out: 2, ttft: 20, gaps: [20], tok: [1, 1], end: 'stop' })
})

const ENDS: readonly (readonly [end: string, events: readonly unknown[], why: 'ended' | 'left'])[] = [
  ['stop', [said('a'), mockChunk({}, 'stop'), '[DONE]'], 'ended'],
  ['tools', [said('a'), mockChunk({}, 'tool_calls'), '[DONE]'], 'ended'],
  ['filter', [said('a'), mockChunk({}, 'content_filter'), '[DONE]'], 'ended'],
  ['error', [said('a'), { error: { message: CANARY } }], 'ended'],
  ['cut', [said('a')], 'ended'],
  ['cut', [said('a'), mockChunk({}, 'stop')], 'ended'],
  ['left', [said('a')], 'left'],
]

for (const [end, events, why] of ENDS) {
  test(`a stream that ${why} after ${events.length} events ends with ${end}`, async (t) => {
    const record = new StreamRecord('m', 0, 0)
    record.read(frame(...events), 1)
    t.equal(record.finish(why, 1).end, end)
  })
}

test('whatever a provider sends, the record is a line that can be read, and holds none of it', async (t) => {
  const word = fc.string().map((more) => CANARY + more)
  const event = fc.oneof(
    word.map((content) => ({ choices: [{ delta: { content } }] })),
    word.map((text) => ({ type: 'content_block_delta', delta: { text } })),
    word.map((name) => ({ choices: [{ delta: { tool_calls: [{ function: { name } }] } }] })),
    word.map((message) => ({ error: { message } })),
    word.map((finish_reason) => ({ choices: [{ delta: {}, finish_reason }] })),
    word.map((completion_tokens) => ({ usage: { completion_tokens } })),
    fc.jsonValue(),
    word,
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(event, fc.nat(50))), fc.boolean(), (events, leaves) => {
      const record = new StreamRecord('m', 0, 0)
      let now = 0
      for (const [each, gap] of events) record.read(frame(each), (now += gap))
      const line = formatStream(record.finish(leaves ? 'left' : 'ended', now))
      return !line.includes(CANARY) && readTape(line).length === 1
    }),
  )
  t.end()
})

const DEFECTS: readonly (readonly [why: string, line: string])[] = [
  ['no JSON', '{'],
  ['another version', JSON.stringify({ ...stream(), v: 2 })],
  ['a member that no tape has', JSON.stringify({ ...stream(), text: 'hi' })],
  ['gaps that do not fit', JSON.stringify({ ...stream(), gaps: [1] })],
  ['a time below zero', JSON.stringify({ ...stream(), ttft: -1 })],
  ['a time that is no whole number', JSON.stringify({ ...stream(), gaps: [1, 2.5] })],
  ['a member less', JSON.stringify({ ...stream(), in: undefined })],
  ['a status that is none', JSON.stringify({ ...stream(), status: 99 })],
  ['a name in the place of times', JSON.stringify({ ...stream(), gaps: 'gaps' })],
  ['a list in the place of a stream', '[]'],
  ['nothing in the place of a stream', 'null'],
  ['a line that is too long', `{"v":1,"x":"${'x'.repeat(LONGEST_LINE)}"}`],
]

for (const [why, line] of DEFECTS) {
  test(`a tape with ${why} is refused, with the line`, async (t) => {
    const read = () => readTape(`${formatStream(stream())}${line}\n`)
    t.throws(read, { message: /^line 2: / })
  })
}

test('a tape is read as it was written', async (t) => {
  const streams = STREAM_ENDS.map((end) => stream({ end, model: end, took: 140, status: 999 }))
  t.same(readTape(streams.map(formatStream).join('')), streams)
})

test('two tapes are compared by what their providers did, not by what their readers did', async (t) => {
  const one = [stream(), stream({ held: true, gaps: [9_000, 9_000] })]
  const fits = compareTapes(one, [stream({ gaps: [10, 40] })])
  t.match(fits, [
    { kind: 'first token', counts: [1, 1], p50: [10, 10], distance: 0 },
    { kind: 'gap', counts: [2, 2], p50: [1, 1], p99: [2, 4], distance: 0.5 },
  ])
  t.same(compareTapes(one, []), [])
})

const ask = (url: string, signal: AbortSignal | null = null) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: 'Bearer sk-secret', 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', stream: true, messages: [{ role: 'user', content: CANARY }] }),
    signal,
  })

test('the relay hands everything through and keeps how it came', async (t) => {
  const upstream = await mockUpstream(t, (peer) => peer.stream(mockStream('one ', CANARY)))
  const streams: TapedStream[] = []
  const relay = await startRelay({
    ...{ upstream: new URL(upstream.origin), host: '127.0.0.1', port: 0 },
    onStream: (each) => streams.push(each),
  })
  t.teardown(() => relay.close())
  const response = await ask(relay.url)
  t.match(await response.text(), CANARY)
  t.equal(upstream.requests[0]!.path, '/v1/chat/completions')
  t.equal(upstream.requests[0]!.headers.authorization, 'Bearer sk-secret')
  await eventually(async () => streams.length === 1)
  t.match(streams, [{ model: 'acme/one', in: 10, out: 5, end: 'stop' }])
  t.equal(streams[0]!.tok.length, 2)
  upstream.script = (peer) => peer.json({ error: { message: CANARY } }, 429)
  t.equal((await ask(relay.url)).status, 429)
  await eventually(async () => streams.length === 2)
  t.match(streams[1], { end: 'refused', status: 429, tok: [] })
  upstream.script = (peer) => {
    peer.streamHead()
    peer.event(said('hm'))
  }
  const leaving = new AbortController()
  const third = await ask(relay.url, leaving.signal)
  await third.body!.getReader().read()
  leaving.abort()
  await eventually(async () => streams.length === 3)
  t.equal(streams[2]!.end, 'left')
  await upstream.peers.at(-1)!.closed()
  const tape = streams.map(formatStream).join('')
  for (const secret of [CANARY, 'sk-secret']) t.notOk(tape.includes(secret))
})

test('a stream whose reader does not keep up is marked', async (t) => {
  const piece = frame(said('x'.repeat(64 * 1024)))
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    for (let at = 0; at < 400; at++) response.write(piece)
    response.end('data: [DONE]\n\n')
  })
  const port = await listen(t, server)
  let now = 0
  const streams: TapedStream[] = []
  const relay = await startRelay({
    ...{ upstream: new URL(`http://127.0.0.1:${port}`), host: '127.0.0.1', port: 0 },
    // Each look at the clock is long after the one before: however fast the reader is, it is slow.
    now: () => (now += 100),
    onStream: (each) => streams.push(each),
  })
  t.teardown(() => relay.close())
  await (await ask(relay.url)).text()
  await eventually(async () => streams.length === 1)
  t.equal(streams[0]!.held, true)
})

/** What comes back for bytes that no HTTP library would send. */
async function rawAnswer(url: string, head: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(head)
  let answer = ''
  for await (const bytes of socket) answer += String(bytes)
  return answer
}

test('an odd request line is refused, a whole address is taken by its path, and the relay goes on', async (t) => {
  const upstream = await mockUpstream(t, (peer) => peer.json({}))
  const relay = await startRelay({
    ...{ upstream: new URL(upstream.origin), host: '127.0.0.1', port: 0 },
    onStream: () => {},
  })
  t.teardown(() => relay.close())
  const rest = ' HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n'
  for (const line of ['OPTIONS *', 'GET ftp://elsewhere/', 'GET http://[/'])
    t.match(await rawAnswer(relay.url, line + rest), /^HTTP\/1\.1 400 /, line)
  t.match(await rawAnswer(relay.url, `GET http://elsewhere.example/v1/models?a=b${rest}`), /^HTTP\/1\.1 200 /)
  t.same(
    upstream.requests.map(({ path }) => path),
    ['/v1/models?a=b'],
  )
})

for (const [status, told] of [
  [42, 502],
  [999, 999],
] as const) {
  test(`a provider that answers ${status} does not end the relay, and its line can be read`, async (t) => {
    const upstream = await mockUpstream(t, (peer) =>
      peer.write(`HTTP/1.1 ${String(status).padStart(3, '0')} Odd\r\nContent-Length: 0\r\n\r\n`),
    )
    const streams: TapedStream[] = []
    const relay = await startRelay({
      ...{ upstream: new URL(upstream.origin), host: '127.0.0.1', port: 0 },
      onStream: (each) => streams.push(each),
    })
    t.teardown(() => relay.close())
    const body = JSON.stringify({ model: 'm', stream: true })
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: relay\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    t.match(await rawAnswer(relay.url, head), new RegExp(`^HTTP/1\\.1 ${told} `))
    await eventually(async () => streams.length === 1)
    t.match(readTape(formatStream(streams[0]!)), [{ end: 'refused' }])
  })
}
