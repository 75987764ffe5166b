/** Files in the operator's account: fetched while the answer waits, in bounds, and only as long as somebody waits for it. */
import { type Test, test } from 'tap'
import type { MessagesEvent } from '../../../../src/gateway/formats/messages.js'
import { MediaRoom } from '../../../../src/gateway/providers/http/media-room.js'
import type { ProviderFailure } from '../../../../src/gateway/providers/port/provider.js'
import { messagesCall } from '../../../support/clients/messages-face-calls.js'
import { anthropicBench, speaking } from '../../../support/providers/mock-anthropic.js'
import type { MockRequest, Peer } from '../../../support/providers/mock-upstream.js'
import { eventually } from '../../../support/timing/eventually.js'

const UPLOAD = { type: 'container_upload', file_id: 'file_theirs' }
const ANSWER = speaking({
  content: [{ type: 'text', text: 'Here.' }, UPLOAD, { type: 'text', text: 'Done.' }],
})

/** A stream of an answer that names a file; `serve` is what the server does when it is asked for that. */
async function stream(t: Test, serve: (peer: Peer, path: string) => void, room = new MediaRoom()) {
  const script = (peer: Peer, request: MockRequest): void => {
    if (request.path.startsWith('/v1/files/')) serve(peer, request.path)
    else ANSWER(peer, request)
  }
  const kept: string[] = []
  const keepFile = async (_: unknown, filename: string, bytes: Uint8Array) => {
    kept.push(`${filename} ${bytes.length}`)
    return { id: 'file_ours', filename, mimeType: 'text/plain', sizeBytes: bytes.length }
  }
  const media = {
    fetchFile: async () => ({ ok: false, reason: 'is not there', isBusy: false }) as const,
    kinds: new Set<never>(),
  }
  const options = { keepFile, media: { ...media, maxBytes: 1, room } }
  const { mock, provider, client } = await anthropicBench(t, script, options)
  const events: MessagesEvent[] = []
  const seen = { ended: false, failure: null as ProviderFailure | null }
  const call = messagesCall()
  const handle = provider.messages.stream(call, {
    onEvent: (event) => void events.push(event),
    onFlush: () => {},
    onEnd: () => {
      seen.ended = true
    },
    onFailure: (failure) => {
      seen.failure = failure
    },
  })
  const blocks = () =>
    events.flatMap((event) =>
      event.type === 'block' && event.event.type === 'content_block_start' ? [event.event.content_block] : [],
    )
  return { mock, client, call, handle, seen, blocks, kept }
}

test('the answer waits for a file, and goes on where it stopped', async (t) => {
  let serve = (): void => {}
  const { seen, blocks, kept, handle } = await stream(t, (peer, path) => {
    if (path.endsWith('/content')) serve = () => peer.answer(200, Buffer.from('hello'), {})
    else peer.json({ filename: 'a.txt' })
  })
  await eventually(() => blocks().length === 1 || null)
  // A reader that is slow meanwhile, and is not any more.
  handle.pause()
  await eventually(() => {
    serve()
    return kept.length === 1 || null
  })
  handle.resume()
  await eventually(() => seen.ended || null)
  t.same(kept, ['a.txt 5'])
  const ours = { file_id: 'file_ours', filename: 'a.txt', mime_type: 'text/plain', size_bytes: 5 }
  t.same(blocks()[1], { ...UPLOAD, ...ours })
  t.equal(blocks().length, 3)
})

const LOST: Readonly<Record<string, (peer: Peer, path: string) => void>> = {
  'a server without files': (peer) => peer.json({ error: { message: 'no' } }, 404),
  'a redirect': (peer) => peer.answer(302, '', { location: 'http://127.0.0.1:1/' }),
  'a broken connection': (peer) => peer.reset(),
  'more than there is room for': (peer, path) =>
    path.endsWith('/content') ? peer.answer(200, Buffer.alloc(2_000), {}) : peer.json({ filename: 'a' }),
}

for (const [what, serve] of Object.entries(LOST)) {
  test(`${what}: the answer goes on without the id, which is told`, async (t) => {
    const room = new MediaRoom(4_000)
    const { seen, blocks, call, kept } = await stream(t, serve, room)
    await eventually(() => seen.ended || null)
    t.same(kept, [])
    t.match(blocks()[1], { type: 'text', text: '[a file that could not be kept]' })
    t.notOk(JSON.stringify(blocks()).includes('file_theirs'))
    t.ok(call.droppedFields.includes('answer.file_id'))
    t.ok(room.begin(call.caller.organizationId).take(1_000), 'nothing is held any more')
  })
}

test('a caller that leaves while a file is fetched ends the fetch', async (t) => {
  const room = new MediaRoom(400)
  let asked: Peer | null = null
  const { handle, seen, call, client } = await stream(
    t,
    (peer) => {
      asked = peer
    },
    room,
  )
  await eventually(() => asked)
  handle.cancel()
  await (asked as unknown as Peer).closed()
  await eventually(() => client.inFlight() === 0 || null)
  t.notOk(seen.ended || seen.failure)
  t.ok(room.begin(call.caller.organizationId).take(100), 'and its room is free')
})
