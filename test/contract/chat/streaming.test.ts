/** Streams over a provider that misbehaves on command (contract/gateway 4, 12.5). */
import tap, { type Test, test } from 'tap'
import { ChatCompletionChunk } from '../../../src/features/chat/response-schema.js'
import { connectRaw, type RawConnection, request } from '../../support/clients/raw-http.js'
import type { Peer, Script } from '../../support/providers/mock-upstream.js'
import { type ChatBench, chatBench, mockChunk, mockStream } from '../../support/servers/chat-bench.js'
import { API_KEY, eventsOf } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'
import { type Gate, gate } from '../../support/timing/gate.js'
import { quickest } from '../../support/timing/quickest.js'

const STREAM = { model: 'acme/mock', messages: [{ role: 'user', content: 'hello' }], stream: true }

/** One server for all: a test says what its provider does, and looks at the newest socket. */
const shared = await chatBench(tap)

/** The connection of the last call. */
let asked: Peer | null = null

function benchWith(script: Script): ChatBench {
  asked = null
  shared.upstream.script = (peer, request) => {
    asked = peer
    script(peer, request)
  }
  return shared
}

/** Sends a call, of a stream where nothing else is said, and keeps the connection. */
async function opened(t: Test, { server }: ChatBench, body: object = STREAM): Promise<RawConnection> {
  const connection = await connectRaw(server.port)
  t.teardown(() => connection.destroy())
  await connection.send(
    request({
      method: 'POST',
      target: '/api/v1/chat/completions',
      headers: [['Authorization', `Bearer ${API_KEY}`]],
      body: JSON.stringify(body),
    }),
  )
  return connection
}

async function nextText(connection: RawConnection): Promise<string> {
  return (await connection.chunk())?.toString() ?? ''
}

/** Everything up to the end of the body. */
async function restOf(connection: RawConnection): Promise<string> {
  const chunks: Buffer[] = []
  for (let next = await connection.chunk(); next !== null; next = await connection.chunk()) chunks.push(next)
  return Buffer.concat(chunks).toString()
}

/** The worker's own count of calls and sockets to providers. */
async function gauge({ server }: ChatBench, name: string): Promise<number> {
  const text = await (await fetch(`${server.baseUrl}/metrics`)).text()
  return Number(new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1])
}

test('a stream is what the contract says, chunk by chunk', async (t) => {
  const bench = benchWith((peer) => peer.stream(mockStream('Hel', 'lo')))
  const asked = await bench.ask({ stream: true })
  t.equal(asked.status, 200)
  t.equal(asked.headers.get('content-type'), 'text/event-stream')
  t.match(asked.headers.get('x-generation-id'), /^gen-/)
  t.match(asked.headers.get('x-request-id'), /^req-/)
  const events = asked.events()
  t.equal(events.at(-1), '[DONE]')
  const chunks = events.slice(0, -1)
  for (const chunk of chunks) t.ok(ChatCompletionChunk.safeParse(chunk).success, JSON.stringify(chunk))
  t.equal(new Set(chunks.map(({ id }) => id)).size, 1)
  t.equal(chunks[0].id, asked.headers.get('x-generation-id'))
  t.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), 'Hello')
  t.match(chunks.at(-1), { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, cost: 0.00002 } })
})

test('the first event arrives before the last is made', async (t) => {
  const more: Gate<void> = gate()
  const bench = benchWith((peer) => {
    peer.streamHead()
    peer.event(mockChunk({ content: 'first' }))
    void more.opened.then(() => {
      for (const event of mockStream('last')) peer.event(event)
      peer.event('[DONE]')
      peer.endChunks()
    })
  })
  const connection = await opened(t, bench)
  await connection.readHead()
  t.match(await nextText(connection), /first/)
  more.open()
  t.match(await restOf(connection), /last/)
})

/** Begins a stream, says half of it, and then does this. */
const half =
  (then: (peer: Peer) => void = () => {}) =>
  (peer: Peer): void => {
    peer.streamHead()
    peer.event(mockChunk({ content: 'half' }))
    then(peer)
  }

const BROKEN: readonly (readonly [string, (peer: Peer) => void])[] = [
  ['ends without its terminator', (peer) => peer.stream(mockStream('half'), false)],
  ['is cut', half((peer) => peer.cut())],
  ['is reset', half((peer) => setImmediate(() => setImmediate(() => peer.reset())))],
  ['sends what is no JSON', half((peer) => peer.event('{"broken'))],
  ['sends an error', half((peer) => peer.event({ error: { code: 500, message: 'no' } }))],
]

for (const [what, script] of BROKEN) {
  test(`a provider’s stream that ${what} ends with an error chunk and the terminator`, async (t) => {
    const bench = benchWith(script)
    const events = (await bench.ask({ stream: true })).events()
    t.equal(events.at(-1), '[DONE]')
    const last = events.at(-2)
    t.ok(ChatCompletionChunk.safeParse(last).success)
    t.match(last, {
      error: { code: 502, metadata: { error_type: String } },
      choices: [{ finish_reason: 'error' }],
    })
    t.notOk(
      events.some((event) => event.usage !== undefined),
      'and says no usage, which would look like success',
    )
    await eventually(async () => (await gauge(bench, 'sluice_upstream_calls')) === 0)
  })
}

test('a provider that fails before its first event is told with a status of its own', async (t) => {
  const bench = benchWith((peer) =>
    peer.json({ error: { message: 'slow down' } }, 429, { 'retry-after': '7' }),
  )
  const asked = await bench.ask({ stream: true })
  t.equal(asked.status, 429)
  t.equal(asked.headers.get('retry-after'), '7')
  t.match(asked.headers.get('content-type'), /^application\/json/)
  t.match(asked.json(), { error: { code: 429, metadata: { error_type: 'rate_limit_exceeded' } } })
})

test('comments and line ends of the provider do not reach the caller', async (t) => {
  const bench = benchWith((peer) => {
    peer.streamHead()
    peer.chunk(': PROVIDER PROCESSING\r\n\r\n')
    for (const event of mockStream('ok')) peer.chunk(`event: x\r\ndata: ${JSON.stringify(event)}\r\n\r\n`)
    peer.chunk('data: [DONE]\r\n\r\n')
    peer.endChunks()
  })
  const asked = await bench.ask({ stream: true })
  t.notMatch(asked.text, /PROVIDER|event:|\r/)
  t.equal(asked.events().at(-1), '[DONE]')
})

test('data behind the terminator is nobody’s', async (t) => {
  const bench = benchWith((peer) => {
    peer.stream([...mockStream('ok'), '[DONE]', mockChunk({ content: 'late' })], false)
  })
  t.notMatch((await bench.ask({ stream: true })).text, /late/)
})

const PHASES: readonly (readonly [string, (peer: Peer) => void, boolean])[] = [
  ['before the head', () => {}, false],
  ['between the head and the first event', (peer) => peer.streamHead(), false],
  ['in the middle', half(), true],
]

for (const [phase, script, begun] of PHASES) {
  test(`a caller who leaves ${phase} ends the provider’s call at once`, async (t) => {
    const seenAfter = async (): Promise<number> => {
      const bench = benchWith(script)
      const connection = await opened(t, bench)
      const peer = await eventually(() => asked)
      if (begun) await connection.readHead()
      const leftAt = performance.now()
      connection.destroy()
      await peer.closed()
      const seen = performance.now() - leftAt
      await eventually(async () => (await gauge(bench, 'sluice_upstream_calls')) === 0)
      return seen
    }
    t.ok((await quickest(seenAfter, 1_000)) < 1_000, 'the provider sees it within a second')
  })

  test(`a caller of a whole answer who leaves ${phase} ends the provider’s call at once`, async (t) => {
    const bench = benchWith(script)
    const { stream: _, ...whole } = STREAM
    const connection = await opened(t, bench, whole)
    const peer = await eventually(() => asked)
    connection.destroy()
    await peer.closed()
    await eventually(async () => (await gauge(bench, 'sluice_upstream_calls')) === 0)
    t.pass('and nothing is left behind')
  })
}

test('a reader who stops makes the provider wait, and gets everything in the end', async (t) => {
  const pieces = Array.from({ length: 4000 }, (_, i) => `${i}:${'x'.repeat(4000)};`)
  let sent = 0
  const bench = benchWith((peer) => {
    peer.streamHead()
    const go = (): void => {
      while (sent < pieces.length) if (!peer.event(mockChunk({ content: pieces[sent++]! }))) return
      peer.socket.off('drain', go)
      peer.event(mockChunk({}, 'stop'))
      peer.event('[DONE]')
      peer.endChunks()
    }
    peer.socket.on('drain', go)
    go()
  })
  const connection = await opened(t, bench)
  await connection.readHead()
  connection.pause()
  let stuck = -1
  await eventually(() => {
    const same = sent === stuck && sent > 0
    stuck = sent
    return new Promise<boolean>((resolve) => setTimeout(() => resolve(same), 200))
  })
  t.ok(sent < pieces.length, `the provider has stopped after ${sent} of ${pieces.length}`)
  connection.resume()
  const events = eventsOf(await restOf(connection))
  t.equal(events.map((event) => event.choices?.[0]?.delta.content ?? '').join(''), pieces.join(''))
  t.equal(events.at(-1), '[DONE]')
})

test('the debug echo is the first chunk, with what the provider was really sent', async (t) => {
  const bench = benchWith((peer) => peer.stream(mockStream('x')))
  const asked = await bench.ask({ stream: true, debug: { echo_upstream_body: true }, user: 'alice' })
  const [first] = asked.events()
  t.same(first.choices, [])
  t.same(first.debug.echo_upstream_body, JSON.parse(bench.upstream.requests.at(-1)!.body))
  t.not(first.debug.echo_upstream_body.user, 'alice')
})

test('a silence is broken by a comment, and a failure after it is told in the stream', {
  timeout: 60_000,
}, async (t) => {
  const speak: Gate<void> = gate()
  const bench = benchWith((peer) => {
    void speak.opened.then(() => peer.json({ error: { message: 'no' } }, 500))
  })
  const connection = await opened(t, bench)
  const head = await connection.readHead({ deadlineMs: 30_000 })
  t.equal(head.status, 200)
  t.equal(await nextText(connection), ': SERVICE PROCESSING\n\n')
  speak.open()
  const events = eventsOf(await restOf(connection))
  t.match(events.at(-2), { error: { code: 502 } })
  t.equal(events.at(-1), '[DONE]')
})
