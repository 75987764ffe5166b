/** Recordings that lie elsewhere: servers of OpenAI's form take files alone, so they are fetched here. */
import tap, { test } from 'tap'
import { sentForm } from '../../support/clients/sent-form.js'
import { type MockRequest, mockUpstream, type Peer } from '../../support/providers/mock-upstream.js'
import { type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'

const upstream = await mockUpstream(tap)
const second = await mockUpstream(tap)
const web = await mockUpstream(tap)

const config = {
  routing: { retries: 0 },
  limits: { upload_body_bytes: 600_000 },
  providers: {
    first: { kind: 'openai', base_url: `${upstream.origin}/v1`, breaker: false },
    second: { kind: 'openai', base_url: `${second.origin}/v1`, breaker: false },
  },
  models: {
    'acme/ears': { output_modalities: ['transcription'], endpoints: [{ provider: 'first' }] },
    'acme/both-ears': {
      output_modalities: ['transcription'],
      endpoints: [{ provider: 'first' }, { provider: 'second' }],
    },
  },
}
const server = await startGateway({ env: { SLUICE_WORKERS: '1', SLUICE_ALLOW_LOOPBACK_FILES: 'on' }, config })
const guarded = await startGateway({ env: { SLUICE_WORKERS: '1' }, config })
tap.teardown(() => Promise.all([server.stop(), guarded.stop()]))

const TONE = `ID3${'sound'.repeat(20)}`
const HEARD = { text: 'hello', duration: 1 }

const link = (path: string): string => `${web.origin}/${path}`

async function transcribe(
  url: string,
  more: object = {},
  at = server,
): Promise<{ status: number; said: Json }> {
  const body = { model: 'acme/ears', input_audio: { url, ...more } }
  const reply = await at.post('/audio/transcriptions', body, { key: MANAGEMENT_KEY })
  return { status: reply.status, said: await reply.json() }
}

const file =
  (bytes: string) =>
  (peer: Peer): void =>
    peer.answer(200, bytes, { 'content-type': 'audio/mpeg' })

test('what an address names is fetched and goes to the provider as a file', async (t) => {
  web.script = file(TONE)
  upstream.script = (peer) => peer.json(HEARD)
  t.same(await transcribe(link('a/sound.mp3?x=1')), {
    status: 200,
    said: { text: 'hello', usage: { seconds: 1, cost: 0 } },
  })
  t.equal(web.requests.at(-1)!.path, '/a/sound.mp3?x=1')
  t.notMatch(web.requests.at(-1)!.rawHeaders.join(' '), /authorization|sk-sluice/i)
  const sent = sentForm(upstream.requests.at(-1)!)
  t.equal(sent.file, TONE)
  t.same(
    sent.fields.map(([name]) => name),
    ['model', 'response_format'],
  )
})

test('the address may stand in a form, and its format beside it', async (t) => {
  web.script = file(TONE)
  upstream.script = (peer) => peer.json(HEARD)
  const form = new FormData()
  form.append('model', 'acme/ears')
  form.append('source_url', link('sound.mp3'))
  t.equal((await server.post('/audio/transcriptions', form, { key: MANAGEMENT_KEY })).status, 200)
  t.equal(sentForm(upstream.requests.at(-1)!).file, TONE)
  t.equal((await transcribe(link('sound'), { format: 'mp3' })).status, 200)
})

test('a file larger than the memory of its spool arrives whole', async (t) => {
  const large = `ID3${'x'.repeat(500_000)}`
  web.script = (peer) => {
    peer.head(200, { 'transfer-encoding': 'chunked' })
    for (let at = 0; at < large.length; at += 10_000) peer.chunk(large.slice(at, at + 10_000))
    peer.endChunks()
  }
  upstream.script = (peer) => peer.json(HEARD)
  t.equal((await transcribe(link('a.mp3'))).status, 200)
  t.equal(sentForm(upstream.requests.at(-1)!).file, large)
})

test('a second endpoint gets the same file without another fetch', async (t) => {
  web.script = file(TONE)
  upstream.script = (peer) => peer.json({ error: { message: 'no' } }, 503)
  second.script = (peer) => peer.json(HEARD)
  const before = web.requests.length
  const body = {
    model: 'acme/both-ears',
    input_audio: { url: link('a.mp3') },
    provider: { order: ['first', 'second'] },
  }
  t.equal((await server.post('/audio/transcriptions', body, { key: MANAGEMENT_KEY })).status, 200)
  t.equal(sentForm(second.requests.at(-1)!).file, TONE)
  t.equal(web.requests.length, before + 1)
})

test('redirects are followed, each address looked at', async (t) => {
  upstream.script = (peer) => peer.json(HEARD)
  web.script = (peer, { path }: MockRequest) => {
    if (path === '/a.mp3') peer.answer(302, '', { location: '/b.mp3' })
    else if (path === '/b.mp3') peer.answer(307, '', { location: link('c.mp3') })
    else file(TONE)(peer)
  }
  t.equal((await transcribe(link('a.mp3'))).status, 200)
  t.equal(web.requests.at(-1)!.path, '/c.mp3')
})

const redirect = (location: string) => (peer: Peer) => peer.answer(302, '', { location })

const REFUSED = [
  ['a file that is not there', (peer: Peer) => peer.json({}, 404), /answers with status 404/],
  ['a file that is too large', file(`ID3${'x'.repeat(700_000)}`), /larger than 600000 bytes/],
  [
    'a file that grows too large',
    (peer: Peer) => {
      peer.head(200, { 'transfer-encoding': 'chunked' })
      for (let at = 0; at < 70; at++) peer.chunk('x'.repeat(10_000))
      peer.endChunks()
    },
    /larger than 600000 bytes/,
  ],
  ['an empty file', file(''), /the file is empty/],
  ['a file of another kind', file('RIFF    WAVEfmt 12345678'), /is said to be mp3 and is wav/],
  [
    'a file that is cut',
    (peer: Peer) => {
      peer.head(200, { 'content-length': '99' })
      peer.cut()
    },
    /reset|idle|first/,
  ],
  ['a circle', redirect('/a.mp3'), /redirected too often/],
  ['a way out of the web', redirect('file:///etc/passwd'), /not followed/],
  ['a way into a private network', redirect('http://10.0.0.1/a.mp3'), /could not be reached/],
  ['a way to the metadata of a cloud', redirect('http://169.254.169.254/a.mp3'), /could not be reached/],
  [
    'a file that is called compressed and is not',
    (peer: Peer) => peer.answer(200, TONE, { 'content-encoding': 'gzip' }),
    /a body that is no gzip/,
  ],
] as const

for (const [what, script, sentence] of REFUSED) {
  test(`${what} is a 400 that says so, and no provider is asked`, async (t) => {
    web.script = script
    const before = upstream.requests.length
    const { status, said } = await transcribe(link('a.mp3'))
    t.equal(status, 400, JSON.stringify(said))
    t.match(said.error.message, sentence)
    t.match(said.error.message, /input_audio\.url/)
    t.equal(upstream.requests.length, before)
  })
}

for (const url of [
  'http://127.0.0.1:1/a.mp3',
  'http://[::1]/a.mp3',
  'http://localhost/a.mp3',
  'http://0x7f.1/a.mp3',
  'http://10.1.2.3/a.mp3',
  'http://192.168.0.1/a.mp3',
  'https://169.254.169.254/a.mp3',
  'http://[::ffff:127.0.0.1]/a.mp3',
  'http://[fd00::1]/a.mp3',
]) {
  test(`${url} is not fetched`, async (t) => {
    const { status, said } = await transcribe(url, {}, guarded)
    t.equal(status, 400)
    t.match(said.error.message, /could not be reached/)
  })
}

test('an address of this machine is not fetched unless the operator says so', async (t) => {
  web.script = file(TONE)
  const before = web.requests.length
  const { status, said } = await transcribe(link('a.mp3'), {}, guarded)
  t.equal(status, 400)
  t.match(said.error.message, /could not be reached/)
  t.equal(web.requests.length, before)
})

test('an address with credentials is not fetched', async (t) => {
  const { status, said } = await transcribe(`http://me:secret@127.0.0.1:${web.port}/a.mp3`)
  t.equal(status, 400)
  t.match(said.error.message, /credentials/)
  t.notMatch(said.error.message, /secret/)
})

test('a caller who leaves ends the fetch', async (t) => {
  const leave = new AbortController()
  const closed = new Promise<void>((resolve) => {
    web.script = (peer) => {
      peer.head(200, { 'content-length': '1000' })
      peer.write('ID3')
      peer.socket.on('close', () => resolve())
      leave.abort()
    }
  })
  const body = { model: 'acme/ears', input_audio: { url: link('a.mp3') } }
  const { signal } = leave
  await t.rejects(server.post('/audio/transcriptions', body, { key: MANAGEMENT_KEY, signal }))
  await closed
})
