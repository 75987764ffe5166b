/** Answers in a content coding, which come although none was asked for (contract/decisions 43). */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { test } from 'tap'
import { completed, openAiBench, type Streamed, streamed } from '../../../support/clients/openai-calls.js'
import type { Peer } from '../../../support/providers/mock-upstream.js'
import { mockChunk, mockCompletion } from '../../../support/servers/chat-bench.js'

const CODINGS = [
  ['gzip', 'gzip', gzipSync],
  ['gzip by its old name', 'x-gzip', gzipSync],
  ['gzip in capitals', 'GZIP', gzipSync],
  ['deflate', 'deflate', deflateSync],
  ['deflate without its wrapper', 'deflate', deflateRawSync],
  ['br', 'br', brotliCompressSync],
] as const

const DOCUMENT = JSON.stringify(mockCompletion('é served'))
const EVENTS = ['é', ' served']
  .map((content) => `data: ${JSON.stringify(mockChunk({ content }))}\n\n`)
  .concat('data: [DONE]\n\n')
  .join('')

/** What the deltas of a stream said. */
function contentsOf({ events }: Streamed): (string | undefined)[] {
  return events.flatMap((event) => (event.type === 'delta' ? [event.delta.content] : []))
}

/** A body in pieces of so many bytes, with the end of its coding after a turn. */
function drip(peer: Peer, type: string, coding: string, bytes: Uint8Array, size = 7): void {
  peer.head(200, { 'content-type': type, 'content-encoding': coding, 'transfer-encoding': 'chunked' })
  const next = (at: number): void => {
    if (at >= bytes.length) peer.endChunks()
    else {
      peer.chunk(bytes.subarray(at, at + size))
      setImmediate(next, at + size)
    }
  }
  next(0)
}

for (const [name, coding, encode] of CODINGS) {
  test(`a whole answer in ${name} is read as if it were plain`, async (t) => {
    const script = (peer: Peer): void => peer.answer(200, encode(DOCUMENT), { 'content-encoding': coding })
    const { provider, mock } = await openAiBench(t, script)
    for (let calls = 0; calls < 2; calls++) {
      t.match(await completed(provider).end.opened, { choices: [{ message: { content: 'é served' } }] })
    }
    t.equal(mock.peers.length, 1, 'and the connection serves again')
  })

  test(`a stream in ${name} is read as it comes, in pieces of any size`, async (t) => {
    for (const size of [1, 7, 1_000]) {
      const { provider } = await openAiBench(t, (peer) =>
        drip(peer, 'text/event-stream', coding, encode(EVENTS), size),
      )
      const heard = streamed(provider)
      t.equal(await heard.end.opened, 'ended')
      t.same(contentsOf(heard), ['é', ' served'])
    }
  })

  test(`a refusal in ${name} tells its reason`, async (t) => {
    const body = encode(JSON.stringify({ error: { message: 'too hot', code: 'hot' } }))
    const { provider } = await openAiBench(t, (peer) =>
      peer.answer(400, body, { 'content-encoding': coding }),
    )
    t.match(await completed(provider).end.opened, { status: 400, fault: { metadata: { raw: 'too hot' } } })
  })

  test(`half of an answer in ${name} is a failure`, async (t) => {
    const half = encode(DOCUMENT).subarray(0, 60)
    const { provider } = await openAiBench(t, (peer) =>
      peer.answer(200, half, { 'content-encoding': coding }),
    )
    t.match(await completed(provider).end.opened, { status: 200, class: 'maybe-processed' })
  })
}

const UNREADABLE = [
  ['bytes that are not in their coding', 'gzip', DOCUMENT],
  ['a coding that nobody knows', 'zstd', DOCUMENT],
  ['two codings', 'gzip, br', gzipSync(DOCUMENT)],
  ['a name of every object', 'constructor', DOCUMENT],
] as const

for (const [what, coding, body] of UNREADABLE) {
  test(`${what}: a failure, for streams too, that may be rescued`, async (t) => {
    const { provider } = await openAiBench(t, (peer) =>
      peer.answer(200, body, { 'content-encoding': coding }),
    )
    const failed = { status: 200, class: 'maybe-processed', fault: { kind: 'provider-failed' } }
    t.match(await completed(provider).end.opened, failed)
    t.match(await streamed(provider).end.opened, failed)
  })
}

test('a body that says it is coded and is empty is as empty as a plain one', async (t) => {
  const { provider } = await openAiBench(t, (peer) => peer.answer(500, '', { 'content-encoding': 'gzip' }))
  t.match(await completed(provider).end.opened, { status: 500, fault: { kind: 'provider-failed' } })
})

const BOMBS = [
  ['gzip', gzipSync(Buffer.alloc(80 * 1024 * 1024, ' '))],
  ['br', brotliCompressSync(Buffer.alloc(8 * 1024 * 1024, ' '))],
] as const

for (const [coding, bytes] of BOMBS) {
  test(`a bomb in ${coding} is left off early`, async (t) => {
    const { provider, client } = await openAiBench(t, (peer) =>
      peer.answer(200, bytes, { 'content-encoding': coding }),
    )
    const failure = await completed(provider).end.opened
    t.match(failure, { fault: { detail: /a coded body that grows a hundredfold/ } })
    t.equal(client.inFlight(), 0)
  })
}

test('a caller that leaves a coded stream ends the call, and hears nothing more', async (t) => {
  const { provider, client } = await openAiBench(t, (peer) =>
    drip(peer, 'text/event-stream', 'gzip', gzipSync(EVENTS), 1),
  )
  const heard = streamed(provider)
  await heard.first.opened
  heard.flow.cancel()
  const told = heard.told.length
  t.equal(client.inFlight(), 0)
  for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve))
  t.equal(heard.told.length, told)
})

test('a coded stream that is paused waits, and goes on when it is resumed', async (t) => {
  const text = Array.from(
    { length: 20_000 },
    (_, n) => `data: ${JSON.stringify(mockChunk({ content: String(Math.sin(n)) }))}\n\n`,
  ).join('')
  const bytes = gzipSync(`${text}data: [DONE]\n\n`)
  const { provider } = await openAiBench(t, (peer) =>
    peer.answer(200, bytes, { 'content-encoding': 'gzip', 'content-type': 'text/event-stream' }),
  )
  const heard = streamed(provider)
  await heard.first.opened
  heard.flow.pause()
  for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve))
  t.ok(heard.events.length < 20_000, `${heard.events.length} events`)
  heard.flow.resume()
  t.equal(await heard.end.opened, 'ended')
  t.equal(contentsOf(heard).length, 20_000)
})
