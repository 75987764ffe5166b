/** Uploaded files that a request names by their ids (contract/gateway 2.3 and 5.5), with public clients. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import tap, { test } from 'tap'
import { askMessages } from '../../support/clients/messages-calls.js'
import { speaking } from '../../support/providers/mock-anthropic.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import {
  API_KEY,
  type Asked,
  askChat,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

const openAi = await mockUpstream(tap, (peer, { body }) => {
  if ((JSON.parse(body) as Json).stream) peer.stream(mockStream('hi'))
  else peer.json(mockCompletion('hi'))
})
const theirs = await mockUpstream(tap, speaking({ content: [{ type: 'text', text: 'hi' }] }))
const broken = await mockUpstream(tap, (peer) => peer.json({ error: { message: 'broken' } }, 500))
const LIMIT = 100_000
/** Otherwise the draw would decide. */
const ORDER = { order: ['broken', 'theirs'] }
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    limits: { inference_body_bytes: LIMIT },
    providers: {
      other: { kind: 'openai', base_url: `${openAi.origin}/v1`, breaker: false },
      theirs: { kind: 'anthropic', base_url: theirs.origin, breaker: false },
      broken: { kind: 'openai', base_url: `${broken.origin}/v1`, breaker: false },
    },
    models: {
      'acme/other': { endpoints: [{ provider: 'other' }] },
      'acme/theirs': { endpoints: [{ provider: 'theirs' }] },
      'acme/second': { endpoints: [{ provider: 'broken' }, { provider: 'theirs' }] },
      'acme/dear': { prices: { prompt: '0.001' }, endpoints: [{ provider: 'other' }] },
    },
  },
})
tap.teardown(() => server.stop())

const openai = new OpenAI({ baseURL: server.apiUrl, apiKey: API_KEY, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: `${server.baseUrl}/api`, apiKey: API_KEY, maxRetries: 0 })

async function upload(name: string, bytes: string, key = API_KEY): Promise<string> {
  const client = key === API_KEY ? openai : new OpenAI({ baseURL: server.apiUrl, apiKey: key })
  const file = await toFile(Buffer.from(bytes, 'latin1'), name)
  return (await client.files.create({ file, purpose: 'user_data' })).id
}

const CONTENTS = {
  text: ['notes.md', 'It says "hello".'],
  pdf: ['a.pdf', '%PDF-1.4 rest'],
  png: ['a.png', '\x89PNG\r\n\x1a\nrest'],
  wav: ['a.wav', 'RIFF....WAVEfmt '],
  zip: ['a.zip', 'PK\x03\x04rest'],
} as const
const ids = {} as Record<keyof typeof CONTENTS, string>
for (const [kind, [name, bytes]] of Object.entries(CONTENTS))
  ids[kind as keyof typeof CONTENTS] = await upload(name, bytes)

const base64 = (kind: keyof typeof CONTENTS) => Buffer.from(CONTENTS[kind][1], 'latin1').toString('base64')
const sentTo = (upstream: typeof openAi): Json =>
  (JSON.parse(upstream.requests.at(-1)!.body) as Json).messages.at(-1).content
const part = (id: string, more: object = {}) => ({ type: 'file', file: { file_id: id }, ...more })
const chat = (model: string, content: object[], headers: Record<string, string> = {}): Promise<Asked> =>
  askChat(server, { model, messages: [{ role: 'user', content }], provider: ORDER }, headers)
const messages = (model: string, content: object[], path?: string): Promise<Asked> =>
  askMessages(server, { model, max_tokens: 9, messages: [{ role: 'user', content }] }, {}, path)
const document = (id: string, more: object = {}) => ({
  type: 'document',
  source: { type: 'file', file_id: id },
  ...more,
})
const image = (id: string) => ({ type: 'image', source: { type: 'file', file_id: id } })

test('the openai client names uploaded files, and a chat server is given each as what it is', async (t) => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const content = [
    { type: 'text', text: 'Read.' },
    part(ids.text, mark),
    part(ids.pdf),
    part(ids.png),
    part(ids.wav),
  ] as OpenAI.ChatCompletionContentPart[]
  for (const stream of [false, true]) {
    const asked = { model: 'acme/other', messages: [{ role: 'user', content } as const] }
    if (!stream) t.equal((await openai.chat.completions.create(asked)).choices[0]!.message.content, 'hi')
    else for await (const _ of await openai.chat.completions.create({ ...asked, stream: true })) void _
    t.strictSame(sentTo(openAi), [
      { type: 'text', text: 'Read.' },
      { type: 'text', text: 'File "notes.md":\n\nIt says "hello".', ...mark },
      {
        type: 'file',
        file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64('pdf')}` },
      },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${base64('png')}` } },
      { type: 'input_audio', input_audio: { data: base64('wav'), format: 'wav' } },
    ])
  }
})

test('the anthropic client names uploaded files, and a messages server is given blocks with data', async (t) => {
  const content = [
    document(ids.pdf, { title: 'The paper', citations: { enabled: true } }),
    document(ids.text),
    image(ids.png),
    { type: 'container_upload', file_id: ids.text },
    { type: 'document', source: { type: 'content', content: [image(ids.png)] } },
  ]
  const asked = { model: 'acme/theirs', max_tokens: 9, messages: [{ role: 'user', content }] }
  const answer = await anthropic.messages.create(asked as Anthropic.MessageCreateParamsNonStreaming)
  t.match(answer.content, [{ type: 'text', text: 'hi' }])
  const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64('png') } }
  const text = {
    title: 'notes.md',
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: CONTENTS.text[1] },
  }
  t.strictSame(sentTo(theirs), [
    {
      title: 'The paper',
      citations: { enabled: true },
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: base64('pdf') },
    },
    text,
    png,
    text,
    { type: 'document', source: { type: 'content', content: [png] } },
  ])
  await anthropic.messages
    .stream({ ...asked, messages: asked.messages as Anthropic.MessageParam[] })
    .finalMessage()
  t.match(sentTo(theirs)[0], { source: { type: 'base64' } })
})

test('each format reaches servers of the other, and the next one where the first fails', async (t) => {
  for (const model of ['acme/theirs', 'acme/second']) {
    t.equal((await chat(model, [part(ids.pdf), part(ids.text), part(ids.png)])).status, 200)
    t.match(sentTo(theirs), [
      { type: 'document', title: 'a.pdf', source: { type: 'base64', data: base64('pdf') } },
      { type: 'text', text: /hello/ },
      { type: 'image', source: { type: 'base64', data: base64('png') } },
    ])
  }
  t.match(sentTo(broken)[0], { type: 'file', file: { filename: 'a.pdf' } }, 'which had them as well')
  const asked = await messages('acme/other', [document(ids.pdf), document(ids.text), image(ids.png)])
  t.equal(asked.status, 200, asked.text)
  t.match(sentTo(openAi), [
    { type: 'file', file: { filename: 'a.pdf', file_data: /^data:application\/pdf/ } },
    { type: 'file', file: { file_data: /^data:text\/plain/ } },
    { type: 'image_url', image_url: { url: /^data:image\/png/ } },
  ])
  const filemaker = await chat('sim/filemaker', [part(ids.pdf)])
  t.match(filemaker.json().choices[0].message.annotations, [{ file: { filename: 'a.pdf', size_bytes: 13 } }])
})

test('what is not the workspace’s is 404 in the same words, and nothing is sent', async (t) => {
  const { key: management } = (await (
    await server.post('/organizations', { name: 'tenant' }, { key: MANAGEMENT_KEY })
  ).json()) as Json
  const { key } = (await (await server.post('/keys', { name: 'x' }, { key: management })).json()) as Json
  const others = await upload('b.txt', 'theirs', key)
  const gone = await upload('c.txt', 'gone')
  await openai.files.delete(gone)
  const before = [openAi.requests.length, theirs.requests.length]
  const texts = new Set<string>()
  for (const id of [others, gone, 'file_01aaaaaaaaaaaaaaaaaaaaaaaa', 'file-openai', '../data.mdb']) {
    for (const asked of [await chat('acme/other', [part(id)]), await messages('acme/theirs', [image(id)])]) {
      t.equal(asked.status, 404, asked.text)
      texts.add(asked.json().error.message)
    }
    const counted = await messages('acme/theirs', [document(id)], '/messages/count_tokens')
    t.equal(counted.status, 404)
  }
  t.strictSame(
    [...texts].sort(),
    ['file.file_id', 'source.file_id'].map(
      (member) => `Resource not found: messages.0.content.0.${member} names no file of this workspace`,
    ),
  )
  t.strictSame([openAi.requests.length, theirs.requests.length], before)
  const own = await chat('acme/other', [part(others)], { Authorization: `Bearer ${key}` })
  t.equal(own.status, 200, 'for whom it is theirs it is there')
})

test('a kind that cannot stand there and files that are too large are refused by name', async (t) => {
  const large = await upload('large.txt', 'x'.repeat(LIMIT - 10))
  const refused: readonly (readonly [Asked, RegExp])[] = [
    [await chat('acme/other', [part(ids.zip)]), /content\.0\.file\.file_id .* type application\/zip/],
    [await messages('acme/theirs', [image(ids.pdf)]), /content\.0\.source\.file_id .* application\/pdf/],
    [await messages('acme/theirs', [document(ids.png)]), /type image\/png/],
    [await messages('acme/theirs', [document(ids.wav)]), /type audio\/wav/],
    [await messages('acme/theirs', [{ type: 'container_upload', file_id: ids.zip }]), /application\/zip/],
    [await chat('acme/other', [part(large), part(ids.text)]), /content\.1\.file\.file_id .* 100000 bytes/],
    [
      await chat(
        'acme/other',
        Array.from({ length: 33 }, () => part(ids.text)),
      ),
      /more than 32 files/,
    ],
  ]
  for (const [{ status, text }, reason] of refused) {
    t.equal(status, 400, text)
    t.match((JSON.parse(text) as Json).error.message, reason)
  }
  t.equal((await chat('acme/other', [part(large)])).status, 200)
})

test('a text that is named is set aside and counted like one that is written out', async (t) => {
  const words = 'seven words make up a short line. '.repeat(1_000)
  const id = await upload('long.txt', words)
  const counted = await messages('acme/other', [document(id)], '/messages/count_tokens')
  t.ok(counted.json().input_tokens > 6_000, counted.text)
  const { key } = (await (
    await server.post('/keys', { name: 'x', limit: 1 }, { key: MANAGEMENT_KEY })
  ).json()) as Json
  const headers = { Authorization: `Bearer ${key}` }
  t.equal((await chat('acme/dear', [part(id)], headers)).status, 402, 'it would cost ten dollars')
  t.equal((await chat('acme/dear', [part(ids.text)], headers)).status, 200)
})
