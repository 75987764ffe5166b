/** Files that callers name by their address: what is fetched, how it is held back, and who waits for whom. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import tap, { test } from 'tap'
import { NEVER_ABORTED } from '../../src/base/cancellation.js'
import { systemClock } from '../../src/base/clock.js'
import type { FileFetch, FileFetchOutcome } from '../../src/base/file-fetch.js'
import { fileAddressGuard } from '../../src/upstream/address-guard.js'
import { createUpstreamClient } from '../../src/upstream/client.js'
import { fileFetcher } from '../../src/upstream/fetch-file.js'
import type { UpstreamClient } from '../../src/upstream/port.js'
import { mockUpstream, type Peer } from '../support/providers/mock-upstream.js'
import { gate } from '../support/timing/gate.js'

const web = await mockUpstream(tap)
const client = createUpstreamClient({ guard: fileAddressGuard(true) })
tap.teardown(() => client.close())
const called: string[] = []
const counting: Pick<UpstreamClient, 'call'> = {
  call: (request, receiver) => {
    called.push(request.path)
    return client.call(request, receiver)
  },
}
const fetchFile = fileFetcher(counting as UpstreamClient, systemClock)

function fetched(more: Partial<FileFetch> = {}): {
  readonly outcome: Promise<FileFetchOutcome>
  readonly text: () => string
} {
  const pieces: Buffer[] = []
  const outcome = fetchFile({
    url: `${web.origin}/a`,
    sink: { write: (piece) => void pieces.push(Buffer.from(piece)) },
    maxBytes: 10_000_000,
    timeoutMs: 20_000,
    organizationId: 'one',
    caller: NEVER_ABORTED,
    ...more,
  })
  return { outcome, text: () => Buffer.concat(pieces).toString() }
}

test('bytes, size and media type', async (t) => {
  web.script = (peer) => peer.answer(200, 'hello', { 'content-type': 'audio/mpeg' })
  const { outcome, text } = fetched()
  t.same(await outcome, { ok: true, contentType: 'audio/mpeg', size: 5, url: `${web.origin}/a` })
  t.equal(text(), 'hello')
})

test('a sink that is behind gets every piece in its order, one at a time', async (t) => {
  const whole = Array.from({ length: 200 }, (_, at) => `${at},`.repeat(2_000)).join('')
  web.script = (peer) => peer.answer(200, whole)
  const pieces: Buffer[] = []
  let writing = false
  const write = async (piece: Uint8Array): Promise<void> => {
    t.notOk(writing)
    writing = true
    const copy = Buffer.from(piece)
    await new Promise((resolve) => setImmediate(resolve))
    pieces.push(copy)
    writing = false
  }
  t.match(await fetched({ sink: { write } }).outcome, { ok: true, size: whole.length })
  t.equal(Buffer.concat(pieces).toString(), whole)
})

test('what the sink throws is what the fetch rejects with', async (t) => {
  web.script = (peer) => peer.answer(200, 'hello')
  const broken = new Error('no room')
  const reject = { write: () => Promise.reject(broken) }
  const fail = {
    write: () => {
      throw broken
    },
  }
  for (const sink of [reject, fail]) await t.rejects(fetched({ sink }).outcome, { cause: broken })
})

test('a server that says nothing ends the fetch in time', async (t) => {
  web.script = () => {}
  t.match(await fetched({ timeoutMs: 120 }).outcome, {
    ok: false,
    isBusy: false,
    reason: 'no answer in time',
  })
})

test('one organization leaves room for the next', async (t) => {
  const held: Peer[] = []
  const full = gate()
  web.script = (peer, { path }) => {
    if (path === '/quick') return peer.answer(200, 'hello')
    held.push(peer)
    if (held.length === 16) full.open()
  }
  const greedy = Array.from({ length: 40 }, () => fetched({ timeoutMs: 20_000 }).outcome)
  await full.opened
  const { outcome } = fetched({ url: `${web.origin}/quick`, organizationId: 'two' })
  t.match(await outcome, { ok: true })
  t.equal(held.length, 16, 'a quarter of all for one that is alone')
  web.script = (peer) => peer.answer(200, 'late')
  for (const peer of held.splice(0)) peer.answer(200, 'late')
  for (const { ok } of await Promise.all(greedy)) t.ok(ok)
})

test('who has waited for its turn until its time was up is told that too many are being fetched', async (t) => {
  const held: Peer[] = []
  const full = gate()
  web.script = (peer) => {
    held.push(peer)
    if (held.length === 16) full.open()
  }
  const greedy = Array.from({ length: 16 }, () => fetched().outcome)
  await full.opened
  const waiting = fetched({ timeoutMs: 0 }).outcome
  for (const peer of held.splice(0)) peer.answer(200, 'late')
  await Promise.all(greedy)
  t.match(await waiting, { ok: false, isBusy: true, reason: 'too many files are being fetched' })
})

test('who has left while it waited for its turn dials nobody', async (t) => {
  const held: Peer[] = []
  const full = gate()
  web.script = (peer) => {
    held.push(peer)
    if (held.length === 16) full.open()
  }
  const greedy = Array.from({ length: 16 }, () => fetched().outcome)
  await full.opened
  let leave = (): void => {}
  const caller = {
    onAbort: (abort: () => void) => {
      leave = abort
    },
  }
  const waiting = fetched({ url: `${web.origin}/left`, caller }).outcome
  leave()
  for (const peer of held.splice(0)) peer.answer(200, 'late')
  t.match(await waiting, { ok: false, isBusy: false, reason: 'nobody waits for it any more' })
  await Promise.all(greedy)
  t.notOk(called.includes('/left'))
})

test('a body that comes compressed although nobody asked for it is unpacked, within the same bounds', async (t) => {
  const text = 'the same words again and again. '.repeat(100)
  for (const [coding, coded] of [
    ['gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
  ] as const) {
    web.script = (peer) => peer.answer(200, coded, { 'content-encoding': coding })
    const { outcome, text: body } = fetched()
    t.match(await outcome, { ok: true, size: text.length }, coding)
    t.equal(body(), text)
  }
  web.script = (peer) => peer.answer(200, gzipSync(text), { 'content-encoding': 'gzip' })
  t.match(await fetched({ maxBytes: 1_000 }).outcome, { ok: false, reason: 'it is larger than 1000 bytes' })
  web.script = (peer) => peer.answer(200, 'no gzip at all', { 'content-encoding': 'gzip' })
  t.match(await fetched().outcome, { ok: false, reason: /no gzip/ })
  web.script = (peer) => peer.answer(200, 'x', { 'content-encoding': 'zstd' })
  t.match(await fetched().outcome, { ok: false, reason: /content coding that is not known/ })
})

test('whoever fetches is asked at each address, and is told where the file was found', async (t) => {
  web.script = (peer, { path }) =>
    path === '/a' ? peer.answer(302, '', { location: '/b' }) : peer.answer(200, 'hello')
  t.match(await fetched().outcome, { ok: true, url: `${web.origin}/b` })
  const asked: string[] = []
  const refusal = ({ pathname }: URL): string | null => {
    asked.push(pathname)
    return pathname === '/b' ? 'it is not wanted' : null
  }
  called.length = 0
  t.match(await fetched({ refusal }).outcome, { ok: false, reason: 'it is not wanted' })
  t.same([asked, called], [['/a', '/b'], ['/a']], 'what is refused is not dialled')
})
