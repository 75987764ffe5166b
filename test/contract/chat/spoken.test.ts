/** Answers of sound: who gives them, and how a conversation goes on with them (contract/decisions 46). */
import tap, { test } from 'tap'
import { mockUpstream, type Script } from '../../support/providers/mock-upstream.js'
import { mockChunk, mockCompletion } from '../../support/servers/chat-bench.js'
import { askChat, type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'

const AUDIO = { id: 'audio_theirs_1', data: 'AAAA', transcript: 'Hello', expires_at: 1 }
const speaking: Script = (peer, { body }) => {
  if ((JSON.parse(body) as Json).stream) {
    const { id, ...rest } = AUDIO
    peer.stream([mockChunk({ audio: { id } }), mockChunk({ audio: { id, ...rest } }), mockChunk({}, 'stop')])
    return
  }
  const message = { role: 'assistant', content: null, audio: AUDIO }
  peer.json(mockCompletion('', { choices: [{ index: 0, message, finish_reason: 'stop' }] }))
}
const openAi = await mockUpstream(tap, speaking)
const other = await mockUpstream(tap, speaking)
const theirs = await mockUpstream(tap)
const SPOKEN = { output_modalities: ['text', 'audio'] }
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    providers: {
      open: { kind: 'openai', name: 'Open', base_url: `${openAi.origin}/v1` },
      other: { kind: 'openai', name: 'Other', base_url: `${other.origin}/v1` },
      theirs: { kind: 'anthropic', name: 'Theirs', base_url: theirs.origin },
    },
    models: {
      'acme/voice': { ...SPOKEN, endpoints: [{ provider: 'open' }] },
      'acme/other-voice': { ...SPOKEN, endpoints: [{ provider: 'other' }] },
      'acme/both': { endpoints: [{ provider: 'theirs' }] },
      'acme/mute': { endpoints: [{ provider: 'open' }] },
    },
  },
})
tap.teardown(() => server.stop())

const ASKED = [{ role: 'user', content: 'x' }]
const SOUND = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }
const ask = (more: object, headers: Record<string, string> = {}) =>
  askChat(server, { model: 'acme/voice', messages: ASKED, ...more }, headers)
const sentTo = (upstream: typeof openAi): Json => JSON.parse(upstream.requests.at(-1)!.body)
const afterwards = (audio: object) => [...ASKED, { role: 'assistant', audio }, ...ASKED]

test('what the answer is to be made of is compared with what the model gives', async (t) => {
  const before = openAi.requests.length
  for (const model of ['acme/mute', 'sim/fast']) {
    const refused = await ask({ model, ...SOUND })
    t.equal(refused.status, 404)
    t.match(refused.json().error.message, `modalities: ${model} does not answer with audio`)
  }
  t.equal(openAi.requests.length, before)
  const fallen = await ask({ models: ['acme/mute', 'acme/voice'], model: undefined, ...SOUND })
  t.equal(fallen.status, 200)
  t.match(sentTo(openAi), SOUND)
  t.equal((await ask({ model: 'acme/mute', modalities: ['text'] })).status, 200)
})

test('a conversation goes on with the id of a spoken answer, whole and streamed', async (t) => {
  for (const stream of [false, true]) {
    const answer = await ask({ ...SOUND, stream })
    t.notMatch(answer.text, 'audio_theirs_1', 'the id of the account is not told')
    const pieces: Json[] = stream
      ? answer.events().flatMap((chunk: Json) => chunk.choices?.[0]?.delta.audio ?? [])
      : [answer.json().choices[0].message.audio]
    const audio: Json = Object.assign({}, ...pieces)
    t.equal(new Set(pieces.map(({ id }) => id)).size, 1, 'one answer has one id')
    t.match(audio, { id: /^audio_/, data: 'AAAA', transcript: 'Hello' })
    const [{ file }] = stream
      ? answer.events().flatMap((chunk: Json) => chunk.choices?.[0]?.delta.annotations ?? [])
      : answer.json().choices[0].message.annotations
    t.match(file, { filename: 'audio.wav', size_bytes: 3 })
    const content = await server.get(`/files/${file.file_id}/content`, MANAGEMENT_KEY)
    t.same(Buffer.from(await content.arrayBuffer()), Buffer.alloc(3), 'and can be downloaded')
    const next = await ask({ ...SOUND, messages: afterwards({ id: audio.id }) })
    t.equal(next.status, 200)
    t.strictSame(sentTo(openAi).messages[1], {
      role: 'assistant',
      audio: { id: 'audio_theirs_1' },
      content: null,
    })
  }
})

test('nobody can name an answer that was not given to them', async (t) => {
  const { id } = (await ask(SOUND)).json().choices[0].message.audio
  const before = openAi.requests.length
  const refusal = { status: 400, message: /messages\.1\.audio\.id is none/ }
  const refused = async (audio: object, model = 'acme/voice', headers = {}) => {
    const { status, json } = await ask({ model, messages: afterwards(audio) }, headers)
    return { status, message: json().error?.message }
  }
  t.match(await refused({ id: 'audio_theirs_1' }), refusal, 'by the name it has at the provider')
  // The last letter holds bits that stand for nothing.
  const changed = `${id.slice(0, -5)}${id.at(-5) === 'A' ? 'B' : 'A'}${id.slice(-4)}`
  t.match(await refused({ id: changed }), refusal, 'with a letter changed')
  t.match(await refused({ id }, 'acme/other-voice'), refusal, 'at another provider')
  const manage = await server.post('/workspaces', { name: 'second' }, { headers: bearer(MANAGEMENT_KEY) })
  const workspace = ((await manage.json()) as Json).data.id
  const made = await server.post(
    '/keys',
    { name: 'k', workspace_id: workspace },
    { headers: bearer(MANAGEMENT_KEY) },
  )
  const { key } = (await made.json()) as Json
  t.match(await refused({ id }, 'acme/voice', bearer(key)), refusal, 'from another workspace')
  t.equal(openAi.requests.length, before, 'nothing was sent')
})

test('what was said stands for an answer that this provider does not have', async (t) => {
  const messages = afterwards({ id: 'audio_elsewhere', transcript: 'Hello' })
  const told = await ask({ messages }, { 'X-Service-Metadata': 'enabled' })
  t.equal(told.status, 200)
  t.strictSame(told.json().service_metadata.untranslated, ['messages.audio'])
  t.strictSame(sentTo(openAi).messages[1], { role: 'assistant', content: 'Hello' })
  theirs.script = (peer) => peer.json({}, 500)
  await ask({ model: 'acme/both', messages })
  t.strictSame(sentTo(theirs).messages[1], {
    role: 'assistant',
    content: [{ type: 'text', text: 'Hello' }],
  })
})

function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` }
}
