/** Speech and transcription through a provider of kind openai (contract/gateway 6 and 7). */
import tap, { test } from 'tap'
import { sentForm } from '../../support/clients/sent-form.js'
import { mockUpstream, type Peer } from '../../support/providers/mock-upstream.js'
import { API_KEY, type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'

const upstream = await mockUpstream(tap)
const second = await mockUpstream(tap)

const provider = (name: string, origin: string): object => ({
  kind: 'openai',
  name,
  base_url: `${origin}/v1`,
  breaker: false,
})
const timeouts = { headers_ms: 150, first_token_ms: 150, idle_ms: 150 }

const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    limits: { upload_body_bytes: 600_000 },
    providers: {
      first: provider('First', upstream.origin),
      second: provider('Second', second.origin),
      hasty: { ...provider('Hasty', upstream.origin), timeouts },
    },
    models: {
      'acme/ears': {
        output_modalities: ['transcription'],
        input_modalities: ['audio'],
        supported_parameters: ['diarize', 'keyterms'],
        endpoints: [{ provider: 'first', upstream_model: 'ears-1', prices: { audio_second: '0.0001' } }],
      },
      'acme/token-ears': {
        output_modalities: ['transcription'],
        endpoints: [{ provider: 'first', prices: { prompt: '0.000001', completion: '0.000002' } }],
      },
      'acme/deaf': { output_modalities: ['transcription'], endpoints: [{ provider: 'first' }] },
      'acme/hasty-ears': { output_modalities: ['transcription'], endpoints: [{ provider: 'hasty' }] },
      'acme/both-ears': {
        output_modalities: ['transcription'],
        endpoints: [{ provider: 'first' }, { provider: 'second' }],
      },
      'acme/voice': {
        output_modalities: ['speech'],
        supported_parameters: ['speed'],
        supported_voices: ['ada', 'bob'],
        endpoints: [{ provider: 'first', upstream_model: 'voice-1', prices: { input_character: '0.00001' } }],
      },
      'acme/monotone': { output_modalities: ['speech'], endpoints: [{ provider: 'first' }] },
      'acme/hasty-voice': { output_modalities: ['speech'], endpoints: [{ provider: 'hasty' }] },
      'acme/text': { endpoints: [{ provider: 'first' }] },
    },
  },
})
tap.teardown(() => server.stop())

const heard = { text: 'hello world', duration: 2.5 }
const TONE = `ID3${'sound'.repeat(20)}`

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly said: Json
}

async function transcribe(
  body: unknown,
  headers: Record<string, string> = {},
  key = MANAGEMENT_KEY,
): Promise<Reply> {
  const response = await server.post('/audio/transcriptions', body, { key, headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, said: text === '' ? null : JSON.parse(text) }
}

/** A form with a file, unless its name is empty, the model and these fields; of a list each value is a field. */
function form(
  fields: Readonly<Record<string, string | readonly string[]>> = {},
  [sound, name]: readonly [string, string] = [TONE, 'a.mp3'],
): FormData {
  const body = new FormData()
  if (name !== '') body.append('file', new Blob([sound]), name)
  const all = 'model' in fields ? fields : { model: 'acme/ears', ...fields }
  for (const [field, values] of Object.entries(all))
    for (const value of [values].flat()) body.append(field, value as string)
  return body
}

const NO_FILE = ['', ''] as const

const inline = (more: object = {}): object => ({
  model: 'acme/ears',
  input_audio: { data: Buffer.from(TONE).toString('base64'), format: 'mp3' },
  ...more,
})

// ── Transcription ───────────────────────────────────────────────────────────

const UPLOADS = [
  ['inline base64', () => inline()],
  ['a form', () => form()],
] as const

const FALSE_FIGURES = [
  ['seconds below nothing', '{"text":"hello","usage":{"type":"duration","seconds":-5}}'],
  ['a length below nothing', '{"text":"hello","duration":-5}'],
  ['more seconds than eleven days', '{"text":"hello","usage":{"seconds":1000001}}'],
  ['seconds without an end', '{"text":"hello","usage":{"seconds":1e300}}'],
  ['seconds that are no number', '{"text":"hello","usage":{"seconds":1e999}}'],
  ['tokens below nothing', '{"text":"hello","usage":{"input_tokens":-5,"output_tokens":1}}'],
  [
    'tokens beyond every bound',
    '{"text":"hello","usage":{"input_tokens":1,"output_tokens":9007199254740991}}',
  ],
] as const

for (const [name, body] of FALSE_FIGURES) {
  test(`a provider that says ${name} is not believed: the call is paid by the size of the sound, as an estimate`, async (t) => {
    upstream.script = (peer) => peer.answer(200, body)
    const { status, said, headers } = await transcribe(inline())
    t.equal(status, 200)
    // 103 bytes of a compressed format are a second at most.
    t.match(said, { text: 'hello', usage: { seconds: 1, cost: 0.0001 } })
    const row = await server.get(`/generation?id=${headers.get('x-generation-id')}`, MANAGEMENT_KEY)
    t.match(await row.json(), { data: { total_cost: 0.0001, estimated: true } })
  })
}

for (const [how, body] of UPLOADS) {
  test(`${how} reaches the provider as a form with its declared length, and is paid by the second`, async (t) => {
    upstream.script = (peer) => peer.json(heard)
    const { status, said, headers } = await transcribe(body())
    t.equal(status, 200)
    t.same(said, { text: 'hello world', usage: { seconds: 2.5, cost: 0.00025 } })
    t.match(headers.get('x-generation-id'), /^gen-/)
    const request = upstream.requests.at(-1)!
    t.equal(request.path, '/v1/audio/transcriptions')
    t.equal(request.headers['content-length'], String(Buffer.byteLength(request.body)))
    t.same(sentForm(request), {
      fields: [
        ['model', 'ears-1'],
        ['response_format', 'json'],
      ],
      file: TONE,
    })
  })
}

test('a form larger than the memory of its spool arrives whole', async (t) => {
  upstream.script = (peer) => peer.json(heard)
  const large = `ID3${'x'.repeat(500_000)}`
  t.equal((await transcribe(form({}, [large, 'a.mp3']))).status, 200)
  t.equal(sentForm(upstream.requests.at(-1)!).file, large)
})

test('every field reaches the provider, lists repeated, whatever their order and brackets', async (t) => {
  upstream.script = (peer) => peer.json(heard)
  const fields = {
    response_format: 'verbose_json',
    'timestamp_granularities[]': ['word', 'segment'],
    keyterms: 'ada, lovelace',
    diarize: 'true',
    language: 'EN',
    temperature: '0.5',
    stream: 'false',
    model: 'acme/ears',
  }
  t.equal((await transcribe(form(fields))).status, 200)
  t.same(sentForm(upstream.requests.at(-1)!).fields, [
    ['model', 'ears-1'],
    ['response_format', 'verbose_json'],
    ['language', 'en'],
    ['temperature', '0.5'],
    ['timestamp_granularities[]', 'word'],
    ['timestamp_granularities[]', 'segment'],
    ['diarize', 'true'],
    ['keyterms[]', 'ada'],
    ['keyterms[]', 'lovelace'],
  ])
})

test('a verbose transcript has the times that were asked for, and every member that clients need', async (t) => {
  upstream.script = (peer) =>
    peer.json({
      ...heard,
      language: 'english',
      segments: [{ start: 0, end: 2.5, text: 'hello world' }],
      words: [{ word: 'hello', start: 0, end: 1 }],
    })
  const asked = { response_format: 'verbose_json' }
  const { said } = await transcribe(inline(asked))
  t.same(said.segments, [
    {
      id: 0,
      seek: 0,
      start: 0,
      end: 2.5,
      text: 'hello world',
      tokens: [],
      temperature: 0,
      avg_logprob: 0,
      compression_ratio: 0,
      no_speech_prob: 0,
    },
  ])
  t.match(said, { task: 'transcribe', language: 'english', duration: 2.5 })
  t.notOk('words' in said)
  const words = await transcribe(inline({ ...asked, timestamp_granularities: ['word'] }))
  t.same(words.said.words, [{ word: 'hello', start: 0, end: 1 }])
  t.notOk('segments' in words.said)
})

const TOKENS = {
  type: 'tokens',
  input_tokens: 30,
  output_tokens: 4,
  input_token_details: { audio_tokens: 28 },
}

test('a provider that counts tokens is told with tokens', async (t) => {
  upstream.script = (peer) => peer.json({ text: 'hi', usage: TOKENS })
  const { said } = await transcribe(inline({ model: 'acme/token-ears' }))
  t.same(said.usage, { input_tokens: 30, output_tokens: 4, total_tokens: 34, cost: 0.000038 })
})

test('a provider that tells both is paid for what its price is for', async (t) => {
  upstream.script = (peer) => peer.json({ text: 'hi', usage: { ...TOKENS, seconds: 2 } })
  t.same((await transcribe(inline())).said.usage, { seconds: 2, cost: 0.0002 })
  const { said } = await transcribe(inline({ model: 'acme/token-ears' }))
  t.same(said.usage, { input_tokens: 30, output_tokens: 4, total_tokens: 34, cost: 0.000038 })
})

// ── A provider that does not tell what it is paid for ───────────────────────

/** Three seconds, as an uncompressed recording of a telephone. */
const SAMPLES = Buffer.alloc(96_000).toString('base64')

const UNTOLD = [
  ['neither seconds nor tokens', 'acme/ears', { text: 'hi' }, { seconds: 3, cost: 0.0003 }],
  ['silence and nothing else', 'acme/ears', { text: '' }, { seconds: 3, cost: 0.0003 }],
  [
    'tokens, and is paid for seconds',
    'acme/ears',
    { text: 'hi', usage: TOKENS },
    { seconds: 3, cost: 0.0003 },
  ],
  [
    'seconds, and is paid for tokens',
    'acme/token-ears',
    { text: 'hi', duration: 3 },
    { input_tokens: 75, output_tokens: 15, total_tokens: 90, cost: 0.000105 },
  ],
  ['nothing, and is paid nothing', 'acme/deaf', { text: 'hi' }, { seconds: 3, cost: 0 }],
] as const

for (const [what, model, answer, usage] of UNTOLD) {
  test(`a provider that tells ${what}: the recording is measured`, async (t) => {
    upstream.script = (peer) => peer.json(answer)
    const body = { model, input_audio: { data: SAMPLES, format: 'pcm' } }
    const { said, headers } = await transcribe(body)
    t.same(said, { text: answer.text, usage })
    const row = await server.get(`/generation?id=${headers.get('x-generation-id')}`, MANAGEMENT_KEY)
    t.match(await row.json(), { data: { total_cost: usage.cost, estimated: true } })
  })
}

test('an MP3 is measured as an ear hears it', async (t) => {
  const spoken = { model: 'sim/speech', voice: 'alba', response_format: 'mp3', input: 'The quick brown fox.' }
  const sound = await (await server.post('/audio/speech', spoken)).arrayBuffer()
  upstream.script = (peer) => peer.json({ text: 'hi' })
  const lengths: number[] = []
  for (const model of ['sim/transcribe', 'acme/ears']) {
    const body = form({ model }, ['', ''])
    body.append('file', new Blob([sound]), 'fox.mp3')
    lengths.push((await transcribe(body)).said.usage.seconds)
  }
  const [told, measured] = lengths as [number, number]
  t.ok(told > 0.5 && Math.abs(told - measured) < 0.1, `${measured} of ${told} seconds`)
})

test('the whole upload is given to another endpoint when the first one fails', async (t) => {
  upstream.script = (peer) => peer.json({ error: { message: 'no' } }, 503)
  second.script = (peer) => peer.json(heard)
  const large = `ID3${'y'.repeat(400_000)}`
  const fields = { model: 'acme/both-ears', provider: '{"order":["first"]}' }
  const { status, said } = await transcribe(form(fields, [large, 'a.mp3']))
  t.equal(status, 200)
  t.equal(said.text, heard.text)
  for (const { requests } of [upstream, second]) t.equal(sentForm(requests.at(-1)!).file, large)
})

const REFUSED = [
  ['no file', () => form({}, NO_FILE), /file/],
  [
    'two files',
    () => {
      const two = form()
      two.append('file', new Blob([TONE]), 'b.mp3')
      return two
    },
    /one file/,
  ],
  ['a file and a URL', () => form({ source_url: 'https://example.com/a.mp3' }), /source_url/],
  ['an empty file', () => form({}, ['', 'a.mp3']), /empty/],
  ['a file without a format', () => form({}, ['nonsense', 'a']), /format/],
  ['a wav that is an mp3', () => form({}, [TONE, 'a.wav']), /said to be wav and is mp3/],
  ['a flac that is nothing', () => form({}, ['nonsense', 'a.flac']), /said to be flac and is not/],
  ['no model', () => form({ model: [] }), /model/],
  ['a temperature that is no number', () => form({ temperature: 'hot' }), /temperature/],
  ['a provider that is no object', () => form({ provider: '[]' }), /provider/],
  ['a trace that is no JSON', () => form({ trace: '{' }), /trace/],
  ['diarize with json', () => inline({ diarize: true }), /diarize/],
  [
    'diarize of a model that cannot',
    () => inline({ model: 'acme/deaf', response_format: 'verbose_json', diarize: true }),
    /diarize/,
  ],
  ['keyterms of a model that cannot', () => inline({ model: 'acme/deaf', keyterms: ['a'] }), /keyterms/],
  ['no keyterms', () => inline({ keyterms: [] }), /keyterms/],
  ['101 keyterms', () => inline({ keyterms: Array(101).fill('a') }), /keyterms/],
  ['an empty keyterm', () => inline({ keyterms: [''] }), /keyterms/],
  ['a keyterm of 1001 characters', () => inline({ keyterms: ['a'.repeat(1001)] }), /keyterms/],
  [
    'a data URL',
    () => inline({ input_audio: { data: 'data:audio/mp3;base64,AAAA', format: 'mp3' } }),
    /base64/,
  ],
  ['bad base64', () => inline({ input_audio: { data: 'AA*A', format: 'mp3' } }), /base64/],
  [
    'data and URL',
    () => inline({ input_audio: { data: 'AAAA', format: 'mp3', url: 'https://a.example/b.mp3' } }),
    /input_audio/,
  ],
  ['no format', () => inline({ input_audio: { data: 'AAAA' } }), /input_audio/],
  ['a URL without a format', () => inline({ input_audio: { url: 'https://a.example/b' } }), /format/],
  ['a file URL', () => inline({ input_audio: { url: 'file:///etc/passwd.mp3' } }), /input_audio/],
  [
    'a URL of 8001 characters',
    () => inline({ input_audio: { url: `https://a.example/${'a'.repeat(8000)}.mp3` } }),
    /input_audio/,
  ],
  [
    'an unknown granularity',
    () => inline({ timestamp_granularities: ['sentence'] }),
    /timestamp_granularities/,
  ],
  ['a user of 257 characters', () => inline({ user: 'u'.repeat(257) }), /user/],
  [
    'a provider wanted and unwanted',
    () => inline({ provider: { only: ['first'], ignore: ['first'] } }),
    /provider/,
  ],
  ['an unknown response format', () => inline({ response_format: 'srt' }), /response_format/],
] as const

for (const [what, body, sentence] of REFUSED) {
  test(`${what} is refused, and nothing is sent`, async (t) => {
    const before = upstream.requests.length
    const { status, said } = await transcribe(body())
    t.equal(status, 400, JSON.stringify(said))
    t.equal(said.error.code, 400)
    t.match(said.error.message, sentence)
    t.equal(upstream.requests.length, before)
  })
}

test('a session id of 257 characters in the header is refused', async (t) => {
  t.equal((await transcribe(inline(), { 'x-session-id': 's'.repeat(257) })).status, 400)
})

const late = (peer: Peer): void => void peer
const answering =
  (status: number) =>
  (peer: Peer): void =>
    peer.json({ error: { message: 'no' } }, status)

const STATUSES = [
  [401, 'no credential', () => transcribe(inline(), {}, ''), null],
  [403, 'an ordinary key', () => transcribe(inline(), {}, API_KEY), null],
  [404, 'an unknown model', () => transcribe(inline({ model: 'acme/none' })), null],
  [404, 'a model that does not transcribe', () => transcribe(inline({ model: 'acme/text' })), null],
  [413, 'a body over the limit', () => transcribe(form({}, [`ID3${'x'.repeat(700_000)}`, 'a.mp3'])), null],
  [429, 'a provider at its limit', () => transcribe(inline()), answering(429)],
  [502, 'a provider that fails', () => transcribe(inline()), answering(500)],
  [
    502,
    'a provider that answers nonsense',
    () => transcribe(inline()),
    (peer: Peer) => peer.answer(200, 'what?'),
  ],
  [503, 'a provider that is out of service', () => transcribe(inline()), answering(503)],
  [524, 'a provider that says nothing', () => transcribe(inline({ model: 'acme/hasty-ears' })), late],
  [524, 'a provider behind a gateway that gave up', () => transcribe(inline()), answering(504)],
  [529, 'a provider that is overloaded', () => transcribe(inline()), answering(529)],
] as const

for (const [status, what, ask, script] of STATUSES) {
  test(`transcription: ${what} is a ${status}`, async (t) => {
    if (script !== null) upstream.script = script
    const reply = await ask()
    t.equal(reply.status, status, JSON.stringify(reply.said))
    t.equal(reply.said.error.code, status)
  })
}

test('the message to an ordinary key says whose operation it is', async (t) => {
  const { said } = await transcribe(inline(), {}, API_KEY)
  t.equal(said.error.message, 'Only management keys can perform this operation')
})

// ── Speech ──────────────────────────────────────────────────────────────────

async function speak(more: object = {}, key = API_KEY): Promise<Response> {
  return server.post('/audio/speech', { model: 'acme/voice', input: 'hello', voice: 'ada', ...more }, { key })
}

const audio = (type: string) => (peer: Peer) => {
  peer.head(200, { 'content-type': type, 'transfer-encoding': 'chunked' })
  peer.chunk('one')
  peer.chunk('two')
  peer.endChunks()
}

test('speech passes through as raw bytes, PCM unless MP3 is asked for', async (t) => {
  upstream.script = audio('application/octet-stream')
  const pcm = await speak()
  t.equal(pcm.status, 200)
  t.equal(pcm.headers.get('content-type'), 'audio/pcm')
  t.equal(pcm.headers.get('x-audio-sample-rate'), '24000')
  t.match(pcm.headers.get('x-generation-id'), /^gen-/)
  t.equal(await pcm.text(), 'onetwo')
  const mp3 = await speak({ response_format: 'mp3' })
  t.equal(mp3.headers.get('content-type'), 'audio/mpeg')
  t.equal(mp3.headers.get('x-audio-sample-rate'), null)
  t.same(JSON.parse(upstream.requests.at(-1)!.body), {
    model: 'voice-1',
    input: 'hello',
    voice: 'ada',
    response_format: 'mp3',
  })
})

test('speed goes to models that have it, and is ignored by others', async (t) => {
  upstream.script = audio('audio/mpeg')
  await (await speak({ speed: 1.5 })).text()
  t.equal(JSON.parse(upstream.requests.at(-1)!.body).speed, 1.5)
  const ignored = await speak({ model: 'acme/monotone', speed: 1.5 })
  t.equal(ignored.status, 200)
  await ignored.text()
  t.notOk('speed' in JSON.parse(upstream.requests.at(-1)!.body))
})

test('the first bytes arrive before the last are made', async (t) => {
  let finish: () => void = () => {}
  upstream.script = (peer) => {
    peer.head(200, { 'content-type': 'audio/pcm', 'transfer-encoding': 'chunked' })
    peer.chunk('first')
    finish = () => {
      peer.chunk('last')
      peer.endChunks()
    }
  }
  const reader = (await speak()).body!.getReader()
  t.equal(Buffer.from((await reader.read()).value!).toString(), 'first')
  finish()
  t.equal(Buffer.from((await reader.read()).value!).toString(), 'last')
  t.ok((await reader.read()).done)
})

test('speech that breaks off is no complete body', async (t) => {
  upstream.script = (peer) => {
    peer.head(200, { 'content-type': 'audio/pcm', 'transfer-encoding': 'chunked' })
    peer.chunk('half')
    peer.reset()
  }
  const reply = await speak()
  t.equal(reply.status, 200)
  await t.rejects(reply.arrayBuffer())
})

test('a caller who leaves ends the call of the provider', async (t) => {
  let closed: Promise<void> = Promise.resolve()
  upstream.script = (peer) => {
    closed = new Promise((resolve) => void peer.socket.on('close', () => resolve()))
    peer.head(200, { 'content-type': 'audio/pcm', 'transfer-encoding': 'chunked' })
    peer.chunk('half')
  }
  const reader = (await speak()).body!.getReader()
  await reader.read()
  await reader.cancel()
  await closed
  t.pass()
})

const SPEECH_STATUSES = [
  [400, 'an unknown voice', { voice: 'eve' }, null],
  [400, 'no voice', { voice: '' }, null],
  [400, 'a provider wanted and unwanted', { provider: { only: ['first'], ignore: ['first'] } }, null],
  [400, 'no input', { input: '' }, null],
  [400, 'an unknown format', { response_format: 'ogg' }, null],
  [400, 'an event stream', { stream_format: 'sse' }, null],
  [400, 'references of a voice', { input_references: [{}] }, null],
  [404, 'an unknown model', { model: 'acme/none' }, null],
  [404, 'a model that does not speak', { model: 'acme/text' }, null],
  [429, 'a provider at its limit', {}, answering(429)],
  [502, 'a provider that fails', {}, answering(500)],
  [502, 'a provider that answers JSON', {}, (peer: Peer) => peer.json({ oh: 'no' })],
  [
    502,
    'a provider that says nothing at all',
    {},
    (peer: Peer) => peer.answer(200, '', { 'content-type': 'audio/pcm' }),
  ],
  [503, 'a provider that is out of service', {}, answering(503)],
  [524, 'a provider that is silent', { model: 'acme/hasty-voice' }, late],
  [529, 'a provider that is overloaded', {}, answering(529)],
] as const

for (const [status, what, more, script] of SPEECH_STATUSES) {
  test(`speech: ${what} is a ${status}`, async (t) => {
    if (script !== null) upstream.script = script
    const before = upstream.requests.length
    const reply = await speak(more)
    const said = (await reply.json()) as Json
    t.equal(reply.status, status, JSON.stringify(said))
    t.equal(said.error.code, status)
    if (script === null) t.equal(upstream.requests.length, before, 'nothing is sent')
  })
}

test('speech without a credential is a 401', async (t) => {
  t.equal((await speak({}, '')).status, 401)
})

test('a model that only speaks has nothing to say to text', async (t) => {
  const reply = await server.post('/chat/completions', {
    model: 'acme/voice',
    messages: [{ role: 'user', content: 'hi' }],
  })
  t.equal(reply.status, 404)
  t.match(((await reply.json()) as Json).error.message, /does not serve this kind of call/)
})

// ── Options of one provider, and statuses ─────────────────────────────────────

const OPTIONS = {
  first: { prompt: 'names: Ada', tags: ['a', 'b'], depth: { most: 2 }, none: null },
  second: { other: 1 },
}

test('the options of the provider that serves go into the form of a transcription', async (t) => {
  upstream.script = (peer) => peer.json(heard)
  for (const body of [
    inline({ provider: { options: OPTIONS } }),
    form({ provider: JSON.stringify({ options: OPTIONS }) }),
  ]) {
    t.equal((await transcribe(body)).status, 200)
    const { fields } = sentForm(upstream.requests.at(-1)!)
    const sent = fields.filter(([name]) => name !== 'model' && name !== 'response_format')
    t.same(sent, [
      ['prompt', 'names: Ada'],
      ['tags[]', 'a'],
      ['tags[]', 'b'],
      ['depth', '{"most":2}'],
    ])
  }
})

test('the options of the provider that serves go into the body of speech, also where another one rescues', async (t) => {
  upstream.script = (peer) => peer.answer(200, 'sound', { 'content-type': 'audio/mpeg' })
  const body = { model: 'acme/voice', input: 'hi', voice: 'ada', provider: { options: OPTIONS } }
  t.equal((await server.post('/audio/speech', body, { key: API_KEY })).status, 200)
  const { model, input, voice, response_format, ...rest } = JSON.parse(upstream.requests.at(-1)!.body)
  t.same(rest, OPTIONS.first)
  upstream.script = (peer) => peer.reset()
  second.script = (peer) => peer.json(heard)
  const both = inline({ model: 'acme/both-ears', provider: { order: ['first', 'second'], options: OPTIONS } })
  t.equal((await transcribe(both)).status, 200)
  const { fields } = sentForm(second.requests.at(-1)!)
  t.same(fields.at(-1), ['other', '1'])
})

const BAD_OPTIONS = [
  ['a text', 'x'],
  ['a list', [{}]],
  ['an entry that is no object', { first: 'x' }],
  ['another model', { first: { model: 'dearer' } }],
  ['a form of answer', { first: { response_format: 'srt' } }],
  ['a person', { first: { user: 'alice' } }],
  ['a person by another name', { first: { customer_id: 'alice' } }],
  ['state', { first: { assistant_id: 'a-1' } }],
  ['the model as a list', { first: { 'model[]': 'dearer' } }],
  ['the model in other letters', { first: { Model: 'dearer' } }],
  ['the model with a blank', { first: { 'model ': 'dearer' } }],
  ['something in the account', { first: { file_id: 'file-1' } }],
  ['something in the account, deep within', { first: { a: [{ file_id: 'file-1' }] } }],
] as const

for (const [what, options] of BAD_OPTIONS) {
  test(`options that name ${what} are a 400, and nothing is sent`, async (t) => {
    const before = upstream.requests.length
    t.equal((await transcribe(inline({ provider: { options } }))).status, 400)
    const body = { model: 'acme/voice', input: 'hi', voice: 'ada', provider: { options } }
    t.equal((await server.post('/audio/speech', body, { key: API_KEY })).status, 400)
    t.equal(upstream.requests.length, before)
  })
}

test('a provider’s 422 on speech and transcription is a 400 with its reason, and stays 422 in the metadata', async (t) => {
  upstream.script = (peer) => peer.json({ error: { message: 'the sound is too short' } }, 422)
  const body = { model: 'acme/voice', input: 'hi', voice: 'ada' }
  const headers = { 'X-Service-Metadata': 'enabled' }
  const spoken = await server.post('/audio/speech', body, { key: API_KEY, headers })
  for (const { status, said } of [
    await transcribe(inline(), headers),
    { status: spoken.status, said: (await spoken.json()) as Json },
  ]) {
    t.equal(status, 400)
    t.match(said, {
      error: { code: 400, metadata: { error_type: 'invalid_request', raw: 'the sound is too short' } },
      service_metadata: { attempts: [{ status: 422 }] },
    })
  }
})
