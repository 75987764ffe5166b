/** Files that a model makes (contract/decisions 29), from the answer that names them to their download. */
import OpenAI, { toFile } from 'openai'
import tap, { test } from 'tap'
import { askMessages } from '../../support/clients/messages-calls.js'
import {
  API_KEY,
  type Asked,
  askChat,
  CANARY_PROMPT,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    providers: { lab: { kind: 'simulated', allow_request_faults: true, breaker: false } },
    models: {
      'lab/maker': {
        endpoints: [{ provider: 'lab', simulation: { makes_file: true, gap_ms: { constant: 50 } } }],
      },
    },
    routing: { retries: 0 },
  },
})
tap.teardown(() => server.stop())

const MAKER = 'sim/filemaker'
const says = (content: unknown, more: object = {}): object => ({
  model: MAKER,
  messages: [{ role: 'user', content }],
  ...more,
})

function get(path: string, key = MANAGEMENT_KEY): Promise<Response> {
  return server.get(`/files${path}`, key)
}

async function contentOf(id: string): Promise<Buffer> {
  const reply = await get(`/${id}/content`)
  if (reply.status !== 200) throw new Error(await reply.text())
  return Buffer.from(await reply.arrayBuffer())
}

async function filesThere(): Promise<string[]> {
  const { data } = (await (await get('')).json()) as Json
  return data.map(({ id }: Json) => id)
}

/** The one annotation of an answer, streamed or not, and where in the stream it came. */
function fileIn(asked: Asked, streamed: boolean): Json {
  if (!streamed) return asked.json().choices[0].message.annotations[0].file
  const events = asked.events()
  const at = events.findIndex((event: Json) => event.choices?.[0]?.delta?.annotations !== undefined)
  const finish = events.findIndex((event: Json) => event.choices?.[0]?.finish_reason)
  if (at < 0 || finish <= at) throw new Error(`annotation at ${at}, finish at ${finish}`)
  return events[at].choices[0].delta.annotations[0].file
}

for (const stream of [false, true]) {
  test(`an answer that is ${stream ? 'streamed' : 'whole'} names a file of what the user said`, async (t) => {
    const text = `Keep this: grün, 你好. ${CANARY_PROMPT}`
    const asked = await askChat(server, says(text, { stream }))
    t.equal(asked.status, 200, asked.text)
    const file = fileIn(asked, stream)
    t.match(file, { filename: 'message.txt', mime_type: 'text/plain', size_bytes: Buffer.byteLength(text) })
    t.equal((await contentOf(file.file_id)).toString(), text)
    const record = (await (await get(`/${file.file_id}`, API_KEY)).json()) as Json
    t.match(record, { id: file.file_id, downloadable: true })
    t.equal(
      (await get(`/${file.file_id}/content`, API_KEY)).status,
      403,
      'an ordinary key may not download it',
    )
  })
}

test('a file in the message is kept as it is, under its name', async (t) => {
  const bytes = Buffer.from(Uint8Array.from({ length: 3_000 }, (_, i) => i & 255))
  const file_data = `data:application/octet-stream;base64,${bytes.toString('base64')}`
  const asked = await askChat(server, says([{ type: 'file', file: { file_data, filename: 'noise.bin' } }]))
  const file = fileIn(asked, false)
  t.equal(file.filename, 'noise.bin')
  t.ok((await contentOf(file.file_id)).equals(bytes))
})

test('on messages a block names it, streamed and whole', async (t) => {
  for (const stream of [false, true]) {
    const { status, text } = await askMessages(server, says('From a message.', { max_tokens: 50, stream }))
    t.equal(status, 200, text)
    const id = /"type":"container_upload","file_id":"(file_[0-9a-z]{26})"/.exec(text)?.[1] ?? ''
    t.equal((await contentOf(id)).toString(), 'From a message.')
  }
})

test('speech becomes a file, and the file the text it was made from', async (t) => {
  const client = new OpenAI({ baseURL: server.apiUrl, apiKey: MANAGEMENT_KEY, maxRetries: 0 })
  const input = 'What was said is kept, and what was kept is understood.'
  for (const format of ['mp3', 'pcm'] as const) {
    const speech = await client.audio.speech.create({
      model: 'sim/speech',
      voice: 'carla',
      input,
      response_format: format,
    })
    const audio = Buffer.from(await speech.arrayBuffer())
    const answer = await client.chat.completions.create({
      model: MAKER,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'input_audio', input_audio: { data: audio.toString('base64'), format: format as 'mp3' } },
          ],
        },
      ],
    })
    const [{ file }] = (answer.choices[0]!.message as Json).annotations
    t.equal(file.filename, `audio.${format}`)
    const kept = Buffer.from(await (await client.files.content(file.file_id)).arrayBuffer())
    t.ok(kept.equals(audio), 'the bytes are the same')
    const heard = await client.audio.transcriptions.create({
      model: 'sim/transcribe',
      file: await toFile(kept, file.filename),
    })
    t.equal(heard.text, input)
  }
})

test('a message without anything makes no file, and neither does an answer that fails or is not waited for', async (t) => {
  const before = await filesThere()
  const empty = await askChat(server, says(''))
  t.equal(empty.status, 400)
  t.match(empty.json().error.message, /nothing in the last user message/)
  const failing = { 'X-Service-Simulate': 'fault=cut; after=3' }
  const cut = await askChat(server, says('cut', { model: 'lab/maker', stream: true }), failing)
  t.equal(cut.status, 200)
  t.match(cut.text, /"error"/)
  const leaving = new AbortController()
  const reply = await server.post('/chat/completions', says('left', { model: 'lab/maker', stream: true }), {
    signal: leaving.signal,
  })
  await reply.body!.getReader().read()
  leaving.abort()
  // Longer than the answer would have taken: the next one says so by its end.
  t.equal((await askChat(server, says('x', { model: 'lab/maker' }))).status, 200)
  // What was stored for the caller that left goes again: on another machine that may be a moment later.
  const isGone = async (): Promise<boolean> => (await filesThere()).length === before.length + 1
  t.ok(await eventually(isGone), 'the file of the last answer')
})
