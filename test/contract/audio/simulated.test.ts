/** Simulated speech and transcription: the text of one is given back by the other (contract/gateway 6 and 7). */
import { MPEGDecoder } from 'mpg123-decoder'
import tap, { test } from 'tap'
import { type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'

const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    providers: { lab: { kind: 'simulated', allow_request_faults: true, breaker: false } },
    models: {
      'lab/speech': { output_modalities: ['speech'], endpoints: [{ provider: 'lab' }] },
      'lab/ears': { output_modalities: ['transcription'], endpoints: [{ provider: 'lab' }] },
    },
    routing: { retries: 0 },
  },
})
tap.teardown(() => server.stop())

function speak(more: object, headers: Record<string, string> = {}): Promise<Response> {
  return server.post('/audio/speech', { model: 'sim/speech', voice: 'alba', ...more }, { headers })
}

async function spoken(input: string, more: object = {}): Promise<Buffer> {
  const reply = await speak({ input, ...more })
  if (reply.status !== 200) throw new Error(await reply.text())
  return Buffer.from(await reply.arrayBuffer())
}

async function heard(
  bytes: Uint8Array,
  filename: string,
  fields: Record<string, string> = {},
): Promise<Json> {
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(bytes)]), filename)
  form.append('model', 'sim/transcribe')
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  const reply = await server.post('/audio/transcriptions', form, { key: MANAGEMENT_KEY })
  const said: Json = await reply.json()
  if (reply.status !== 200) throw new Error(JSON.stringify(said))
  return { ...said, generation: reply.headers.get('x-generation-id') }
}

const TEXT =
  'Good morning, this is a test. Please call 555 0199 or write to ada@example.org! It costs $12.50. Äöü, 你好, и так далее.'

for (const [response_format, filename] of [
  ['pcm', 'speech.pcm'],
  ['mp3', 'speech.mp3'],
] as const) {
  for (const [voice, speed] of [
    ['alba', 1],
    ['fabio', 0.5],
    ['bruno', 4],
  ] as const) {
    test(`what ${voice} says at speed ${speed} as ${response_format} is given back word by word`, async (t) => {
      const bytes = await spoken(TEXT, { voice, speed, response_format })
      const said = await heard(bytes, filename)
      t.equal(said.text, TEXT)
      t.equal(said.usage.cost, Math.round(said.usage.seconds * 1e5) / 1e9)
    })
  }
}

test('speech in a WAV file is understood too, in stereo', async (t) => {
  const pcm = await spoken(TEXT)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + pcm.byteLength * 2, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(2, 22)
  head.writeUInt32LE(24_000, 24)
  head.writeUInt32LE(96_000, 28)
  head.writeUInt16LE(4, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(pcm.byteLength * 2, 40)
  const stereo = Buffer.alloc(pcm.byteLength * 2)
  for (let at = 0; at < pcm.byteLength; at += 2) {
    stereo.writeInt16LE(pcm.readInt16LE(at), at * 2)
    stereo.writeInt16LE(0, at * 2 + 2)
  }
  t.equal((await heard(Buffer.concat([head, stereo]), 'speech.wav')).text, TEXT)
})

test('the MP3 plays in another decoder, as long as the PCM within one per cent', async (t) => {
  const pcm = await spoken(TEXT)
  const mp3 = await spoken(TEXT, { response_format: 'mp3' })
  const decoder = new MPEGDecoder()
  await decoder.ready
  const { samplesDecoded, sampleRate, errors } = decoder.decode(mp3)
  decoder.free()
  t.equal(errors.length, 0)
  const seconds = pcm.byteLength / 48_000
  t.ok(
    Math.abs(samplesDecoded / sampleRate / seconds - 1) < 0.01,
    `${samplesDecoded / sampleRate} s and ${seconds} s`,
  )
})

test('the same text is spoken in the same bytes', async (t) => {
  t.same(await spoken('once more'), await spoken('once more'))
  t.notSame(await spoken('once more', { voice: 'bruno' }), await spoken('once more'))
})

test('a verbose transcript has times that fit the duration, speakers by turns, confidence and entities', async (t) => {
  const bytes = await spoken(TEXT)
  const said = await heard(bytes, 'a.pcm', {
    response_format: 'verbose_json',
    diarize: 'true',
    'timestamp_granularities[]': 'word,segment',
    'keyterms[]': 'Morning',
  })
  t.equal(said.task, 'transcribe')
  t.ok(Math.abs(said.duration - bytes.byteLength / 48_000) < 0.001)
  for (const list of [said.words, said.segments]) {
    let last = 0
    for (const { start, end } of list) {
      t.ok(
        start >= last && end > start && end <= said.duration,
        `${last} <= ${start} < ${end} <= ${said.duration}`,
      )
      last = start
    }
  }
  t.equal(said.words.map(({ word }: Json) => word).join(' '), TEXT)
  t.same(
    said.segments.map(({ speaker, speaker_label }: Json) => [speaker, speaker_label]),
    [
      [0, 'speaker_0'],
      [1, 'speaker_1'],
      [0, 'speaker_0'],
      [1, 'speaker_1'],
    ],
  )
  t.ok(said.words.every(({ confidence }: Json) => confidence > 0 && confidence <= 1))
  t.equal(said.words[1].confidence, 1, 'a key term is certain')
  for (const { text, start_char, end_char } of said.entities) t.equal(TEXT.slice(start_char, end_char), text)
  t.same(
    said.entities.map(({ type, text }: Json) => `${type} ${text}`),
    ['number 555', 'number 0199', 'email ada@example.org', 'money $12.50'],
  )
})

test('of a sound that nobody said something is made up, the same every time', async (t) => {
  const noise = Buffer.alloc(96_000, 7)
  const said = await heard(noise, 'noise.pcm', { response_format: 'verbose_json' })
  t.ok(said.text.length > 0)
  t.same((await heard(noise, 'noise.pcm', { response_format: 'verbose_json' })).segments, said.segments)
})

test('damage is noticed: a damaged text is not taken for what was said', async (t) => {
  const bytes = await spoken('precisely this')
  bytes.fill(0, 220, 260)
  t.not((await heard(bytes, 'a.pcm')).text, 'precisely this')
})

test('what was spoken is found by its generation, with its characters and what they cost', async (t) => {
  const input = 'nine: 你好 🎉'
  const reply = await speak({ input })
  await reply.arrayBuffer()
  const id = reply.headers.get('x-generation-id')
  const { data } = (await (await server.get(`/generation?id=${id}`)).json()) as Json
  const characters = [...input].length
  t.match(data, { id, model: 'sim/speech', outcome: 'settled', units: { input_characters: characters } })
  t.ok(Math.abs(data.total_cost - characters * 0.000015) < 1e-12, `${data.total_cost}`)
})

test('a transcript is found by its generation too, with what its seconds cost', async (t) => {
  const { usage, generation: id } = await heard(await spoken('a second or two'), 'a.pcm')
  const { data } = (await (await server.get(`/generation?id=${id}`, MANAGEMENT_KEY)).json()) as Json
  t.match(data, { id, model: 'sim/transcribe', outcome: 'settled', total_cost: usage.cost })
  t.equal(data.units.audio_milliseconds, usage.seconds * 1000)
})

const REFUSED = [
  ['an unknown voice', { voice: 'nobody' }, /alba, bruno/],
  ['a text of 4,097 characters', { input: 'x'.repeat(4097) }, /4096 characters/],
] as const

for (const [what, more, sentence] of REFUSED) {
  test(`${what} is refused with 400`, async (t) => {
    const reply = await speak({ input: 'hi', ...more })
    t.equal(reply.status, 400)
    t.match(((await reply.json()) as Json).error.message, sentence)
  })
}

const FAULTS = [
  ['fault=rate-limited; retry_after=3', 429],
  ['fault=error', 502],
  ['fault=refused', 502],
  ['fault=silence; limit_ms=20', 524],
  ['fault=overloaded; share=1', 529],
] as const

for (const [simulate, status] of FAULTS) {
  test(`speech and transcription with ${simulate} end in ${status}`, async (t) => {
    const headers = { 'X-Service-Simulate': simulate }
    t.equal((await speak({ model: 'lab/speech', input: 'hi' }, headers)).status, status)
    const reply = await server.post(
      '/audio/transcriptions',
      { model: 'lab/ears', input_audio: { data: 'AAAA', format: 'pcm' } },
      { key: MANAGEMENT_KEY, headers },
    )
    t.equal(reply.status, status)
  })
}

test('a voice that is cut leaves a body without its end', async (t) => {
  const reply = await speak(
    { model: 'lab/speech', input: 'a longer text, so that there are many pieces' },
    { 'X-Service-Simulate': 'fault=cut; after=3' },
  )
  t.equal(reply.status, 200)
  await t.rejects(reply.arrayBuffer())
})
