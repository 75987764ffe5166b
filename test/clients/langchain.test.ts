/** LangChain's models and agents over both formats, unmodified. */
import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { StructuredOutputParser } from '@langchain/core/output_parsers'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, HumanMessage, providerStrategy, tool, toolStrategy } from 'langchain'
import tap, { test } from 'tap'
import { z } from 'zod'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())

const MODELS: readonly (readonly [format: string, modelOf: (model: string) => BaseChatModel])[] = [
  [
    'chat',
    (model: string) =>
      new ChatOpenAI({ model, apiKey: API_KEY, maxRetries: 0, configuration: { baseURL: server.apiUrl } }),
  ],
  [
    'messages',
    (model: string) =>
      new ChatAnthropic({
        model,
        apiKey: API_KEY,
        maxRetries: 0,
        anthropicApiUrl: `${server.baseUrl}/api`,
      }),
  ],
]

const asked: unknown[] = []
const weather = tool(
  (input: { city: string }) => {
    asked.push(input)
    return `Sunny in ${input.city}.`
  },
  { name: 'get_weather', description: 'Weather of a city.', schema: z.object({ city: z.string() }) },
)
const Report = z.object({ summary: z.string(), degrees: z.number().int().min(-20).max(40) })
const say = (content: string) => ({ messages: [{ role: 'user' as const, content }] })

for (const [format, modelOf] of MODELS) {
  const model = modelOf('sim/instant')

  test(`${format}: a text, whole and streamed`, async (t) => {
    const whole = await model.invoke('Say hello.')
    let text = ''
    for await (const piece of await model.stream('Say hello.')) text += piece.text
    t.equal(text, whole.text)
    t.match(whole, { usage_metadata: { input_tokens: Number, output_tokens: Number } })
  })

  test(`${format}: an agent calls what the prompt says, and ends`, async (t) => {
    asked.length = 0
    const agent = createAgent({ model, tools: [weather] })
    const script = 'call: get_weather {"city":"Zürich"}\ncall: get_weather {"city":"Genève"}'
    const { messages } = await agent.invoke(say(script))
    t.strictSame(asked, [{ city: 'Zürich' }, { city: 'Genève' }])
    t.ok((messages.at(-1)?.text ?? '').length > 0)
  })

  // With a strategy of tools the agent asks for a call in every turn, until the answer's own tool is called.
  for (const [name, responseFormat] of [
    ['its default', Report],
    ['a tool', toolStrategy(Report)],
    ['the provider', providerStrategy(Report)],
  ] as const) {
    test(`${format}: an agent with a structured answer by ${name} ends with one`, async (t) => {
      asked.length = 0
      const agent = createAgent({ model, tools: [weather], responseFormat: responseFormat as typeof Report })
      const { structuredResponse } = await agent.invoke(say('How is the weather?'))
      t.ok(Report.safeParse(structuredResponse).success, JSON.stringify(structuredResponse))
      t.ok(asked.length <= 1, 'no tool is called again and again')
    })
  }

  test(`${format}: an agent is streamed`, async (t) => {
    const agent = createAgent({ model, tools: [weather] })
    const steps: string[] = []
    for await (const update of await agent.stream(say('call: get_weather {"city":"Bern"}'), {
      streamMode: 'updates',
    })) {
      steps.push(...Object.keys(update))
    }
    t.strictSame(steps, ['model_request', 'tools', 'model_request'])
  })

  test(`${format}: structured output by each method`, async (t) => {
    for (const method of ['functionCalling', 'jsonSchema'] as const) {
      const answer = await model.withStructuredOutput(Report, { method }).invoke('Report.')
      t.ok(Report.safeParse(answer).success, `${method}: ${JSON.stringify(answer)}`)
    }
    const parser = StructuredOutputParser.fromZodSchema(Report)
    const answer = await model.pipe(parser).invoke(`Report.\n${parser.getFormatInstructions()}`)
    t.ok(Report.safeParse(answer).success, `in the prompt: ${JSON.stringify(answer)}`)
  })

  test(`${format}: pictures, many calls at once, and a call that is left`, async (t) => {
    const png = 'iVBORw0KGgoAAAANSUhEUg=='
    const message = new HumanMessage({
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
      ],
    })
    t.ok((await model.invoke([message])).text.length > 0)
    const answers = await model.batch(Array.from({ length: 20 }, (_, i) => `Number ${i}.`))
    t.equal(new Set(answers.map(({ text }) => text)).size, 20)
    const controller = new AbortController()
    const left = async (): Promise<void> => {
      for await (const _ of await modelOf('sim/standard').stream('x', { signal: controller.signal }))
        controller.abort()
    }
    await t.rejects(left())
  })
}
