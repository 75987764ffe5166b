/** The `openai` package, unmodified, speaking and listening through the gateway. */
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import tap, { test } from 'tap'
import { failureOf } from '../support/clients/failure-of.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { API_KEY, MANAGEMENT_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway({ env: { SLUICE_WORKERS: '1' } })
tap.teardown(() => server.stop())

const speaker = new OpenAI({ apiKey: API_KEY, baseURL: server.apiUrl, maxRetries: 0 })
const listener = new OpenAI({ apiKey: MANAGEMENT_KEY, baseURL: server.apiUrl, maxRetries: 0 })

const TEXT = 'The quick brown fox jumps over the lazy dog. It does so twice.'

async function speech(response_format: 'mp3' | 'pcm'): Promise<Buffer> {
  const reply = await speaker.audio.speech.create({
    model: 'sim/speech',
    voice: 'elsa',
    input: TEXT,
    response_format,
  })
  return Buffer.from(await reply.arrayBuffer())
}

for (const format of ['mp3', 'pcm'] as const) {
  test(`speech as ${format}, and its transcript, file first`, async (t) => {
    const file = await toFile(await speech(format), `speech.${format}`)
    const heard = await listener.audio.transcriptions.create({ file, model: 'sim/transcribe' })
    t.equal(heard.text, TEXT)
  })
}

test('a transcript of a file that is read while it is sent', async (t) => {
  const path = join(tempFolder(t), 'speech.mp3')
  writeFileSync(path, await speech('mp3'))
  const heard = () =>
    listener.audio.transcriptions.create({ file: createReadStream(path), model: 'sim/transcribe' })
  for (const { text } of [await heard(), ...(await Promise.all([heard(), heard(), heard()]))])
    t.equal(text, TEXT)
})

test('a verbose transcript with both granularities', async (t) => {
  const heard = await listener.audio.transcriptions.create({
    file: await toFile(await speech('mp3'), 'speech.mp3'),
    model: 'sim/transcribe',
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  })
  t.equal(heard.text, TEXT)
  t.equal(heard.segments?.length, 2)
  t.equal(heard.words?.length, 13)
  t.ok(Number(heard.duration) > 1)
  t.equal(heard.segments?.[1]?.text, 'It does so twice.')
})

test('speech is a stream for those who want one', async (t) => {
  const reply = await speaker.audio.speech.create({ model: 'sim/speech', voice: 'alba', input: TEXT })
  t.equal(reply.headers.get('content-type'), 'audio/pcm')
  let bytes = 0
  for await (const piece of reply.body as unknown as AsyncIterable<Uint8Array>) bytes += piece.byteLength
  t.ok(bytes > 48_000)
})

test('errors are the package’s own classes', async (t) => {
  const file = await toFile(Buffer.from('x'), 'a.mp3')
  const { transcriptions, speech } = speaker.audio
  const failures = [
    [() => transcriptions.create({ file, model: 'sim/transcribe' }), OpenAI.PermissionDeniedError],
    [() => speech.create({ model: 'sim/speech', voice: 'nobody', input: 'x' }), OpenAI.BadRequestError],
    [() => speech.create({ model: 'sim/none', voice: 'alba', input: 'x' }), OpenAI.NotFoundError],
  ] as const
  for (const [asked, kind] of failures) {
    const error = await failureOf(asked())
    t.ok(error instanceof kind, kind.name)
  }
})
