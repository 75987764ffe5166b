/** Helpers of the `openai` package around a call, unmodified: loops of tools, speech unasked for, what is not served. */
import OpenAI, { toFile } from 'openai'
import { zodFunction } from 'openai/helpers/zod'
import tap, { test } from 'tap'
import { z } from 'zod'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, MANAGEMENT_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())

const clientOf = (apiKey: string): OpenAI => new OpenAI({ baseURL: server.apiUrl, apiKey, maxRetries: 0 })
const client = clientOf(API_KEY)
const manager = clientOf(MANAGEMENT_KEY)

const asked: unknown[] = []
const parameters = z.object({ city: z.string(), days: z.number().int().min(1).max(7) })
const weather = zodFunction({
  name: 'get_weather',
  description: 'Weather of a city.',
  parameters,
  function: (input) => {
    asked.push(input)
    return `Sunny in ${input.city}.`
  },
})
const SCRIPT = 'call: get_weather {"city":"Zürich","days":1}\ncall: get_weather {"city":"Genève","days":2}'
const INPUTS = [
  { city: 'Zürich', days: 1 },
  { city: 'Genève', days: 2 },
]
const loop = (content: string) => ({
  model: 'sim/instant',
  messages: [{ role: 'user' as const, content }],
  tools: [weather],
})

test('runTools() runs a loop to its end, whole and streamed', async (t) => {
  asked.length = 0
  const runner = client.chat.completions.runTools(loop(SCRIPT))
  const text = await runner.finalContent()
  t.ok((text ?? '').length > 0)
  t.ok((await runner.totalUsage()).completion_tokens > 0)
  const streamed = client.chat.completions.runTools({ ...loop(SCRIPT), stream: true })
  let pieces = ''
  streamed.on('content', (delta) => {
    pieces += delta
  })
  t.equal(await streamed.finalContent(), text)
  t.equal(pieces, text)
  t.strictSame(asked, [...INPUTS, ...INPUTS])
})

test('runTools() makes up arguments that its own checks take', async (t) => {
  asked.length = 0
  for (let number = 0; number < 5; number++) {
    await client.chat.completions.runTools(loop(`How is the weather? (${number})`)).finalContent()
  }
  t.equal(asked.length, 5)
  for (const input of asked) t.ok(parameters.safeParse(input).success)
})

test('a model is retrieved by its id', async (t) => {
  t.match(await client.models.retrieve('sim/fast'), { id: 'sim/fast', object: 'model', owned_by: 'sim' })
  const error = await failureOf(client.models.retrieve('sim/none'))
  t.ok(error instanceof OpenAI.NotFoundError)
})

const NOT_SERVED = [
  ['responses', () => client.responses.create({ model: 'sim/instant', input: 'Hi.' })],
  ['completions', () => client.completions.create({ model: 'sim/instant', prompt: 'Hi.' })],
] as const

for (const [name, call] of NOT_SERVED) {
  test(`${name}, which are not served, are a 404 that names what is`, async (t) => {
    const error = await failureOf(call())
    t.ok(error instanceof OpenAI.NotFoundError)
    t.match(String(error), /use POST \/api\/v1\/chat\/completions/)
  })
}

test('speech in each of the voices that the package knows', async (t) => {
  const voices = [
    'alloy',
    'ash',
    'ballad',
    'coral',
    'echo',
    'fable',
    'nova',
    'onyx',
    'sage',
    'shimmer',
    'verse',
  ]
  const sounds = new Set<string>()
  for (const voice of [...voices, 'marin', 'cedar']) {
    const reply = await client.audio.speech.create({ model: 'sim/speech', voice, input: 'Hi.' })
    sounds.add(Buffer.from(await reply.arrayBuffer()).toString('base64'))
  }
  t.equal(sounds.size, 13, 'each sounds otherwise')
})

test('a format of speech that is not served is refused by name', async (t) => {
  const wish = { model: 'sim/speech', voice: 'alloy', input: 'Hi.' }
  for (const response_format of ['wav', 'opus', 'aac', 'flac'] as const) {
    const error = await failureOf(client.audio.speech.create({ ...wish, response_format }))
    t.ok(error instanceof OpenAI.BadRequestError)
    t.match(String(error), /response_format: .*"mp3".*"pcm"/)
  }
})

test('a streamed transcript is refused by name, not answered with nothing', async (t) => {
  const file = await toFile(Buffer.from('not a sound'), 'a.mp3')
  const error = await failureOf(
    manager.audio.transcriptions.create({ file, model: 'sim/transcribe', stream: true }),
  )
  t.ok(error instanceof OpenAI.BadRequestError)
  t.match(String(error), /stream: /)
})

test('who has no credits left is told where to look, and the link leads there', async (t) => {
  const made = await server.post('/keys', { name: 'poor', limit: 0 }, { key: MANAGEMENT_KEY })
  const { key } = (await made.json()) as { key: string }
  const messages = [{ role: 'user' as const, content: 'Hi.' }]
  const error = await failureOf(clientOf(key).chat.completions.create({ model: 'sim/instant', messages }))
  t.ok(error instanceof OpenAI.APIError)
  t.match(error, { status: 402, message: /Insufficient credits/ })
  const [link = ''] = /http:\/\/\S*\/credits/.exec(String(error)) ?? []
  const page = await fetch(link, { headers: { Accept: 'text/html' } })
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), /^text\/html/)
})
