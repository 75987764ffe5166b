/**
 * What stands between the system's sockets and the HTTP engine: answers in every framing arrive as they were sent,
 * however they are cut, whoever reads slowly and whenever the server ends.
 */
import { readFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { type Test, test } from 'tap'
import { seededRandom } from '../../src/base/random.js'
import type { UpstreamClient } from '../../src/upstream/port.js'
import { called, post, Recorded, testClient } from '../support/clients/upstream-calls.js'
import { TLS_FILES, testCertificate } from '../support/tls/tls-files.js'

type Framing = 'length' | 'chunks' | 'close'

/** Pieces of an answer in the order of their sending, one write each. */
interface Plan {
  readonly pieces: readonly Buffer[]
  readonly closes: boolean
}

/** Answers each request with the next plan; a piece goes out a turn after the one before. */
function answering(plans: readonly Plan[]) {
  let next = 0
  return (socket: Socket): void => {
    socket.on('error', () => {})
    let asked = ''
    socket.on('data', (chunk: Buffer) => {
      asked += chunk.toString('latin1')
      if (!asked.endsWith('{}')) return
      asked = ''
      const { pieces, closes } = plans[next++]!
      const send = (at: number): void => {
        if (at < pieces.length) {
          socket.write(pieces[at]!)
          setImmediate(send, at + 1)
        } else if (closes) socket.end()
      }
      send(0)
    })
  }
}

async function listening(t: Test, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as { port: number }).port
}

async function side(t: Test, secure: boolean, plans: readonly Plan[]) {
  const serve = answering(plans)
  const server = secure
    ? createTlsServer({ key: readFileSync(TLS_FILES.keyFile), cert: readFileSync(TLS_FILES.certFile) }, serve)
    : createServer(serve)
  const port = await listening(t, server)
  const client = secure ? testClient(t, { authorities: testCertificate() }) : testClient(t)
  return { client, origin: secure ? `https://localhost:${port}` : `http://127.0.0.1:${port}` }
}

function frame(framing: Framing, body: Buffer, random: () => number): Buffer {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nRetry-After: 7\r\n'
  switch (framing) {
    case 'length':
      return Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body])
    case 'close':
      return Buffer.concat([Buffer.from(`${head}Connection: close\r\n\r\n`), body])
    case 'chunks': {
      const parts = cut(body, random, 5).flatMap((part) =>
        part.length === 0 ? [] : [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')],
      )
      const head2 = Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`)
      return Buffer.concat([head2, ...parts, Buffer.from('0\r\nX-Trailer: 1\r\n\r\n')])
    }
  }
}

function cut(bytes: Buffer, random: () => number, most: number): Buffer[] {
  const places = Array.from({ length: Math.floor(random() * most) }, () =>
    Math.floor(random() * bytes.length),
  ).sort((a, b) => a - b)
  return [...places, bytes.length].map((end, at) => bytes.subarray(at === 0 ? 0 : places[at - 1], end))
}

/** Reads an answer, and asks for a pause behind the head and behind pieces as the dice say. */
async function ask(client: UpstreamClient, origin: string, random: () => number): Promise<Recorded> {
  const recorded = new Recorded()
  const perhapsPause = (): void => {
    if (random() < 0.5) return
    recorded.call.pause()
    let turns = Math.floor(random() * 6)
    const resume = (): void => {
      if (turns-- > 0) setImmediate(resume)
      else recorded.call.resume()
    }
    setImmediate(resume)
  }
  const { onHead, onData } = recorded
  recorded.onHead = (status, headers) => {
    onHead.call(recorded, status, headers)
    perhapsPause()
  }
  recorded.onData = (chunk) => {
    onData.call(recorded, chunk)
    perhapsPause()
  }
  const told = Object.assign(recorded, { onReadEnd: () => recorded.told.push('read') })
  called(client, post(origin), told)
  await recorded.end.opened
  return recorded
}

/**
 * Every piece is followed by the end of the read that has brought it, which is told once for all of its pieces; behind the
 * last ones the answer's end may stand for it.
 */
function areReadsEnded({ told }: Recorded): boolean {
  const order = told.filter((what) => what !== 'head').join(' ')
  return /^((data )+read )*(data )*ended$/.test(order)
}

for (const secure of [false, true]) {
  test(`answers arrive as they were sent, ${secure ? 'over TLS' : 'in the clear'}`, async (t) => {
    const random = seededRandom(secure ? 4 : 3)
    const cases = Array.from({ length: 150 }, (_, at) => {
      const framing = (['length', 'chunks', 'close'] as const)[at % 3]!
      const size = Math.floor(random() ** 4 * 300_000)
      const body = Buffer.alloc(size, `${at} abcdefghijklmnopqrstuvwxyz`)
      const pieces = cut(frame(framing, body, random), random, 6).filter((piece) => piece.length > 0)
      return { body, framing, plan: { pieces, closes: framing === 'close' } }
    })
    const { client, origin } = await side(
      t,
      secure,
      cases.map(({ plan }) => plan),
    )
    let reads = 0
    for (const { body, framing } of cases) {
      const recorded = await ask(client, origin, random)
      const end = await recorded.end.opened
      const got = Buffer.concat(recorded.pieces)
      if (!areReadsEnded(recorded)) t.fail('the end of a read is missing', { told: recorded.told })
      reads += recorded.told.filter((what) => what === 'read').length
      const isSame = end === 'ended' && got.equals(body) && recorded.headers['retry-after'] === '7'
      if (!isSame) t.fail(`${framing}: ${got.length} of ${body.length} bytes`, { end })
    }
    t.ok(reads > cases.length, `${reads} reads were told that were not the last ones`)
    t.equal(client.inFlight(), 0)
  })

  test(`a server that ends behind a paused answer is heard when it is read on, ${secure ? 'over TLS' : 'in the clear'}`, async (t) => {
    const head = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'
    const { client, origin } = await side(t, secure, [{ pieces: [Buffer.from(`${head}all`)], closes: true }])
    const recorded = new Recorded()
    const { onData } = recorded
    recorded.onData = (chunk) => {
      onData.call(recorded, chunk)
      recorded.call.pause()
    }
    called(client, post(origin), recorded)
    await recorded.firstPiece.opened
    for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve))
    t.same(recorded.told, ['head', 'data'])
    recorded.call.resume()
    t.equal(await recorded.end.opened, 'ended')
    t.equal(recorded.text(), 'all')
  })
}

test('a server that resets while its answer is held back and the request is still being sent has failed one call', async (t) => {
  const seen: Socket[] = []
  const server = createServer((socket) => {
    seen.push(socket)
    socket.on('error', () => {})
    // What has come is left lying: most of the request waits for room.
    socket.once('readable', () => socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbegin'))
  })
  const client = testClient(t)
  const origin = `http://127.0.0.1:${await listening(t, server)}`
  const recorded = new Recorded()
  const { onHead } = recorded
  recorded.onHead = (status, headers) => {
    onHead.call(recorded, status, headers)
    recorded.call.pause()
    setImmediate(() => seen[0]!.resetAndDestroy())
  }
  called(client, post(origin, { body: Buffer.alloc(32 * 1024 * 1024) }), recorded)
  t.match(await recorded.end.opened, { reason: 'reset' })
  t.same(recorded.told, ['head', 'failed'])
  t.equal(client.inFlight(), 0)
})

test('a request goes out whole, whatever its length', async (t) => {
  const got: number[] = []
  const server = createServer((socket) => {
    let bytes = 0
    let wanted = -1
    socket.on('data', (chunk: Buffer) => {
      if (wanted < 0) {
        const end = chunk.indexOf('\r\n\r\n') + 4
        wanted = end + Number(/content-length: (\d+)/.exec(chunk.toString('latin1', 0, end))![1])
      }
      bytes += chunk.length
      if (bytes !== wanted) return
      got.push(bytes)
      bytes = 0
      wanted = -1
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
  })
  const client = testClient(t)
  const origin = `http://127.0.0.1:${await listening(t, server)}`
  const lengths = [1, 1_000, 16 * 1024, 16 * 1024 + 1, 400_000]
  for (const length of lengths) {
    const recorded = called(client, post(origin, { body: Buffer.alloc(length, 'a') }))
    t.equal(await recorded.end.opened, 'ended')
  }
  t.equal(got.length, lengths.length)
})
