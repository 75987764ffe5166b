/** Version 6 of the `ai` package, which Node 20 has: a text, a loop and an object over each of its providers. */
import { generateText, Output, stepCountIs, streamText, tool } from 'ai-6'
import { createAnthropic } from 'ai-6-anthropic'
import { createOpenAI } from 'ai-6-openai'
import { createOpenAICompatible } from 'ai-6-openai-compatible'
import tap, { test } from 'tap'
import { z } from 'zod'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())

const account = { baseURL: server.apiUrl, apiKey: API_KEY }
const COMPATIBLE = { name: 'sluice', supportsStructuredOutputs: true, includeUsage: true, ...account }
const MODELS = [
  ['openai', createOpenAI(account).chat('sim/instant')],
  ['openai-compatible', createOpenAICompatible(COMPATIBLE)('sim/instant')],
  ['anthropic', createAnthropic(account)('sim/instant')],
] as const
const ONCE = { maxRetries: 0, maxOutputTokens: 500 } as const
const Person = z.object({ name: z.string(), age: z.number().int().min(18).max(30) })

for (const [name, model] of MODELS) {
  test(`${name}: a text, whole and streamed`, async (t) => {
    const whole = await generateText({ model, prompt: 'Say hello.', ...ONCE })
    let text = ''
    for await (const part of streamText({ model, prompt: 'Say hello.', ...ONCE }).textStream) text += part
    t.equal(text, whole.text)
    t.ok((whole.usage.outputTokens ?? 0) > 0)
  })

  test(`${name}: a loop of tools, whole and streamed`, async (t) => {
    const asked: unknown[] = []
    const read = tool({
      description: 'Reads a file.',
      inputSchema: z.object({ path: z.string() }),
      execute: async (input) => {
        asked.push(input)
        return 'empty'
      },
    })
    const prompt = 'call: read {"path":"a"}\ncall: read {"path":"b"}'
    const wishes = { model, prompt, tools: { read }, stopWhen: stepCountIs(9), ...ONCE }
    const whole = await generateText(wishes)
    t.equal(whole.steps.length, 3)
    const streamed = streamText(wishes)
    await streamed.consumeStream()
    t.equal((await streamed.steps).length, 3)
    t.strictSame(asked, [{ path: 'a' }, { path: 'b' }, { path: 'a' }, { path: 'b' }])
  })

  test(`${name}: an object of a schema`, async (t) => {
    const wishes = { model, prompt: 'Somebody.', output: Output.object({ schema: Person }), ...ONCE }
    t.ok(Person.safeParse((await generateText(wishes)).output).success)
  })
}
