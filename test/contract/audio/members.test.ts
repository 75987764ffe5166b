/** What a member of a transcription or of speech comes to: executed, passed on, told or refused (contract/decisions 46). */
import tap, { test } from 'tap'
import { sentForm } from '../../support/clients/sent-form.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { API_KEY, type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const upstream = await mockUpstream(tap)
const other = await mockUpstream(tap)

const provider = (origin: string): object => ({
  kind: 'openai',
  base_url: `${origin}/v1`,
  breaker: false,
  extra_members: ['vad_filter', 'hotwords', 'accent'],
})
const audio_second = '0.0001'

const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    providers: { first: provider(upstream.origin), second: provider(other.origin) },
    models: {
      'acme/ears': {
        output_modalities: ['transcription'],
        supported_parameters: ['diarize', 'keyterms'],
        endpoints: [{ provider: 'first', prices: { audio_second } }],
      },
      'acme/diarizer': {
        output_modalities: ['transcription'],
        supported_parameters: ['diarize'],
        endpoints: [{ provider: 'first', upstream_model: 'gpt-4o-transcribe-diarize' }],
      },
      'acme/both-ears': {
        output_modalities: ['transcription'],
        endpoints: [
          { provider: 'first', prices: { audio_second } },
          { provider: 'second', prices: { audio_second } },
        ],
      },
      'acme/voice': {
        output_modalities: ['speech'],
        supported_parameters: ['speed'],
        endpoints: [{ provider: 'first' }],
      },
      'acme/led': {
        output_modalities: ['speech'],
        supported_parameters: ['instructions'],
        endpoints: [{ provider: 'first' }],
      },
      'acme/monotone': { output_modalities: ['speech'], endpoints: [{ provider: 'first' }] },
    },
  },
})
tap.teardown(() => server.stop())

const TONE = `ID3${'sound'.repeat(2_000)}`
const METADATA = { 'X-Service-Metadata': 'enabled' }

const inline = (more: object = {}): object => ({
  model: 'acme/ears',
  input_audio: { data: Buffer.from(TONE).toString('base64'), format: 'mp3' },
  ...more,
})

function form(fields: Readonly<Record<string, string>>): FormData {
  const body = new FormData()
  body.append('file', new Blob([TONE]), 'a.mp3')
  for (const [name, value] of Object.entries({ model: 'acme/ears', ...fields })) body.append(name, value)
  return body
}

async function transcribe(body: unknown): Promise<{ readonly status: number; readonly said: Json }> {
  const reply = await server.post('/audio/transcriptions', body, { key: MANAGEMENT_KEY, headers: METADATA })
  return { status: reply.status, said: await reply.json() }
}

async function speak(more: object): Promise<Response> {
  const body = { model: 'acme/voice', input: 'hello', voice: 'ada', ...more }
  return server.post('/audio/speech', body, { key: API_KEY })
}

const DIARIZED = {
  text: 'hi ho',
  duration: 2,
  segments: [{ start: 0, end: 2, text: 'hi ho', speaker: 'A' }],
  words: [
    { word: 'hi', start: 0, end: 1, speaker: 'A' },
    { word: 'ho', start: 1, end: 2, speaker: 'B' },
  ],
}

for (const granularities of [undefined, ['segment'], ['word']]) {
  test(`diarization delivers words with speaker and label where granularities are ${granularities}`, async (t) => {
    upstream.script = (peer) => peer.json(DIARIZED)
    const asked = granularities === undefined ? {} : { timestamp_granularities: granularities }
    const { said } = await transcribe(inline({ response_format: 'verbose_json', diarize: true, ...asked }))
    t.same(said.words, [
      { word: 'hi', start: 0, end: 1, speaker: 0, speaker_label: 'A' },
      { word: 'ho', start: 1, end: 2, speaker: 1, speaker_label: 'B' },
    ])
    const { fields } = sentForm(upstream.requests.at(-1)!)
    const sent = fields.filter(([name]) => name === 'timestamp_granularities[]').map(([, value]) => value)
    t.ok(sent.includes('word'), 'the provider is asked for words')
    t.equal(sent.length, new Set(sent).size)
    if (granularities?.[0] !== 'word') t.ok(sent.includes('segment'), 'and for what was asked')
  })
}

test('a model of OpenAI’s own that tells speakers apart is asked in its own format', async (t) => {
  const segment = {
    type: 'transcript.text.segment',
    id: 'seg_0',
    start: 0,
    end: 2,
    text: 'hi ho',
    speaker: 'A',
  }
  const usage = { type: 'tokens', input_tokens: 20, output_tokens: 4, total_tokens: 24 }
  upstream.script = (peer) =>
    peer.json({ task: 'transcribe', duration: 2, text: 'hi ho', segments: [segment], usage })
  const asked = { model: 'acme/diarizer', response_format: 'verbose_json', diarize: true }
  const { status, said } = await transcribe(inline({ ...asked, timestamp_granularities: ['word'] }))
  t.equal(status, 200, JSON.stringify(said))
  t.same(sentForm(upstream.requests.at(-1)!).fields, [
    ['model', 'gpt-4o-transcribe-diarize'],
    ['response_format', 'diarized_json'],
    ['chunking_strategy', 'auto'],
  ])
  t.match(said.segments, [{ id: 0, start: 0, end: 2, text: 'hi ho', speaker: 0, speaker_label: 'A' }])
  t.equal((await transcribe(inline({ model: 'acme/diarizer' }))).status, 200)
  t.same(sentForm(upstream.requests.at(-1)!).fields.at(-1), ['response_format', 'json'])
})

test('a speaker that is a number has a label as well', async (t) => {
  upstream.script = (peer) =>
    peer.json({ text: 'hi', duration: 1, words: [{ word: 'hi', start: 0, end: 1, speaker: 3 }] })
  const { said } = await transcribe(inline({ response_format: 'verbose_json', diarize: true }))
  t.match(said.words, [{ speaker: 3, speaker_label: 'speaker_3' }])
})

test('silence is an empty text, and is paid', async (t) => {
  upstream.script = (peer) => peer.json({ text: '', duration: 4 })
  for (const body of [inline(), form({})]) {
    const { status, said } = await transcribe(body)
    t.equal(status, 200)
    t.match(said, { text: '', usage: { seconds: 4, cost: 0.0004 } })
  }
})

test('a body whose text is no text is still no answer', async (t) => {
  upstream.script = (peer) => peer.json({ text: null, duration: 4 })
  t.equal((await transcribe(inline())).status, 502)
})

for (const temperature of [-1, 1.5, 1e300]) {
  test(`a temperature of ${temperature} is for the provider to judge`, async (t) => {
    upstream.script = (peer) => peer.json({ text: 'hi', duration: 1 })
    for (const body of [inline({ temperature }), form({ temperature: String(temperature) })]) {
      t.equal((await transcribe(body)).status, 200)
      const { fields } = sentForm(upstream.requests.at(-1)!)
      t.same(
        fields.filter(([name]) => name === 'temperature'),
        [['temperature', String(temperature)]],
      )
    }
  })
}

for (const speed of [0.1, 9, -1]) {
  test(`a speed of ${speed} is for the provider to judge`, async (t) => {
    upstream.script = (peer) => peer.answer(200, 'sound', { 'content-type': 'audio/mpeg' })
    t.equal((await speak({ speed })).status, 200)
    t.equal(JSON.parse(upstream.requests.at(-1)!.body).speed, speed)
  })
}

test('a number that is none is refused', async (t) => {
  const json = JSON.stringify(inline()).replace('{', '{"temperature":1e999,')
  for (const body of [Buffer.from(json), form({ temperature: '1e999' }), form({ temperature: '0x10' })]) {
    const headers: Record<string, string> =
      body instanceof FormData ? {} : { 'Content-Type': 'application/json' }
    const reply = await server.post('/audio/transcriptions', body, { key: MANAGEMENT_KEY, headers })
    t.equal(reply.status, 400)
    t.match(((await reply.json()) as Json).error.message, /temperature/)
  }
})

test('a session of a transcription binds no call to an endpoint and reaches no provider', async (t) => {
  upstream.script = (peer) => peer.json({ text: 'hi', duration: 1 })
  other.script = (peer) => peer.json({ text: 'hi', duration: 1 })
  const [first, second] = [upstream.requests.length, other.requests.length]
  // A session that bound its calls would send all of them to one of two endpoints that are alike.
  for (let at = 0; at < 24; at++)
    t.equal((await transcribe(inline({ model: 'acme/both-ears', session_id: 'session-1' }))).status, 200)
  t.not(upstream.requests.length, first)
  t.not(other.requests.length, second)
  for (const { body, rawHeaders } of [...upstream.requests.slice(first), ...other.requests.slice(second)])
    t.notMatch(body + rawHeaders.join(' '), /session-1/)
})

test('a session of speech binds no call either', async (t) => {
  upstream.script = (peer) => peer.answer(200, 'sound', { 'content-type': 'audio/mpeg' })
  t.equal((await speak({ session_id: 'session-1', user: 'alice' })).status, 200)
  t.notMatch(upstream.requests.at(-1)!.body, /session-1|alice/)
})

for (const [how, body] of [
  ['JSON', () => inline({ stream: true })],
  ['a form', () => form({ stream: 'true' })],
] as const) {
  test(`a transcript as a stream, asked for in ${how}, is refused by name`, async (t) => {
    const before = upstream.requests.length
    const { status, said } = await transcribe(body())
    t.equal(status, 400)
    t.match(said.error.message, /stream/)
    t.equal(upstream.requests.length, before)
  })
}

test('what OpenAI’s own form has besides is passed on, and what nobody knows is told', async (t) => {
  upstream.script = (peer) => peer.json({ text: 'hi', duration: 1 })
  const more = {
    prompt: 'names: Ada',
    chunking_strategy: 'auto',
    'include[]': 'logprobs',
    stream: 'false',
    zz: '1',
  }
  const json = {
    prompt: 'names: Ada',
    chunking_strategy: 'auto',
    include: ['logprobs'],
    stream: false,
    zz: 1,
  }
  for (const body of [form(more), inline(json)]) {
    const { status, said } = await transcribe(body)
    t.equal(status, 200)
    const { fields } = sentForm(upstream.requests.at(-1)!)
    t.same(fields, [
      ['model', 'acme/ears'],
      ['response_format', 'json'],
      ['chunking_strategy', 'auto'],
      ['prompt', 'names: Ada'],
    ])
    t.same(said.service_metadata.untranslated, ['include', 'zz'])
  }
})

test('members that the operator lists for a server go there, in forms and in JSON', async (t) => {
  upstream.script = (peer) => peer.json({ text: 'hi', duration: 1 })
  const further = new FormData()
  for (const [name, value] of [
    ['model', 'acme/ears'],
    ['vad_filter', 'true'],
    ['hotwords[]', 'Ada, Byron'],
    ['hotwords[]', 'Lovelace'],
    ['customer_id', 'alice'],
  ] as const)
    further.append(name, value)
  further.append('file', new Blob([TONE]), 'a.mp3')
  const json = { vad_filter: true, hotwords: ['Ada, Byron', 'Lovelace'], customer_id: 'alice', thread: 'x' }
  for (const body of [further, inline(json)]) {
    const { status, said } = await transcribe(body)
    t.equal(status, 200, JSON.stringify(said))
    const { fields } = sentForm(upstream.requests.at(-1)!)
    t.same(fields.slice(2), [
      ['vad_filter', 'true'],
      ['hotwords[]', 'Ada, Byron'],
      ['hotwords[]', 'Lovelace'],
    ])
    t.same(said.service_metadata.untranslated, body === further ? undefined : ['thread'])
  }
  upstream.script = (peer) => peer.answer(200, 'sound', { 'content-type': 'audio/mpeg' })
  t.equal((await speak({ accent: 'soft', wings: 2 })).status, 200)
  t.match(JSON.parse(upstream.requests.at(-1)!.body), { accent: 'soft' })
  t.notOk('wings' in JSON.parse(upstream.requests.at(-1)!.body))
})

test('providers is another word for provider, and both are refused', async (t) => {
  upstream.script = (peer) => peer.json({ text: 'hi', duration: 1 })
  other.script = (peer) => peer.json({ text: 'hi', duration: 1 })
  const only = JSON.stringify({ only: ['second'] })
  const [first, second] = [upstream.requests.length, other.requests.length]
  t.equal(
    (await transcribe(inline({ model: 'acme/both-ears', providers: { only: ['second'] } }))).status,
    200,
  )
  t.equal((await transcribe(form({ model: 'acme/both-ears', providers: only }))).status, 200)
  t.same([upstream.requests.length, other.requests.length], [first, second + 2])
  const both = form({ model: 'acme/both-ears', providers: only, provider: only })
  for (const body of [both, inline({ provider: {}, providers: {} }), inline({ providers: { only: 'x' } })]) {
    const { status, said } = await transcribe(body)
    t.equal(status, 400)
    t.match(said.error.message, /providers/)
  }
  t.equal((await speak({ provider: {}, providers: {} })).status, 400)
})

test('speech names what was left out in a header, in ASCII and bounded, for who asks', async (t) => {
  upstream.script = (peer) => peer.answer(200, 'sound', { 'content-type': 'audio/mpeg' })
  const body = { model: 'acme/monotone', input: 'hello', voice: 'ada', speed: 2 }
  const ask = (more: object, headers = METADATA) =>
    server.post('/audio/speech', { ...body, ...more }, { key: API_KEY, headers })
  const read = (reply: Response) => JSON.parse(reply.headers.get('x-service-untranslated') ?? 'null')
  t.same(read(await ask({ 'ü\r\nx: y': 1 })), ['ü\r\nx: y', 'speed'])
  const many = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`${at}${'m'.repeat(60)}`, 1]))
  const told = read(await ask(many))
  t.ok(told.length > 20 && told.length < 40)
  t.equal(read(await ask({}, {} as typeof METADATA)), null)
})

test('members of speech that nobody listed, and speed where it is not supported, are told', async (t) => {
  upstream.script = (peer) => peer.reset()
  const body = { model: 'acme/monotone', input: 'hello', voice: 'ada', speed: 2, zz: 1 }
  const reply = await server.post('/audio/speech', body, { key: API_KEY, headers: METADATA })
  t.equal(reply.status, 502)
  t.same(((await reply.json()) as Json).service_metadata.untranslated, ['zz', 'speed'])
  t.same(Object.keys(JSON.parse(upstream.requests.at(-1)!.body)), [
    'model',
    'input',
    'voice',
    'response_format',
  ])
})

test('the end user and the session of a call stand in its ledger row and in the line of its failure, and reach no provider', async (t) => {
  const who = { user: 'audio-user-7', session_id: 'audio-session-7' }
  const read = async (id: string | null): Promise<Json> =>
    (await (await server.get(`/generation?id=${id}`, MANAGEMENT_KEY)).json()) as Json
  upstream.script = (peer) => peer.json({ text: 'hi', duration: 1 })
  const heard = await server.post('/audio/transcriptions', form(who), { key: MANAGEMENT_KEY })
  t.match(await read(heard.headers.get('x-generation-id')), {
    data: { external_user: who.user, session_id: who.session_id },
  })
  upstream.script = (peer) => peer.answer(200, 'sound', { 'content-type': 'audio/mpeg' })
  const spoken = await speak(who)
  await spoken.text()
  t.match(await read(spoken.headers.get('x-generation-id')), {
    data: { external_user: who.user, session_id: who.session_id },
  })
  upstream.script = (peer) => peer.reset()
  t.equal((await transcribe(inline(who))).status, 502)
  await eventually(() => server.log().includes(who.user))
  for (const { body, rawHeaders } of upstream.requests)
    t.notMatch(body + rawHeaders.join(' '), /audio-(user|session)-7/)
})

test('an endpoint must list the parameters that a caller requires, and nothing of the gateway’s own', async (t) => {
  const required = { provider: { require_parameters: true } }
  upstream.script = (peer) => peer.json({ text: 'hi', duration: 1 })
  for (const body of [inline({ keyterms: ['a'], ...required, session_id: 's' }), inline(required)])
    t.equal((await transcribe(body)).status, 200)
  for (const more of [{ prompt: 'names' }, { zz: 1 }])
    t.equal((await transcribe(inline({ ...more, ...required }))).status, 404)
  upstream.script = (peer) => peer.answer(200, 'sound', { 'content-type': 'audio/mpeg' })
  t.equal((await speak({ speed: 2, ...required })).status, 200)
  t.equal((await speak({ speed: 2, instructions: 'calm', ...required })).status, 404)
  t.equal((await speak({ model: 'acme/led', instructions: 'calm', ...required })).status, 200)
})
