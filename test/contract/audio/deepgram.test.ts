/** Providers of kind deepgram, against a server that takes what Deepgram documents and nothing else. */
import tap, { test } from 'tap'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { DEEPGRAM_KEY, strictDeepgram } from '../../support/providers/strict-deepgram.js'
import { PRICES, startAudioGateway, TONE } from '../../support/servers/audio-gateway.js'
import type { Json } from '../../support/servers/gateway-server.js'

const service = await mockUpstream(tap)
let heard: object = {}
service.script = strictDeepgram(() => heard)

const endpoint = { provider: 'dg', prices: PRICES }
const { transcribe, transcribeForm, speak } = await startAudioGateway(tap, {
  model: 'deepgram/nova-3',
  voice: 'thalia-en',
  env: { DG_KEY: DEEPGRAM_KEY },
  config: {
    providers: { dg: { kind: 'deepgram', base_url: service.origin, api_key_env: 'DG_KEY', breaker: false } },
    models: {
      'deepgram/nova-3': {
        output_modalities: ['transcription'],
        supported_parameters: ['diarize', 'keyterms'],
        endpoints: [{ ...endpoint, upstream_model: 'nova-3' }],
      },
      'deepgram/nova-3-voice': {
        output_modalities: ['speech'],
        supported_parameters: ['speed'],
        endpoints: [{ ...endpoint, upstream_model: 'aura-2' }],
      },
      'deepgram/even': {
        output_modalities: ['speech'],
        endpoints: [{ ...endpoint, upstream_model: 'aura-2' }],
      },
    },
  },
})

const word = (text: string, start: number, speaker: number): object => ({
  word: text.toLowerCase().replace(/\W/g, ''),
  punctuated_word: text,
  start,
  end: start + 0.5,
  confidence: 0.9,
  speaker,
  speaker_confidence: 0.5,
})

const TALK = {
  metadata: { request_id: 'dg-1', duration: 4.25, channels: 1, models: ['nova-3'] },
  results: {
    channels: [
      {
        detected_language: 'en',
        language_confidence: 0.97,
        alternatives: [
          {
            transcript: 'Hello Ada Lovelace. How are you?',
            confidence: 0.93,
            words: [
              word('Hello', 0, 0),
              word('Ada', 0.5, 0),
              word('Lovelace.', 1, 0),
              word('How', 2, 1),
              word('are', 2.5, 1),
              word('you?', 3, 1),
            ],
            entities: [{ label: 'NAME', value: ' Ada Lovelace', confidence: 1, start_word: 1, end_word: 3 }],
          },
        ],
      },
    ],
  },
}

const queryOf = (): [string, string][] => [
  ...new URL(service.requests.at(-1)!.path, 'http://service').searchParams,
]

test('a recording goes as it is, with its length and type, and is paid by the second', async (t) => {
  heard = TALK
  for (const { status, said } of [await transcribe(), await transcribeForm()]) {
    t.equal(status, 200, JSON.stringify(said))
    t.match(said, { text: 'Hello Ada Lovelace. How are you?', usage: { seconds: 4.25, cost: 0.000425 } })
    t.notOk('words' in said)
    const { path, headers, body } = service.requests.at(-1)!
    t.match(path, /^\/v1\/listen\?/)
    t.match(headers, { 'content-type': 'audio/mpeg', 'content-length': String(TONE.length) })
    t.equal(body, TONE)
    t.same(queryOf(), [
      ['model', 'nova-3'],
      ['smart_format', 'true'],
      ['detect_language', 'true'],
    ])
  }
})

test('speakers, key terms, language, sentences, entities and figures', async (t) => {
  heard = TALK
  const { status, said } = await transcribe({
    response_format: 'verbose_json',
    language: 'en',
    diarize: true,
    keyterms: ['Ada', 'Lovelace & co'],
    provider: { options: { dg: { detect_entities: true } } },
  })
  t.equal(status, 200, JSON.stringify(said))
  t.same(queryOf(), [
    ['model', 'nova-3'],
    ['smart_format', 'true'],
    ['detect_entities', 'true'],
    ['language', 'en'],
    ['diarize', 'true'],
    ['keyterm', 'Ada'],
    ['keyterm', 'Lovelace & co'],
  ])
  t.match(said, {
    task: 'transcribe',
    language: 'en',
    language_confidence: 0.97,
    duration: 4.25,
    confidence: 0.93,
  })
  t.match(said.segments, [
    {
      id: 0,
      start: 0,
      end: 1.5,
      text: 'Hello Ada Lovelace.',
      speaker: 0,
      speaker_label: 'speaker_0',
      tokens: [],
    },
    {
      id: 1,
      start: 2,
      end: 3.5,
      text: 'How are you?',
      speaker: 1,
      speaker_label: 'speaker_1',
      avg_logprob: 0,
    },
  ])
  t.equal(said.words.length, 6)
  t.same(said.words[2], {
    word: 'Lovelace.',
    start: 1,
    end: 1.5,
    confidence: 0.9,
    speaker: 0,
    speaker_label: 'speaker_0',
  })
  t.same(said.entities, [{ text: 'Ada Lovelace', type: 'NAME', start_char: 6, end_char: 18 }])
  t.equal(said.text.slice(6, 18), 'Ada Lovelace')
})

test('silence is an empty text, and is paid', async (t) => {
  const channels = [{ alternatives: [{ transcript: '', confidence: 0, words: [] }] }]
  heard = { metadata: { duration: 10 }, results: { channels } }
  const { said } = await transcribe({ response_format: 'verbose_json' })
  t.match(said, { text: '', segments: [], usage: { seconds: 10, cost: 0.001 } })
})

test('channels that were told apart are each transcribed, and paid', async (t) => {
  const [channel] = TALK.results.channels
  heard = { ...TALK, results: { channels: [channel, channel] } }
  const { said } = await transcribe({
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
    provider: { options: { dg: { multichannel: true } } },
  })
  t.equal(said.text, 'Hello Ada Lovelace. How are you?\nHello Ada Lovelace. How are you?')
  t.same(
    said.words.slice(0, 2).map(({ word: text, channel: at }: Json) => [text, at]),
    [
      ['Hello', 0],
      ['Hello', 1],
    ],
  )
  t.same(
    said.segments.map(({ id, channel: at }: Json) => [id, at]),
    [
      [0, 0],
      [1, 1],
      [2, 0],
      [3, 1],
    ],
  )
  t.same(
    said.entities.map(({ start_char, end_char }: Json) => said.text.slice(start_char, end_char)),
    ['Ada Lovelace', 'Ada Lovelace'],
  )
  t.equal(said.usage.seconds, 8.5)
})

test('an address is handed on: the service fetches it', async (t) => {
  heard = TALK
  const url = 'http://127.0.0.1:1/a.mp3?x=1'
  const { status } = await transcribe({ input_audio: { url } })
  t.equal(status, 200)
  t.equal(service.requests.at(-1)!.body, JSON.stringify({ url }))
})

test('samples without a head are declared', async (t) => {
  heard = TALK
  const data = Buffer.from(TONE).toString('base64')
  t.equal((await transcribe({ input_audio: { data, format: 'pcm' } })).status, 200)
  t.same(queryOf().slice(-3), [
    ['encoding', 'linear16'],
    ['sample_rate', '16000'],
    ['channels', '1'],
  ])
})

test('what the service does not have is named', async (t) => {
  heard = TALK
  const { status, said } = await transcribe({ temperature: 0.2, prompt: 'names', zz: 1 })
  t.equal(status, 200)
  t.same(said.service_metadata.untranslated, ['zz', 'temperature', 'prompt'])
})

test('its options may say otherwise than what is usual', async (t) => {
  heard = TALK
  const options = { dg: { smart_format: false, detect_language: false, redact: ['pci', 'numbers'] } }
  t.equal((await transcribe({ provider: { options } })).status, 200)
  t.same(queryOf().slice(1), [
    ['smart_format', 'false'],
    ['detect_language', 'false'],
    ['redact', 'pci'],
    ['redact', 'numbers'],
  ])
})

for (const options of [
  { callback: 'https://thief.example' },
  { model: 'nova-2' },
  { diarize: true },
  { tag: 'me' },
]) {
  test(`${Object.keys(options)[0]} among its options is refused`, async (t) => {
    const before = service.requests.length
    const { status, said } = await transcribe({ provider: { options: { dg: options } } })
    t.equal(status, 400)
    t.match(said.error.message, /provider\.options\.dg/)
    t.equal(service.requests.length, before)
  })
}

test('an option that it does not know is a 400 with its own words', async (t) => {
  const { status, said } = await transcribe({ provider: { options: { dg: { wings: 2 } } } })
  t.equal(status, 400)
  t.match(said.error.metadata, { provider_code: 'INVALID_QUERY_PARAMETER', raw: 'wings is not a member' })
})

for (const [what, answer] of [
  ['no channels', { metadata: { duration: 1 }, results: { channels: [] } }],
  ['an order number alone', { request_id: 'dg-1' }],
] as const) {
  test(`an answer with ${what} is a 502`, async (t) => {
    heard = answer
    t.equal((await transcribe()).status, 502)
  })
}

test('key terms that would make an address too long are refused, and nothing is sent', async (t) => {
  const before = service.requests.length
  const keyterms = Array.from({ length: 100 }, (_, at) => `${at}${'x'.repeat(900)}`)
  const { status, said } = await transcribe({ keyterms })
  t.equal(status, 400)
  t.match(said.error.message, /keyterms .* too long for this provider/)
  t.equal(service.requests.length, before)
})

test('an answer that does not say how long the recording is is paid by its size, as an estimate', async (t) => {
  heard = { results: TALK.results }
  const { said } = await transcribe()
  t.match(said, { usage: { seconds: 1, cost: 0.0001 }, service_metadata: { usage_estimated: true } })
})

// ── Speech ──────────────────────────────────────────────────────────────────

test('speech comes as samples without a head, at the rate that is declared', async (t) => {
  const reply = await speak({ input: 'hello you' })
  t.equal(reply.status, 200)
  t.equal(reply.headers.get('content-type'), 'audio/pcm')
  t.equal(reply.headers.get('x-audio-sample-rate'), '24000')
  t.equal(await reply.text(), 'onetwo')
  t.same(queryOf(), [
    ['model', 'aura-2-thalia-en'],
    ['encoding', 'linear16'],
    ['container', 'none'],
    ['sample_rate', '24000'],
  ])
  t.same(JSON.parse(service.requests.at(-1)!.body), { text: 'hello you' })
})

test('speech as MP3, with the full name of a voice, at another speed', async (t) => {
  const reply = await speak({ voice: 'aura-2-apollo-en', response_format: 'mp3', speed: 1.2 })
  t.equal(reply.headers.get('content-type'), 'audio/mpeg')
  await reply.text()
  t.same(queryOf(), [
    ['model', 'aura-2-apollo-en'],
    ['encoding', 'mp3'],
    ['speed', '1.2'],
  ])
})

test('a speed is not sent where it is not supported', async (t) => {
  t.equal(await (await speak({ model: 'deepgram/even', speed: 1.2, instructions: 'calm' })).text(), 'onetwo')
  t.notOk(queryOf().some(([name]) => name === 'speed'))
})

for (const [what, more, status] of [
  ['a voice that is none', { voice: 'nobody' }, 400],
  ['a speed beyond its own bounds', { speed: 9 }, 400],
  ['more text than it takes', { input: 'x'.repeat(2_001) }, 413],
] as const) {
  test(`speech: ${what} is a ${status}`, async (t) => {
    t.equal((await speak(more)).status, status)
  })
}
