/** Providers of kind assemblyai, against a server that takes what AssemblyAI documents and nothing else. */
import tap, { test } from 'tap'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { ASSEMBLYAI_KEY, strictAssemblyAi } from '../../support/providers/strict-assemblyai.js'
import { PRICES, startAudioGateway, TONE } from '../../support/servers/audio-gateway.js'
import { MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'

const service = await mockUpstream(tap)
let heard: object = {}
const { script, uploads, statuses, transcripts, endless } = strictAssemblyAi(() => heard)
service.script = script

const { server, transcribe, transcribeForm } = await startAudioGateway(tap, {
  model: 'assemblyai/universal',
  env: { AA_KEY: ASSEMBLYAI_KEY },
  config: {
    limits: { inference_deadline_ms: 5_000 },
    providers: {
      aa: { kind: 'assemblyai', base_url: service.origin, api_key_env: 'AA_KEY', breaker: false },
    },
    models: {
      'assemblyai/universal': {
        output_modalities: ['transcription'],
        supported_parameters: ['diarize', 'keyterms'],
        endpoints: [{ provider: 'aa', prices: PRICES, upstream_model: 'universal-3-5-pro' }],
      },
    },
  },
})

const word = (text: string, start: number, speaker: string | null): object => ({
  text,
  start,
  end: start + 400,
  confidence: 0.9,
  speaker,
})

const TALK = {
  text: 'Hi Ada Lovelace. Hello.',
  confidence: 0.95,
  language_code: 'en',
  language_confidence: 0.99,
  audio_duration: 3,
  error: null,
  words: [
    word('Hi', 0, 'A'),
    word('Ada', 500, 'A'),
    word('Lovelace.', 1_000, 'A'),
    word('Hello.', 1_500, 'B'),
  ],
  entities: [{ entity_type: 'person_name', text: 'Ada Lovelace', start: 500, end: 1_400 }],
}

/** The last orders of a transcript, as they were sent. */
const lastOrder = (): Record<string, unknown> =>
  JSON.parse(
    service.requests.findLast(({ path, method }) => path === '/v2/transcript' && method === 'POST')!.body,
  )

test('a recording is put there, ordered and asked for until it is done; it is paid by the second', async (t) => {
  heard = TALK
  statuses.push('queued', 'processing')
  for (const ask of [transcribe, transcribeForm]) {
    const before = service.requests.length
    const { status, said } = await ask()
    t.equal(status, 200, JSON.stringify(said))
    t.match(said, { text: TALK.text, usage: { seconds: 3, cost: 0.0003 } })
    const steps = service.requests.slice(before).map(({ method, path }) => `${method} ${path.slice(0, 15)}`)
    t.same(
      steps,
      [
        'POST /v2/upload',
        'POST /v2/transcript',
        'GET /v2/transcript/',
        'GET /v2/transcript/',
        'GET /v2/transcript/',
      ].map((step) => step.slice(0, step.indexOf('/') + 15)),
    )
    t.equal(uploads.at(-1), TONE)
    t.same(lastOrder(), {
      language_detection: true,
      audio_url: `https://cdn.assemblyai.com/upload/${uploads.length}`,
      speech_models: ['universal-3-5-pro'],
    })
  }
  statuses.length = 0
})

test('speakers, key terms, language, sentences, entities and figures', async (t) => {
  heard = TALK
  const { status, said } = await transcribe({
    response_format: 'verbose_json',
    language: 'en',
    temperature: 0.2,
    diarize: true,
    keyterms: ['Ada', 'Lovelace'],
    provider: { options: { aa: { entity_detection: true, speakers_expected: 2 } } },
  })
  t.equal(status, 200, JSON.stringify(said))
  const { audio_url: _, ...order } = lastOrder()
  t.same(order, {
    entity_detection: true,
    speakers_expected: 2,
    speech_models: ['universal-3-5-pro'],
    language_code: 'en',
    temperature: 0.2,
    speaker_labels: true,
    keyterms_prompt: ['Ada', 'Lovelace'],
  })
  t.match(said, { language: 'en', language_confidence: 0.99, duration: 3, confidence: 0.95 })
  t.match(said.segments, [
    { id: 0, start: 0, end: 1.4, text: 'Hi Ada Lovelace.', speaker: 0, speaker_label: 'A' },
    { id: 1, start: 1.5, end: 1.9, text: 'Hello.', speaker: 1, speaker_label: 'B' },
  ])
  t.same(said.words[3], {
    word: 'Hello.',
    start: 1.5,
    end: 1.9,
    confidence: 0.9,
    speaker: 1,
    speaker_label: 'B',
  })
  t.same(said.entities, [{ text: 'Ada Lovelace', type: 'person_name', start_char: 3, end_char: 15 }])
})

test('an address is handed on: the service fetches it', async (t) => {
  heard = TALK
  const [url, before] = ['http://127.0.0.1:1/a.mp3', uploads.length]
  t.equal((await transcribe({ input_audio: { url } })).status, 200)
  t.equal(lastOrder().audio_url, url)
  t.equal(uploads.length, before)
})

test('samples without a head are put there as a WAV file', async (t) => {
  heard = TALK
  const data = Buffer.from('ab'.repeat(50)).toString('base64')
  t.equal((await transcribe({ input_audio: { data, format: 'pcm' } })).status, 200)
  const file = uploads.at(-1)!
  t.match(file, /^RIFF/)
  t.match(file, /WAVEfmt /)
  t.ok(file.endsWith('ab'.repeat(50)))
})

for (const [how, answer, usage] of [
  ['a text that is null', { text: null, words: [], audio_duration: 10 }, { seconds: 10, cost: 0.001 }],
  ['a text that is empty', { text: '', words: null, audio_duration: 10 }, { seconds: 10, cost: 0.001 }],
  [
    'a language that could not be detected',
    {
      status: 'error',
      error: 'language_detection cannot be performed on files with no spoken audio.',
      audio_duration: 10,
    },
    // It charges nothing for what it calls an error.
    { cost: 0 },
  ],
] as const) {
  test(`silence, told as ${how}, is an empty text, paid as it is there`, async (t) => {
    heard = answer
    const { status, said } = await transcribe()
    t.equal(status, 200, JSON.stringify(said))
    t.equal(said.text, '')
    t.same(said.usage, usage)
  })
}

test('a recording that it cannot read is a 400 with its own words', async (t) => {
  heard = { status: 'error', error: 'Transcoding failed. File does not appear to contain audio.', text: null }
  const { status, said } = await transcribe()
  t.equal(status, 400)
  t.match(said.error.metadata.raw, /does not appear to contain audio/)
})

test('a failure of its own is a 502, and has cost nothing', async (t) => {
  heard = {
    status: 'error',
    error: 'Server error, developers have been alerted. Please try again.',
    text: null,
  }
  const { status, headers } = await transcribe()
  t.equal(status, 502)
  const row = await server.get(`/generation?id=${headers.get('x-generation-id')}`, MANAGEMENT_KEY)
  const { data } = (await row.json()) as { readonly data: { readonly lost_attempts: unknown } }
  t.same(data.lost_attempts, [])
})

test('what it refuses of an order is a 400 with its own words', async (t) => {
  const { status, said } = await transcribe({ temperature: 3 })
  t.equal(status, 400)
  t.equal(said.error.metadata.raw, 'temperature has a wrong value')
})

for (const options of [{ webhook_url: 'https://thief.example' }, { speech_models: ['universal-2'] }]) {
  test(`${Object.keys(options)[0]} among its options is refused`, async (t) => {
    const before = service.requests.length
    t.equal((await transcribe({ provider: { options: { aa: options } } })).status, 400)
    t.equal(service.requests.length, before)
  })
}

test('an answer that got lost is asked for again', async (t) => {
  heard = TALK
  let lost = 0
  service.script = (peer, request) => {
    if (request.method !== 'GET' || lost === 2) return script(peer, request)
    lost++
    if (lost === 1) peer.json({ error: 'busy' }, 503)
    else peer.reset()
  }
  t.equal((await transcribe()).status, 200)
  t.equal(lost, 2)
  service.script = script
})

test('a transcript that takes longer than the call may is a timeout', async (t) => {
  heard = { status: 'processing' }
  const { status, said } = await transcribe()
  t.equal(status, 524)
  t.equal(said.error.metadata.error_type, 'timeout')
})

test('a caller who leaves ends the questions', async (t) => {
  heard = { status: 'processing' }
  const leave = new AbortController()
  let seen = 0
  service.script = (peer, request) => {
    script(peer, request)
    if (request.method === 'GET' && ++seen === 2) leave.abort()
  }
  const form = new FormData()
  form.append('model', 'assemblyai/universal')
  form.append('file', new Blob([TONE]), 'a.mp3')
  const { signal } = leave
  await t.rejects(server.post('/audio/transcriptions', form, { key: MANAGEMENT_KEY, signal }))
  service.script = script
  const left = transcripts.at(-1)!
  endless.add(left)
  heard = TALK
  statuses.push('queued', 'processing', 'processing')
  const countOf = (path: string) => service.requests.filter((request) => request.path === path).length
  // The next call takes longer than two more questions of the one before would have waited.
  t.equal((await transcribe()).status, 200)
  t.equal(countOf(transcripts.at(-1)!), 4)
  // A server that is kept from its core sees late that a caller has left: it may have asked once more, and not on and on.
  t.ok(countOf(left) <= 3, `${countOf(left)} questions for a caller who left after two`)
})
