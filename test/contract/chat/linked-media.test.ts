/** Media by their address: fetched here and sent along to servers that take the bytes alone (contract/gateway 2.3). */
import tap, { test } from 'tap'
import { askMessages } from '../../support/clients/messages-calls.js'
import { speaking } from '../../support/providers/mock-anthropic.js'
import { type MockRequest, mockUpstream, type Peer } from '../../support/providers/mock-upstream.js'
import { mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import { askChat, type Json, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const openAi = await mockUpstream(tap, (peer, { body }) => {
  if ((JSON.parse(body) as Json).stream) peer.stream(mockStream('hi'))
  else peer.json(mockCompletion('hi'))
})
const theirs = await mockUpstream(tap, speaking({ content: [{ type: 'text', text: 'hi' }] }))
const web = await mockUpstream(tap)
const server = openAi.origin
const config = {
  routing: { retries: 0 },
  limits: { inference_body_bytes: 100_000 },
  providers: {
    // What such servers are by default: they fetch pictures and films, and no files.
    other: { kind: 'openai', base_url: `${server}/v1`, breaker: false },
    blind: {
      kind: 'openai',
      base_url: `${server}/v1`,
      breaker: false,
      inline_media: ['image', 'video', 'file'],
    },
    theirs: { kind: 'anthropic', base_url: theirs.origin, breaker: false },
    shy: { kind: 'anthropic', base_url: theirs.origin, breaker: false, inline_media: ['image', 'file'] },
  },
  models: {
    'acme/other': { endpoints: [{ provider: 'other' }] },
    'acme/blind': { endpoints: [{ provider: 'blind' }] },
    'acme/theirs': { endpoints: [{ provider: 'theirs' }] },
    'acme/shy': { endpoints: [{ provider: 'shy' }] },
    'acme/shy-or-not': { endpoints: [{ provider: 'shy' }, { provider: 'theirs' }] },
  },
}
const gateway = await startGateway({
  env: { SLUICE_WORKERS: '1', SLUICE_ALLOW_LOOPBACK_FILES: 'on' },
  config,
})
const guarded = await startGateway({ env: { SLUICE_WORKERS: '1' }, config })
tap.teardown(() => Promise.all([gateway.stop(), guarded.stop()]))

const PNG = '\x89PNG\r\n\x1a\nrest'
const PDF = '%PDF-1.4 rest'
const base64 = (bytes: string) => Buffer.from(bytes, 'latin1').toString('base64')
const FILES: Readonly<Record<string, readonly [type: string, bytes: string]>> = {
  '/a.png': ['text/plain', PNG],
  '/a.pdf': ['application/octet-stream', PDF],
  '/a.txt': ['text/plain; charset=utf-8', 'words'],
  '/a.mp4': ['application/octet-stream', 'film'],
  '/a.wav': ['audio/wav', 'sound'],
  '/a.html': ['text/html', '<p>'],
  '/about-pdf.txt': ['text/plain', 'A file begins with %PDF-1.4'],
  '/half': ['application/pdf', `%PDF-${'x'.repeat(40_000)}`],
  '/large': ['application/pdf', `%PDF-${'x'.repeat(70_000)}`],
}
const files = (peer: Peer, { path }: MockRequest): void => {
  const [type, bytes] = FILES[path.split('?')[0]!] ?? []
  if (bytes === undefined) peer.answer(404, 'canary of a page', {})
  else peer.answer(200, Buffer.from(bytes, 'latin1'), { 'content-type': type! })
}
web.script = files
const link = (path: string) => `${web.origin}/${path}`

const image = (path: string) => ({ type: 'image_url', image_url: { url: link(path), detail: 'low' } })
const file = (path: string, more: object = {}) => ({ type: 'file', file: { file_data: link(path), ...more } })
const film = (path: string) => ({ type: 'video_url', video_url: { url: link(path) } })
const sound = (path: string) => ({ type: 'input_audio', input_audio: { data: link(path), format: 'wav' } })
const chat = (model: string, content: object[], at = gateway, more: object = {}) =>
  askChat(at, { model, messages: [{ role: 'user', content }], ...more })
const messages = (model: string, content: object[], more: object = {}) =>
  askMessages(gateway, { model, max_tokens: 9, messages: [{ role: 'user', content }], ...more })
const sent = (upstream: typeof openAi): Json =>
  (JSON.parse(upstream.requests.at(-1)!.body) as Json).messages.at(-1).content

test('files and sound go along to a chat server, pictures and films by their address', async (t) => {
  for (const stream of [false, true]) {
    const parts = [image('a.png'), file('a.pdf'), film('a.mp4'), sound('a.wav')]
    const answer = await chat('acme/other', parts, gateway, { stream })
    t.equal(answer.status, 200, answer.text)
    t.strictSame(sent(openAi), [
      image('a.png'),
      {
        type: 'file',
        file: { file_data: `data:application/pdf;base64,${base64(PDF)}`, filename: 'a.pdf' },
      },
      film('a.mp4'),
      { type: 'input_audio', input_audio: { data: base64('sound'), format: 'wav' } },
    ])
  }
})

test('all of them to one that fetches nothing, each address once', async (t) => {
  const before = web.requests.length
  const parts = [image('a.png'), image('a.png'), film('a.mp4'), file('a.txt?b=1', { filename: 'mine.txt' })]
  t.equal((await chat('acme/blind', parts)).status, 200)
  const picture = {
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${base64(PNG)}`, detail: 'low' },
  }
  t.strictSame(sent(openAi), [
    picture,
    picture,
    { type: 'video_url', video_url: { url: `data:video/mp4;base64,${base64('film')}` } },
    { type: 'file', file: { file_data: `data:text/plain;base64,${base64('words')}`, filename: 'mine.txt' } },
  ])
  t.equal(web.requests.length, before + 3)
  t.notMatch(web.requests.at(-1)!.rawHeaders.join(' '), /authorization|sk-sluice/i)
})

test('what is said to be a text is one, whatever it speaks of', async (t) => {
  t.equal((await chat('acme/blind', [file('about-pdf.txt')])).status, 200)
  t.match(sent(openAi)[0].file.file_data, /^data:text\/plain;base64,/)
})

test('a messages server fetches for itself unless its operator says otherwise', async (t) => {
  const before = web.requests.length
  const blocks = [
    { type: 'image', source: { type: 'url', url: link('a.png') } },
    { type: 'document', source: { type: 'url', url: link('a.pdf') }, title: 'A' },
    { type: 'document', source: { type: 'url', url: link('a.txt') } },
  ]
  t.equal((await messages('acme/theirs', blocks)).status, 200)
  t.strictSame(sent(theirs), blocks)
  t.equal(web.requests.length, before)
  t.equal((await messages('acme/shy', blocks)).status, 200)
  const inlined = [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(PNG) } },
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: base64(PDF) },
      title: 'A',
    },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' } },
  ]
  t.strictSame(sent(theirs), inlined)
  // From chat the same, and within the result of a tool.
  t.equal((await chat('acme/shy', [image('a.png')])).status, 200)
  t.strictSame(sent(theirs), [inlined[0]])
  const call = { type: 'tool_use', id: 't1', name: 'f', input: {} }
  const asked = await messages('acme/shy', [], {
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [blocks[0]] }] },
    ],
  })
  t.equal(asked.status, 200)
  t.strictSame(sent(theirs)[0].content, [inlined[0]])
  t.equal((await messages('acme/other', [blocks[1]!])).status, 200)
  t.match(sent(openAi), [{ type: 'file', file: { file_data: `data:application/pdf;base64,${base64(PDF)}` } }])
})

const REFUSED: readonly (readonly [what: string, parts: object[], said: RegExp])[] = [
  [
    'nothing there',
    [file('gone.pdf')],
    /messages\.0\.content\.0 cannot be used: its server answers with status 404/,
  ],
  [
    'no address',
    [{ type: 'file', file: { file_data: 'http://[' } }],
    /messages\.0\.content\.0 .*it is no address/,
  ],
  ['a page for a picture', [file('a.pdf'), image('a.html')], /messages\.0\.content\.1 .* is no image/],
  [
    'files that are too large together',
    [file('large'), file('large?2')],
    /larger than 100000 bytes together/,
  ],
  [
    'one file that is too large as often as it is named',
    [file('half'), file('half'), file('half')],
    /messages\.0\.content\.2 .*larger than 100000 bytes together/,
  ],
  [
    'too many addresses',
    Array.from({ length: 33 }, (_, at) => file(`a.pdf?${at}`)),
    /hold more than 32 addresses/,
  ],
]

for (const [what, parts, said] of REFUSED) {
  test(`what cannot be had ends the call, and nothing is sent: ${what}`, async (t) => {
    const before = openAi.requests.length
    const { status, json, text } = await chat('acme/blind', parts)
    t.equal(status, 400)
    t.match(json().error.message, said)
    t.notMatch(text, 'canary')
    t.equal(openAi.requests.length, before)
  })
}

test('open blocks may hold anything', async (t) => {
  const block = { type: 'brand_new', content: [null, 1, 'x', { type: 'image', source: null }, [null]] }
  t.equal((await messages('acme/shy', [{ type: 'text', text: 'x' }, block])).status, 200)
  t.strictSame(sent(theirs)[1], block)
})

test('what one provider does not take goes to one that fetches for itself', async (t) => {
  const blocks = [{ type: 'image', source: { type: 'url', url: link('gone.png') } }]
  t.equal((await messages('acme/shy', blocks)).status, 400)
  const asked = await messages('acme/shy-or-not', blocks, { provider: { order: ['shy', 'theirs'] } })
  t.equal(asked.status, 200)
  t.strictSame(sent(theirs), blocks)
})

test('addresses of this machine and of its network are not dialled', async (t) => {
  const before = web.requests.length
  const { status, json } = await chat('acme/other', [file('a.pdf')], guarded)
  t.equal(status, 400)
  t.match(json().error.message, /the host could not be reached/)
  t.equal(web.requests.length, before)
})

test('a caller that leaves ends the fetch, and nothing is sent', async (t) => {
  let isClosed = false
  web.script = (peer) => {
    peer.head(200, { 'transfer-encoding': 'chunked' })
    peer.socket.once('close', () => {
      isClosed = true
    })
  }
  const before = [web.requests.length, openAi.requests.length]
  const leaving = new AbortController()
  const body = { model: 'acme/other', messages: [{ role: 'user', content: [file('a.pdf')] }] }
  const asked = gateway.post('/chat/completions', body, { signal: leaving.signal }).catch(() => null)
  await eventually(() => (web.requests.length > before[0]! ? true : null))
  leaving.abort()
  await asked
  t.ok(await eventually(() => (isClosed ? true : null)))
  t.equal(openAi.requests.length, before[1])
  web.script = files
})
