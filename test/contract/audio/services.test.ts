/** What services of speech and transcription have in common: their failures, rescue, and what the configuration says. */
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import tap, { test } from 'tap'
import { failureOf } from '../../support/clients/failure-of.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { mockUpstream, type Peer } from '../../support/providers/mock-upstream.js'
import { startAudioGateway } from '../../support/servers/audio-gateway.js'
import { API_KEY, type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'

const service = await mockUpstream(tap)
const rescuer = await mockUpstream(tap)

const KINDS = ['deepgram', 'elevenlabs', 'assemblyai'] as const
const SECRET = 'a-secret-of-the-operator-1234'

const models = KINDS.flatMap((kind) => {
  const ears = {
    output_modalities: ['transcription'],
    endpoints: [{ provider: kind }, { provider: 'rescuer', prices: { audio_second: '0.0001' } }],
  }
  const voice = { output_modalities: ['speech'], endpoints: [{ provider: kind }] }
  return [
    [`acme/${kind}`, { output_modalities: ['transcription'], endpoints: [{ provider: kind }] }],
    [`acme/${kind}-rescued`, ears],
    ...(kind === 'assemblyai' ? [] : [[`acme/${kind}-voice`, voice]]),
  ]
})

const { server, transcribe, speak } = await startAudioGateway(tap, {
  model: 'acme/deepgram',
  voice: 'someone',
  env: { SERVICE_KEY: SECRET },
  config: {
    providers: {
      rescuer: { kind: 'openai', base_url: `${rescuer.origin}/v1`, breaker: false },
      ...Object.fromEntries(
        KINDS.map((kind) => [
          kind,
          { kind, name: kind, base_url: service.origin, api_key_env: 'SERVICE_KEY', breaker: false },
        ]),
      ),
    },
    models: Object.fromEntries(models),
  },
})

/** An error as each service writes it. */
const WRITTEN: Readonly<Record<(typeof KINDS)[number], (message: string) => object>> = {
  deepgram: (err_msg) => ({ err_code: 'SOMETHING', err_msg, request_id: 'x' }),
  elevenlabs: (message) => ({ detail: { status: 'something', message } }),
  assemblyai: (error) => ({ error }),
}

const STATUSES = [
  [400, 400, 'invalid_request'],
  [401, 502, 'provider_unavailable'],
  [402, 502, 'provider_unavailable'],
  [413, 413, 'payload_too_large'],
  [422, 400, 'invalid_request'],
  [429, 429, 'rate_limit_exceeded'],
  [500, 502, 'provider_unavailable'],
  [503, 503, 'provider_overloaded'],
  [504, 524, 'timeout'],
] as const

for (const kind of KINDS) {
  for (const [answered, told, type] of STATUSES) {
    test(`${kind}: a ${answered} is a ${told}`, async (t) => {
      service.script = (peer) =>
        peer.json(WRITTEN[kind](`no, because of ${SECRET}`), answered, { 'retry-after': '7' })
      const { status, headers, said } = await transcribe({ model: `acme/${kind}` })
      t.equal(status, told, JSON.stringify(said))
      t.match(said.error.metadata, { error_type: type, provider_name: kind })
      t.notMatch(JSON.stringify(said), SECRET)
      if (told === 400) t.match(said.error.metadata.raw, 'no, because of [redacted]')
      if (told === 429) t.equal(headers.get('retry-after'), '7')
    })
  }

  test(`${kind}: what is no JSON, and what is cut, is a 502`, async (t) => {
    const cut = (peer: Peer): void => {
      peer.head(200, { 'content-type': 'application/json', 'content-length': '99' })
      peer.write('{"text":')
      peer.cut()
    }
    for (const script of [(peer: Peer) => peer.answer(200, '<html>', { 'content-type': 'text/html' }), cut]) {
      service.script = script
      t.equal((await transcribe({ model: `acme/${kind}` })).status, 502)
    }
  })

  test(`${kind}: another endpoint gets the recording when this one fails`, async (t) => {
    service.script = (peer) => peer.json(WRITTEN[kind]('out of order'), 500)
    rescuer.script = (peer) => peer.json({ text: 'rescued', duration: 2 })
    const order = { order: [kind, 'rescuer'] }
    const { status, said } = await transcribe({ model: `acme/${kind}-rescued`, provider: order })
    t.equal(status, 200)
    t.match(said, { text: 'rescued', usage: { seconds: 2, cost: 0.0002 } })
    t.match(said.service_metadata.attempts, [
      { provider: kind, status: 500 },
      { provider: 'rescuer', status: 200 },
    ])
  })

  if (kind === 'assemblyai') continue

  test(`${kind}: speech that fails is told in words, and speech that breaks off is no complete body`, async (t) => {
    service.script = (peer) => peer.json(WRITTEN[kind]('no such thing'), 400)
    const refused = await speak({ model: `acme/${kind}-voice` })
    t.equal(refused.status, 400)
    t.match(((await refused.json()) as Json).error.metadata.raw, 'no such thing')
    service.script = (peer) => {
      peer.head(200, { 'content-type': 'audio/mpeg', 'transfer-encoding': 'chunked' })
      peer.chunk('half')
      peer.reset()
    }
    const broken = await speak({ model: `acme/${kind}-voice` })
    t.equal(broken.status, 200)
    await t.rejects(broken.arrayBuffer())
  })
}

test('the public client uploads a file that is read while it is sent, and speaks', async (t) => {
  const listener = new OpenAI({ apiKey: MANAGEMENT_KEY, baseURL: server.apiUrl, maxRetries: 0 })
  const path = join(tempFolder(t), 'speech.mp3')
  writeFileSync(path, `ID3${'x'.repeat(300_000)}`)
  const words = [{ word: 'hi', punctuated_word: 'Hi.', start: 0, end: 1, confidence: 1 }]
  service.script = (peer) =>
    peer.json({
      metadata: { duration: 1 },
      results: { channels: [{ alternatives: [{ transcript: 'Hi.', words }] }] },
    })
  const heard = await listener.audio.transcriptions.create({
    file: createReadStream(path),
    model: 'acme/deepgram',
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  })
  t.equal(heard.text, 'Hi.')
  t.same([heard.words?.length, heard.segments?.[0]?.text], [1, 'Hi.'])
  t.equal(Number(service.requests.at(-1)!.headers['content-length']), 300_003)
  const streamed = listener.audio.transcriptions.create({
    file: createReadStream(path),
    model: 'acme/deepgram',
    stream: true,
  })
  t.ok((await failureOf(streamed)) instanceof OpenAI.BadRequestError)
  service.script = (peer) => peer.answer(200, 'sound', { 'content-type': 'audio/mpeg' })
  const speaker = new OpenAI({ apiKey: API_KEY, baseURL: server.apiUrl, maxRetries: 0 })
  const spoken = await speaker.audio.speech.create({
    model: 'acme/elevenlabs-voice',
    voice: 'someone',
    input: 'hello',
    response_format: 'mp3',
  })
  t.equal(Buffer.from(await spoken.arrayBuffer()).toString(), 'sound')
})

test('such a provider is asked for nothing but sound', async (t) => {
  const body = { model: 'acme/deepgram', messages: [{ role: 'user', content: 'hi' }] }
  for (const path of ['/chat/completions', '/messages'])
    t.equal((await server.post(path, { ...body, max_tokens: 5 })).status, 404)
})
