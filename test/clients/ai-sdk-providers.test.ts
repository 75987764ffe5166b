/** The `ai` package, newest version, over the other providers that its users take: `@ai-sdk/openai` and OpenRouter's. */
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import {
  APICallError,
  generateSpeech,
  generateText,
  isStepCount,
  type LanguageModel,
  Output,
  streamText,
  ToolLoopAgent,
  type ToolSet,
  tool,
} from 'ai'
import tap, { test } from 'tap'
import { z } from 'zod'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())

const openai = createOpenAI({ baseURL: server.apiUrl, apiKey: API_KEY })
const openrouter = createOpenRouter({ baseURL: server.apiUrl, apiKey: API_KEY })
const PROVIDERS: readonly (readonly [name: string, model: (id: string) => LanguageModel])[] = [
  ['@ai-sdk/openai', (id) => openai.chat(id)],
  ['@openrouter/ai-sdk-provider', (id) => openrouter(id)],
]
const ONCE = { maxRetries: 0 } as const
const Person = z.object({ name: z.string(), age: z.number().int().min(18).max(30) })

const asked: unknown[] = []
const read = tool({
  description: 'Reads a file.',
  inputSchema: z.object({ path: z.string() }),
  execute: async (input) => {
    asked.push(input)
    return 'empty'
  },
})
const SCRIPT = 'call: read {"path":"a"}\ncall: read {"path":"b"}'
const PATHS = [{ path: 'a' }, { path: 'b' }]

for (const [name, modelOf] of PROVIDERS) {
  const model = modelOf('sim/instant')

  test(`${name}: a text, whole and streamed`, async (t) => {
    const whole = await generateText({ model, prompt: 'Say hello.', ...ONCE })
    const streamed = streamText({ model, prompt: 'Say hello.', ...ONCE })
    let text = ''
    for await (const part of streamed.textStream) text += part
    t.equal(text, whole.text)
    t.equal((await streamed.usage).outputTokens, whole.usage.outputTokens)
    t.ok((whole.usage.outputTokens ?? 0) > 0)
  })

  test(`${name}: an agent's loop, whole and streamed`, async (t) => {
    const wishes = { model, prompt: SCRIPT, tools: { read }, stopWhen: isStepCount(9), ...ONCE }
    asked.length = 0
    const whole = await generateText(wishes)
    t.equal(whole.steps.length, 3)
    t.ok(whole.text.length > 0)
    const kinds: string[] = []
    for await (const part of streamText(wishes).fullStream) kinds.push(part.type)
    t.equal(kinds.filter((kind) => kind === 'tool-result').length, 2)
    t.notOk(kinds.includes('error'))
    t.strictSame(asked, [...PATHS, ...PATHS])
  })

  test(`${name}: an agent that must call ends with its last tool`, async (t) => {
    // Nobody executes it, so it ends the loop.
    const done = { description: 'Ends.', inputSchema: z.object({ summary: z.string() }) }
    const tools: ToolSet = { read, done }
    const agent = new ToolLoopAgent({ model, tools, toolChoice: 'required', ...ONCE })
    const { steps } = await agent.generate({ prompt: 'Go on.' })
    t.strictSame(
      steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName)),
      ['read', 'done'],
    )
  })

  test(`${name}: an object of a schema, whole and streamed`, async (t) => {
    const wishes = { model, prompt: 'Somebody.', output: Output.object({ schema: Person }), ...ONCE }
    const { output } = await generateText(wishes)
    t.ok(Person.safeParse(output).success)
    const streamed = streamText(wishes)
    for await (const _ of streamed.partialOutputStream) {
      // Only the last one is complete.
    }
    t.strictSame(await streamed.output, output)
  })

  test(`${name}: pictures and PDF files`, async (t) => {
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'file' as const, data: png, mediaType: 'image/png' },
      {
        type: 'file' as const,
        data: Buffer.from('%PDF-1.4\n%%EOF\n'),
        mediaType: 'application/pdf',
        filename: 'a.pdf',
      },
    ]
    const { text } = await generateText({ model, messages: [{ role: 'user', content }], ...ONCE })
    t.ok(text.length > 0)
  })

  test(`${name}: a refusal has its status, and a broken stream tells of it`, async (t) => {
    const error = await failureOf(
      generateText({ model: modelOf('sim/fault-rate-limited'), prompt: 'x', ...ONCE }),
    )
    t.ok(APICallError.isInstance(error))
    t.match(error, { statusCode: 429, isRetryable: true })
    const told: (string | undefined)[] = []
    const streamed = streamText({ model: modelOf('sim/fault-cut'), prompt: 'x', onError: () => {}, ...ONCE })
    for await (const part of streamed.fullStream) {
      told.push(part.type === 'finish' ? part.rawFinishReason : part.type)
    }
    // OpenAI's own provider has no error part for what comes with choices; it passes the reason.
    t.ok(told.includes('text-delta') && told.includes('error'), told.join())
  })
}

test('the package’s default format, which is not served, is a 404 that says what to call instead', async (t) => {
  const error = await failureOf(generateText({ model: openai('sim/instant'), prompt: 'x', ...ONCE }))
  t.match(error, { statusCode: 404, message: /use POST \/api\/v1\/chat\/completions.*openai\.chat\(model\)/ })
})

test('reasoning and the cost of a call arrive by way of OpenRouter’s provider', async (t) => {
  const { reasoningText, providerMetadata } = await generateText({
    model: openrouter('sim/reasoner', { usage: { include: true } }),
    prompt: 'Think.',
    ...ONCE,
  })
  t.ok((reasoningText ?? '').length > 0)
  t.match(providerMetadata, { openrouter: { usage: { cost: Number } } })
})

test('speech in the voice that the package sends unasked', async (t) => {
  const { audio } = await generateSpeech({ model: openai.speech('sim/speech'), text: 'Hello.', ...ONCE })
  t.equal(audio.format, 'mp3')
  t.ok(audio.uint8Array.length > 1_000)
})

test('a format of speech that is not served is refused by name', async (t) => {
  const wishes = { model: openai.speech('sim/speech'), text: 'Hello.', ...ONCE }
  for (const outputFormat of ['wav', 'opus'] as const) {
    const error = await failureOf(generateSpeech({ ...wishes, outputFormat }))
    t.match(String(error), /response_format: .*"mp3".*"pcm"/)
  }
})
