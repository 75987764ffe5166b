/** The `ai` package with `@ai-sdk/anthropic`, both unmodified, against a real server. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { APICallError, generateObject, generateText, stepCountIs, streamText, type ToolSet, tool } from 'ai'
import tap, { test } from 'tap'
import { z } from 'zod'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())

const sluice = createAnthropic({ baseURL: server.apiUrl, apiKey: API_KEY })
const model = sluice('sim/instant')
const ONCE = { maxRetries: 0, maxOutputTokens: 500 } as const

test('text is generated, with usage', async (t) => {
  const { text, usage, finishReason } = await generateText({ model, prompt: 'Say hello.', ...ONCE })
  t.ok(text.length > 0)
  t.equal(finishReason, 'stop')
  t.ok((usage.inputTokens ?? 0) > 0 && (usage.outputTokens ?? 0) > 0)
})

test('text is streamed, and is the same', async (t) => {
  const { text: whole } = await generateText({ model, prompt: 'Stream it.', ...ONCE })
  const streamed = streamText({ model, prompt: 'Stream it.', ...ONCE })
  let text = ''
  for await (const part of streamed.textStream) text += part
  t.equal(text, whole)
  t.ok(((await streamed.usage).outputTokens ?? 0) > 0)
  t.equal(await streamed.finishReason, 'stop')
})

const Numbers = z.object({ a: z.number(), b: z.number() })
const calls: unknown[] = []
const add = tool({
  description: 'Adds two numbers.',
  inputSchema: Numbers,
  execute: async (input) => {
    calls.push(input)
    return { sum: input.a + input.b }
  },
})

test('tools are called and answered, whole and streamed', async (t) => {
  const wishes = { model, prompt: 'Use add.', tools: { add }, stopWhen: stepCountIs(3), ...ONCE }
  const whole = await generateText(wishes)
  t.equal(whole.steps.length, 2)
  t.ok(whole.text.length > 0)
  const parts = []
  for await (const part of streamText(wishes).fullStream) parts.push(part.type)
  t.ok(parts.includes('tool-call'))
  t.ok(parts.includes('tool-result'))
  t.notOk(parts.includes('error'))
  t.equal(calls.length, 2)
  for (const input of calls) t.ok(Numbers.safeParse(input).success)
})

test('pictures and files are sent', async (t) => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  const { text } = await generateText({
    model,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', image: png, mediaType: 'image/png' },
          { type: 'file', data: Buffer.from('%PDF-1.4\n%%EOF\n'), mediaType: 'application/pdf' },
        ],
      },
    ],
    ...ONCE,
  })
  t.ok(text.length > 0)
})

test('objects fit their schema', async (t) => {
  const Person = z.object({ name: z.string(), age: z.number(), likes: z.array(z.string()) })
  const { object } = await generateObject({ model, schema: Person, prompt: 'A person.', ...ONCE })
  t.ok(Person.safeParse(object).success)
})

test('thinking arrives as reasoning, whole and streamed', async (t) => {
  const wishes = {
    model: sluice('sim/reasoner'),
    prompt: 'Think.',
    maxRetries: 0,
    maxOutputTokens: 4000,
    providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
  } as const
  const whole = await generateText(wishes)
  t.ok((whole.reasoningText ?? '').length > 0)
  t.ok(whole.text.length > 0)
  const streamed = streamText(wishes)
  let reasoning = ''
  for await (const part of streamed.fullStream) if (part.type === 'reasoning-delta') reasoning += part.text
  t.equal(reasoning, whole.reasoningText)
})

test('a search of the provider, with its sources', async (t) => {
  const tools = { web_search: sluice.tools.webSearch_20250305({ maxUses: 1 }) } as unknown as ToolSet
  const { sources, text } = await generateText({ model, prompt: 'What is new?', tools, ...ONCE })
  t.ok(sources.length > 0)
  t.ok(text.length > 0)
})

test('errors carry the status and the sentence', async (t) => {
  const failed = generateText({ model: sluice('sim/fault-rate-limited'), prompt: 'x', ...ONCE })
  const error = await failureOf(failed)
  t.ok(APICallError.isInstance(error))
  t.match(error, { statusCode: 429, isRetryable: true, message: 'Rate limit exceeded' })
})

test('a failure in the middle of a stream is an error part', async (t) => {
  const parts: string[] = []
  const streamed = streamText({ model: sluice('sim/fault-cut'), prompt: 'x', ...ONCE, onError: () => {} })
  for await (const part of streamed.fullStream) parts.push(part.type)
  t.ok(parts.includes('text-delta'))
  t.ok(parts.includes('error'))
})

test('a search that the gateway runs, inside a loop of client-side tools', async (t) => {
  const agent = sluice('sim/agent')
  const tools: ToolSet = {
    add,
    web_search: sluice.tools.webSearch_20250305({ maxUses: 3 }) as ToolSet[string],
  }
  const prompt = [
    'call web_search {"query":"gate three"}',
    'and add {"a":1,"b":2}',
    'answer Three, says https://gazette.example/2026/gate-three',
  ].join('\n')
  const request = { model: agent, prompt, tools, stopWhen: stepCountIs(4), ...ONCE }
  const whole = await generateText(request)
  t.equal(whole.finishReason, 'stop')
  t.match(whole.text, /^Three/)
  t.match(
    whole.steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName)),
    ['add', 'web_search'],
  )
  t.ok(whole.steps.some(({ sources }) => sources.some((source) => 'url' in source)))
  const streamed = streamText(request)
  let text = ''
  for await (const part of streamed.textStream) text += part
  t.equal(text, whole.steps.map((step) => step.text).join(''))
})
