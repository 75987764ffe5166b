/** Providers of kind elevenlabs, against a server that takes what ElevenLabs documents and nothing else. */
import tap, { test } from 'tap'
import { type SentForm, sentForm } from '../../support/clients/sent-form.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import {
  ELEVENLABS_KEY,
  ELEVENLABS_VOICE,
  strictElevenLabs,
} from '../../support/providers/strict-elevenlabs.js'
import { PRICES, startAudioGateway, TONE } from '../../support/servers/audio-gateway.js'

const service = await mockUpstream(tap)
const web = await mockUpstream(tap)
let heard: object = {}
service.script = strictElevenLabs(() => heard)

const endpoint = { provider: 'el', prices: PRICES }
const { transcribe, transcribeForm, speak } = await startAudioGateway(tap, {
  model: 'elevenlabs/scribe',
  voice: ELEVENLABS_VOICE,
  env: { EL_KEY: ELEVENLABS_KEY },
  config: {
    providers: {
      el: { kind: 'elevenlabs', base_url: service.origin, api_key_env: 'EL_KEY', breaker: false },
    },
    models: {
      'elevenlabs/scribe': {
        output_modalities: ['transcription'],
        supported_parameters: ['diarize', 'keyterms'],
        endpoints: [{ ...endpoint, upstream_model: 'scribe_v2' }],
      },
      'elevenlabs/scribe-voice': {
        output_modalities: ['speech'],
        supported_parameters: ['speed'],
        endpoints: [{ ...endpoint, upstream_model: 'eleven_flash_v2_5' }],
      },
    },
  },
})

const word = (text: string, start: number, speaker: string, type = 'word'): object[] => [
  { text, start, end: start + 0.4, type, speaker_id: speaker, logprob: 0 },
  { text: ' ', start: start + 0.4, end: start + 0.5, type: 'spacing', speaker_id: speaker, logprob: 0 },
]

const TALK = {
  language_code: 'eng',
  language_probability: 0.99,
  text: 'Hi Ada. (laughs) Hello.',
  words: [
    ...word('Hi', 0, 'speaker_0'),
    ...word('Ada.', 0.5, 'speaker_0'),
    ...word('(laughs)', 1, 'speaker_1', 'audio_event'),
    ...word('Hello.', 1.5, 'speaker_1').slice(0, 1),
  ],
  entities: [{ text: 'Ada', entity_type: 'name', start_char: 3, end_char: 6 }],
  transcription_id: 'tr-1',
  audio_duration_secs: 2,
}

const lastForm = (): SentForm => sentForm(service.requests.at(-1)!)

test('a recording goes as a form, and is paid by the second', async (t) => {
  heard = TALK
  for (const { status, said } of [await transcribe(), await transcribeForm()]) {
    t.equal(status, 200, JSON.stringify(said))
    t.match(said, { text: TALK.text, usage: { seconds: 2, cost: 0.0002 } })
    t.equal(service.requests.at(-1)!.path, '/v1/speech-to-text')
    t.same(lastForm(), {
      fields: [
        ['model_id', 'scribe_v2'],
        ['timestamps_granularity', 'word'],
      ],
      file: TONE,
    })
  }
})

test('speakers, key terms, language, events, sentences, entities and figures', async (t) => {
  heard = TALK
  const { status, said } = await transcribe({
    response_format: 'verbose_json',
    language: 'EN',
    temperature: 0.5,
    diarize: true,
    keyterms: ['Ada', 'Lovelace'],
    provider: { options: { el: { entity_detection: 'all', enable_logging: false, num_speakers: 2 } } },
  })
  t.equal(status, 200, JSON.stringify(said))
  t.equal(service.requests.at(-1)!.path, '/v1/speech-to-text?enable_logging=false')
  t.same(lastForm().fields, [
    ['model_id', 'scribe_v2'],
    ['timestamps_granularity', 'word'],
    ['language_code', 'en'],
    ['temperature', '0.5'],
    ['diarize', 'true'],
    ['keyterms', 'Ada'],
    ['keyterms', 'Lovelace'],
    ['entity_detection', 'all'],
    ['num_speakers', '2'],
  ])
  t.match(said, { language: 'eng', language_confidence: 0.99, duration: 2 })
  t.match(said.segments, [
    { id: 0, start: 0, end: 0.9, text: 'Hi Ada.', speaker: 0, speaker_label: 'speaker_0' },
    { id: 1, start: 1, end: 1.9, text: '(laughs) Hello.', speaker: 1, speaker_label: 'speaker_1' },
  ])
  t.same(said.words[2], {
    word: '(laughs)',
    start: 1,
    end: 1.4,
    confidence: 1,
    speaker: 1,
    speaker_label: 'speaker_1',
    type: 'audio_event',
  })
  t.equal(said.words.length, 4)
  t.same(said.entities, [{ text: 'Ada', type: 'name', start_char: 3, end_char: 6 }])
})

test('silence is an empty text, and is paid', async (t) => {
  heard = { language_code: 'eng', language_probability: 1, text: '', words: [], audio_duration_secs: 10 }
  t.match((await transcribe()).said, { text: '', usage: { seconds: 10, cost: 0.001 } })
})

test('an answer that does not say how long the recording is is paid to its last word', async (t) => {
  const { audio_duration_secs, ...rest } = TALK
  heard = rest
  t.match((await transcribe()).said, { usage: { seconds: 1.9 } })
})

test('channels that were told apart are each transcribed, and paid', async (t) => {
  const { audio_duration_secs, ...rest } = TALK
  heard = {
    transcripts: [
      { ...rest, channel_index: 0 },
      { ...rest, channel_index: 1 },
    ],
    audio_duration_secs,
  }
  const { said } = await transcribe({
    response_format: 'verbose_json',
    provider: { options: { el: { use_multi_channel: true } } },
  })
  t.equal(said.text, `${TALK.text}\n${TALK.text}`)
  t.same(
    said.segments.map(({ channel }: { channel: number }) => channel),
    [0, 1, 0, 1],
  )
  t.equal(said.usage.seconds, 4)
})

test('an encrypted address is handed on, any other is fetched here', async (t) => {
  heard = TALK
  const url = 'https://127.0.0.1:1/a.mp3'
  t.equal((await transcribe({ input_audio: { url } })).status, 200)
  t.same(lastForm(), {
    fields: [
      ['model_id', 'scribe_v2'],
      ['timestamps_granularity', 'word'],
      ['cloud_storage_url', url],
    ],
    file: null,
  })
  web.script = (peer) => peer.answer(200, TONE, { 'content-type': 'audio/mpeg' })
  t.equal((await transcribe({ input_audio: { url: `${web.origin}/a.mp3` } })).status, 200)
  t.equal(lastForm().file, TONE)
})

test('samples without a head are declared', async (t) => {
  heard = TALK
  const data = Buffer.from(TONE).toString('base64')
  t.equal((await transcribe({ input_audio: { data, format: 'pcm' } })).status, 200)
  t.same(lastForm().fields.at(-1), ['file_format', 'pcm_s16le_16'])
})

test('what the service does not have is named', async (t) => {
  heard = TALK
  const { said } = await transcribe({ prompt: 'names', chunking_strategy: 'auto' })
  t.same(said.service_metadata.untranslated, ['prompt', 'chunking_strategy'])
})

for (const options of [
  { webhook: true },
  { model_id: 'scribe_v1' },
  { cloud_storage_url: 'https://a.example' },
]) {
  test(`${Object.keys(options)[0]} among its options is refused`, async (t) => {
    const before = service.requests.length
    t.equal((await transcribe({ provider: { options: { el: options } } })).status, 400)
    t.equal(service.requests.length, before)
  })
}

test('what it says is wrong with a form is a 400 with its own words', async (t) => {
  const { status, said } = await transcribe({ temperature: 3 })
  t.equal(status, 400)
  t.match(said.error.metadata, { provider_code: 'invalid', raw: 'x: temperature has a wrong value' })
})

// ── Speech ──────────────────────────────────────────────────────────────────

for (const [format, type, asked] of [
  ['pcm', 'audio/pcm', 'pcm_24000'],
  ['mp3', 'audio/mpeg', 'mp3_44100_128'],
] as const) {
  test(`speech as ${format}`, async (t) => {
    const reply = await speak({ response_format: format, input: 'hello you' })
    t.equal(reply.headers.get('content-type'), type)
    t.equal(await reply.text(), 'onetwo')
    const { path, body } = service.requests.at(-1)!
    t.equal(path, `/v1/text-to-speech/${ELEVENLABS_VOICE}/stream?output_format=${asked}`)
    t.same(JSON.parse(body), { text: 'hello you', model_id: 'eleven_flash_v2_5' })
  })
}

test('speed stands among the settings of the voice, beside those of its options', async (t) => {
  const options = {
    el: { voice_settings: { stability: 0.4, speed: 1 }, seed: 7, optimize_streaming_latency: 2 },
  }
  await (await speak({ speed: 1.1, provider: { options } })).text()
  const { path, body } = service.requests.at(-1)!
  t.match(path, /output_format=pcm_24000&optimize_streaming_latency=2$/)
  t.match(JSON.parse(body), { seed: 7, voice_settings: { stability: 0.4, speed: 1.1 } })
})

for (const [what, more, sentence] of [
  ['a voice that it does not have', { voice: 'nobody' }, /nobody/],
  ['a voice that would leave its path', { voice: '..' }, /voice/],
  ['a voice with a query', { voice: 'a?b=c' }, /voice/],
  ['a speed beyond its own bounds', { speed: 9 }, /speed/],
  [
    'the calls of others',
    { provider: { options: { el: { previous_request_ids: ['x'] } } } },
    /previous_request_ids/,
  ],
] as const) {
  test(`speech: ${what} is a 400 that says so`, async (t) => {
    const reply = await speak(more)
    t.equal(reply.status, 400)
    t.match(await reply.text(), sentence)
  })
}
