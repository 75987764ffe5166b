/** The `ai` package with `@ai-sdk/openai-compatible`, both unmodified, against a real server. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateObject, generateText, stepCountIs, streamObject, streamText, tool } from 'ai'
import tap, { test } from 'tap'
import { z } from 'zod'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())

const sluice = createOpenAICompatible({
  name: 'sluice',
  baseURL: server.apiUrl,
  apiKey: API_KEY,
  includeUsage: true,
  supportsStructuredOutputs: true,
})
const model = sluice('sim/instant')
const Person = z.object({ name: z.string(), age: z.number(), likes: z.array(z.string()) })

test('text is generated, with usage', async (t) => {
  const { text, usage, finishReason } = await generateText({ model, prompt: 'Say hello.', maxRetries: 0 })
  t.ok(text.length > 0)
  t.equal(finishReason, 'stop')
  t.ok((usage.inputTokens ?? 0) > 0 && (usage.outputTokens ?? 0) > 0)
})

test('text is streamed, and is the same', async (t) => {
  const { text: whole } = await generateText({ model, prompt: 'Stream it.', seed: 3, maxRetries: 0 })
  const streamed = streamText({ model, prompt: 'Stream it.', seed: 3, maxRetries: 0 })
  let text = ''
  for await (const part of streamed.textStream) text += part
  t.equal(text, whole)
  t.ok(((await streamed.usage).outputTokens ?? 0) > 0)
})

const calls: unknown[] = []
const add = tool({
  description: 'Adds two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async (input) => {
    calls.push(input)
    return { sum: input.a + input.b }
  },
})

test('tools are called and answered, whole and streamed', async (t) => {
  const wishes = { model, prompt: 'Use add.', tools: { add }, stopWhen: stepCountIs(3), maxRetries: 0 }
  const whole = await generateText({ ...wishes, toolChoice: 'auto' })
  t.ok(whole.text.length > 0 || whole.steps.length > 1)
  const streamed = streamText({
    ...wishes,
    prepareStep: ({ stepNumber }) => (stepNumber === 0 ? { toolChoice: 'required' } : {}),
  })
  const parts = []
  for await (const part of streamed.fullStream) parts.push(part.type)
  t.ok(parts.includes('tool-call'))
  t.ok(parts.includes('tool-result'))
  t.notOk(parts.includes('error'))
  t.ok(calls.every((input) => z.object({ a: z.number(), b: z.number() }).safeParse(input).success))
  t.ok(calls.length > 0)
})

test('objects fit their schema, whole and streamed', async (t) => {
  const whole = await generateObject({ model, schema: Person, prompt: 'A person.', maxRetries: 0 })
  t.ok(Person.safeParse(whole.object).success)
  const streamed = streamObject({ model, schema: Person, prompt: 'A person.', maxRetries: 0 })
  for await (const _ of streamed.partialObjectStream) {
    // Only the last one is complete.
  }
  t.same(await streamed.object, whole.object)
})

test('reasoning arrives as reasoning', async (t) => {
  const { reasoningText, text } = await generateText({
    model: sluice('sim/reasoner'),
    prompt: 'Think.',
    maxRetries: 0,
  })
  t.ok((reasoningText ?? '').length > 0)
  t.ok(text.length > 0)
})

test('errors carry the status and the sentence', async (t) => {
  const failed = generateText({ model: sluice('sim/fault-rate-limited'), prompt: 'x', maxRetries: 0 })
  const error = await failureOf(failed)
  t.ok(APICallError.isInstance(error))
  t.match(error, { statusCode: 429, isRetryable: true })
})

test('a failure in the middle of a stream is an error part', async (t) => {
  const parts: string[] = []
  const streamed = streamText({
    model: sluice('sim/fault-cut'),
    prompt: 'x',
    maxRetries: 0,
    onError: () => {},
  })
  for await (const part of streamed.fullStream) parts.push(part.type)
  t.ok(parts.includes('text-delta'))
  t.ok(parts.includes('error'))
})
