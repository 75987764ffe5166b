/** What services of speech and transcription have in common: their failures, rescue, and what the configuration says. */
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import tap, { test } from 'tap'
import { seededRandom } from '../../../src/base/random.js'
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

// ── Answers of any shape ────────────────────────────────────────────────────

const word = {
  text: 'Hi.',
  word: 'hi',
  punctuated_word: 'Hi.',
  start: 0,
  end: 1,
  confidence: 1,
  logprob: 0,
  speaker: 0,
}

/** A whole answer of each service, of which parts are then replaced. */
const WHOLE: Readonly<Record<(typeof KINDS)[number], object>> = {
  deepgram: {
    metadata: { duration: 1 },
    results: {
      channels: [
        {
          detected_language: 'en',
          alternatives: [
            {
              transcript: 'Hi.',
              words: [word],
              entities: [{ label: 'A', value: 'Hi', start_word: 0, end_word: 1 }],
            },
          ],
        },
      ],
    },
  },
  elevenlabs: {
    text: 'Hi.',
    language_code: 'eng',
    words: [{ ...word, type: 'word', speaker_id: 'a' }],
    entities: [{ text: 'Hi', entity_type: 'A', start_char: 0, end_char: 2 }],
    audio_duration_secs: 1,
  },
  assemblyai: {
    id: 'one',
    upload_url: 'https://cdn.example/1',
    status: 'completed',
    text: 'Hi.',
    words: [word],
    entities: [{ entity_type: 'A', text: 'Hi', start: 0, end: 1 }],
    audio_duration: 1,
    error: null,
  },
}

const JUNK = [null, '', 'x', -1, 1e300, true, [], {}, [null], [[]], ['x'], { a: 1 }, [{}], 'x'.repeat(1_000)]

/** A copy in which each part may have been replaced by something else. */
function mutated(value: unknown, random: () => number): unknown {
  if (random() < 0.08) return JUNK[Math.floor(random() * JUNK.length)]
  if (Array.isArray(value)) return value.map((each) => mutated(each, random))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mutated(each, random)]))
}

/** AssemblyAI is first asked whether it is done a quarter of a second behind an order. */
const RUNS = { deepgram: 150, elevenlabs: 150, assemblyai: 25 } as const

for (const kind of KINDS) {
  test(`${kind}: whatever it answers is a transcript or no answer, and the next call is served`, async (t) => {
    const random = seededRandom(17)
    let transcripts = 0
    const asked = {
      model: `acme/${kind}`,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    }
    for (let run = 0; run < RUNS[kind]; run++) {
      const answer = mutated(WHOLE[kind], random)
      service.script = (peer) => peer.json(answer)
      const { status, said } = await transcribe(asked)
      if (status === 200) {
        transcripts++
        t.equal(typeof said.text, 'string')
        t.ok(said.usage.cost >= 0)
      } else if (status !== 502 && status !== 400) t.fail(`${status} for ${JSON.stringify(answer)}`)
    }
    t.ok(transcripts > 2 && transcripts < RUNS[kind])
    service.script = (peer) => peer.json(WHOLE[kind])
    t.match(await transcribe(asked), {
      status: 200,
      said: { text: 'Hi.', words: [{ word: 'Hi.' }], entities: [{ text: 'Hi' }] },
    })
  })
}
