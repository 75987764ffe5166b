/** Files that a messages server makes in the operator's account: the answer names ours instead (contract/decisions 46). */
import Anthropic from '@anthropic-ai/sdk'
import tap, { type Test, test } from 'tap'
import { askMessages, message } from '../../support/clients/messages-calls.js'
import { sendEvents, wireEvents, wireMessage } from '../../support/providers/mock-anthropic.js'
import { type MockRequest, mockUpstream, type Peer } from '../../support/providers/mock-upstream.js'
import {
  API_KEY,
  askChat,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

const PROVIDER_KEY = 'sk-ant-canary-0123456789abcdef'
const RESULT = {
  type: 'code_execution_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: {
    type: 'code_execution_result',
    ...{ stdout: 'done', stderr: '', return_code: 0 },
    content: [
      { type: 'code_execution_output', file_id: 'file_canary_1' },
      { type: 'code_execution_output', file_id: 'file_canary_gone' },
    ],
  },
}
const CONTENT = [
  { type: 'text', text: 'It is done.' },
  RESULT,
  { type: 'container_upload', file_id: 'file_canary_2' },
  { type: 'container_upload', file_id: 'file_canary_gone' },
  { type: 'text', text: 'Here.' },
]
const CONTAINER = { id: 'container_canary', expires_at: '2026-11-23T00:00:00Z', skills: null }
const FILES: Readonly<Record<string, string>> = {
  file_canary_1: 'a,b\n1,2\n',
  file_canary_2: '%PDF-1.4 rest',
}

function script(peer: Peer, { path, body, headers }: MockRequest): void {
  const [, id, part] = /^\/v1\/files\/(\w+)(\/content)?$/.exec(path) ?? []
  if (id !== undefined) {
    const isOurs = headers['x-api-key'] === PROVIDER_KEY && FILES[id] !== undefined
    if (!isOurs) peer.json({ type: 'error', error: { type: 'not_found_error', message: 'no' } }, 404)
    else if (part === undefined) peer.json({ id, type: 'file', filename: `${id.at(-1)}.bin` })
    else peer.answer(200, Buffer.from(FILES[id]!), { 'content-type': 'application/octet-stream' })
    return
  }
  const answer = { content: CONTENT }
  if (!(JSON.parse(body) as Json).stream) peer.json({ ...wireMessage(answer), container: CONTAINER })
  else {
    const events = wireEvents(answer).map((event): Json => {
      if (event.type !== 'message_delta') return event
      return { ...event, delta: { ...(event.delta as object), container: CONTAINER } }
    })
    sendEvents(peer, events)
  }
}

const theirs = await mockUpstream(tap, script)
const openAi = await mockUpstream(tap, (peer) => {
  const annotations = [
    { type: 'file_path', file_path: { file_id: 'file-canary' } },
    { type: 'url_citation', url_citation: { url: 'https://example.org', title: 't' } },
  ]
  const message = { role: 'assistant', content: 'hi', annotations }
  peer.json({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
})
const server = await startGateway({
  env: { SLUICE_WORKERS: '1', PROVIDER_KEY },
  config: {
    providers: {
      theirs: { kind: 'anthropic', base_url: theirs.origin, api_key_env: 'PROVIDER_KEY' },
      other: { kind: 'openai', base_url: `${openAi.origin}/v1` },
    },
    models: {
      'acme/theirs': { endpoints: [{ provider: 'theirs' }] },
      'acme/other': { endpoints: [{ provider: 'other' }] },
    },
  },
})
tap.teardown(() => server.stop())

const OURS = /^file_[0-9a-z]{26}$/
const wanted = message({ model: 'acme/theirs' })

async function contentOf(id: string): Promise<string> {
  const reply = await server.get(`/files/${id}/content`, MANAGEMENT_KEY)
  return reply.text()
}

/** The content of an answer with our ids, each of which gives what the server had made. */
async function checkContent(t: Test, content: Json[]): Promise<void> {
  t.match(content[0], { type: 'text', text: 'It is done.' })
  const [output, ...others] = content[1].content.content as Json[]
  t.match(output, { type: 'code_execution_output', file_id: OURS, filename: '1.bin', size_bytes: 8 })
  t.strictSame(others, [], 'what could not be had is left out')
  t.equal(await contentOf(output.file_id), FILES.file_canary_1)
  t.match(content[2], { type: 'container_upload', file_id: OURS, mime_type: 'application/pdf' })
  t.equal(await contentOf(content[2].file_id), FILES.file_canary_2)
  t.match(content.slice(3), [
    { type: 'text', text: '[a file that could not be kept]' },
    { type: 'text', text: 'Here.' },
  ])
}

test('a whole answer names files by our ids, and no id of the account', async (t) => {
  const asked = await askMessages(server, wanted, { 'X-Service-Metadata': 'enabled' })
  t.equal(asked.status, 200, asked.text)
  await checkContent(t, asked.json().content)
  t.notMatch(asked.text, 'canary')
  t.equal(asked.json().container, null)
  t.match(asked.json().service_metadata.params, undefined)
  t.match(asked.text, /"untranslated":\[[^\]]*"answer\.container"[^\]]*"answer\.file_id"/)
  const fetched = theirs.requests.filter(({ path }) => path.startsWith('/v1/files/'))
  t.ok(fetched.every(({ headers }) => headers['anthropic-beta'] === 'files-api-2025-04-14'))
})

test('so does a stream, and the anthropic client reads it', async (t) => {
  const asked = await askMessages(server, { ...wanted, stream: true })
  t.notMatch(asked.text, 'canary')
  const client = new Anthropic({ baseURL: `${server.baseUrl}/api`, apiKey: API_KEY, maxRetries: 0 })
  const final = await client.messages.stream(wanted).finalMessage()
  await checkContent(t, final.content as Json[])
  const again = await askMessages(server, {
    ...wanted,
    messages: [
      ...wanted.messages,
      { role: 'assistant', content: final.content },
      { role: 'user', content: 'y' },
    ],
  })
  t.equal(again.status, 200, 'the conversation goes on')
  t.notMatch(theirs.requests.findLast(({ path }) => path === '/v1/messages')!.body, '"file_id"')
})

test('over chat the files are annotations', async (t) => {
  for (const stream of [false, true]) {
    const asked = await askChat(server, {
      model: 'acme/theirs',
      messages: [{ role: 'user', content: 'x' }],
      stream,
    })
    t.notMatch(asked.text, 'canary')
    const said: Json[] = stream
      ? asked.events().flatMap((event: Json) => event.choices?.[0]?.delta?.annotations ?? [])
      : asked.json().choices[0].message.annotations
    t.match(said, [
      { type: 'file', file: { file_id: OURS, filename: '1.bin', mime_type: 'text/plain', size_bytes: 8 } },
      { type: 'file', file: { file_id: OURS, filename: '2.bin', mime_type: 'application/pdf' } },
    ])
    t.equal(said.length, 2)
  }
})

test('an annotation of a chat server that names its account is left out', async (t) => {
  const asked = await askChat(server, { model: 'acme/other', messages: [{ role: 'user', content: 'x' }] })
  t.match(asked.json().choices[0].message.annotations, [{ type: 'url_citation' }])
  t.notMatch(asked.text, 'canary')
})
