/** Public clients, unmodified, with tools that the gateway runs beside functions of their own (contract/tools 1.3). */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { OpenRouter } from '@openrouter/sdk'
import type { ChatRequest, ChatResult, ChatStreamChunk } from '@openrouter/sdk/models'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import tap, { test } from 'tap'
import { z } from 'zod'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.teardown(() => server.stop())

const DATETIME = { type: 'openrouter:datetime' as const }
const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const WEATHER = { type: 'function' as const, function: { name: 'get_weather', parameters } }
/** Ours in one turn, both in the next. */
const MIXED = [
  'call service:datetime',
  'call service:datetime {"timezone":"Europe/London"}',
  'and get_weather {"city":"Oslo"}',
].join('\n')
const ALONE = 'say One moment.\ncall service:datetime\nanswer Done.'

// ── openai ──────────────────────────────────────────────────────────────────

const openai = new OpenAI({ baseURL: server.apiUrl, apiKey: API_KEY, maxRetries: 0 })
/** The package knows no tools of this gateway. */
const TOOLS = [DATETIME, WEATHER] as unknown as OpenAI.ChatCompletionTool[]
const ask = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }]

test('openai: an answer with a tool run here, whole and streamed', async (t) => {
  const body = { model: 'sim/agent', messages: ask(ALONE), tools: TOOLS }
  const whole = await openai.chat.completions.create(body)
  const streamed = await openai.chat.completions.stream(body).finalChatCompletion()
  t.equal(whole.choices[0]!.message.content, 'One moment.\n\nDone.')
  t.equal(streamed.choices[0]!.message.content, 'One moment.\n\nDone.')
  t.same(streamed.usage, whole.usage)
})

test('openai: a mixed turn is answered by the caller, and the loop goes on', async (t) => {
  const messages = ask(MIXED)
  const first = await openai.chat.completions.create({ model: 'sim/agent', messages, tools: TOOLS })
  const { message, finish_reason } = first.choices[0]!
  t.equal(finish_reason, 'tool_calls')
  const [call] = message.tool_calls!
  messages.push(message, { role: 'tool', tool_call_id: call!.id, content: '{"celsius":7}' })
  const next = await openai.chat.completions.create({ model: 'sim/agent', messages, tools: TOOLS })
  t.match(next.choices[0]!.message.content, /celsius/)
  t.match(next.choices[0]!.message.content, /Europe\/London/)
})

// ── @openrouter/sdk ─────────────────────────────────────────────────────────────

const openrouter = new OpenRouter({
  serverURL: server.apiUrl,
  apiKey: API_KEY,
  retryConfig: { strategy: 'none' },
})

const wishes = (messages: ChatRequest['messages']): ChatRequest => ({
  model: 'sim/agent',
  messages,
  tools: [DATETIME, WEATHER] as NonNullable<ChatRequest['tools']>,
})

test('@openrouter/sdk: an answer with a tool run here, whole and streamed', async (t) => {
  const chatRequest = wishes([{ role: 'user', content: ALONE }])
  const whole = (await openrouter.chat.send({ chatRequest: { ...chatRequest, stream: false } })) as ChatResult
  t.equal(whole.choices[0]!.message.content, 'One moment.\n\nDone.')
  t.match(whole.usage?.serverToolUseDetails, { toolCallsRequested: 1, toolCallsExecuted: 1 })
  const stream = await openrouter.chat.send({ chatRequest: { ...chatRequest, stream: true } })
  let text = ''
  for await (const chunk of stream as AsyncIterable<ChatStreamChunk>)
    text += chunk.choices[0]?.delta.content ?? ''
  t.equal(text, 'One moment.\n\nDone.')
})

test('@openrouter/sdk: a mixed turn comes back through its own schemas', async (t) => {
  const question: ChatRequest['messages'][number] = { role: 'user', content: MIXED }
  const first = (await openrouter.chat.send({
    chatRequest: { ...wishes([question]), stream: false },
  })) as ChatResult
  const { message } = first.choices[0]!
  t.equal(message.reasoningDetails?.length, 2)
  const result: ChatRequest['messages'][number] = {
    role: 'tool',
    toolCallId: message.toolCalls![0]!.id,
    content: '{"celsius":7}',
  }
  const chatRequest = wishes([question, message, result])
  const next = (await openrouter.chat.send({
    xOpenRouterMetadata: 'enabled',
    chatRequest: { ...chatRequest, stream: false },
  })) as ChatResult
  t.match(next.choices[0]!.message.content, /Europe\/London/, 'no detail was lost on the way')
})

// ── ai ──────────────────────────────────────────────────────────────────────

/** The packages send functions alone: a tool of the gateway is added to what they send. */
const withDatetime: typeof fetch = (url, init) => {
  const body = JSON.parse(String(init?.body)) as { tools?: object[] }
  return fetch(url, { ...init, body: JSON.stringify({ ...body, tools: [...(body.tools ?? []), DATETIME] }) })
}

const settings = { baseURL: server.apiUrl, apiKey: API_KEY, fetch: withDatetime }
const MODELS = [
  ['@ai-sdk/openai-compatible', createOpenAICompatible({ name: 'sluice', ...settings })('sim/agent')],
  ['@openrouter/ai-sdk-provider', createOpenRouter(settings)('sim/agent')],
] as const

for (const [name, model] of MODELS) {
  test(`ai with ${name}: its own loop of functions around the loop here, whole and streamed`, async (t) => {
    let asked = 0
    const get_weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async () => {
        asked++
        return { celsius: 7 }
      },
    })
    const loop = { model, prompt: MIXED, tools: { get_weather }, stopWhen: stepCountIs(3), maxRetries: 0 }
    const whole = await generateText(loop)
    // These packages keep no details of kinds that they do not know: the model asks our tool once more.
    t.equal(whole.steps.length, 3)
    t.match(whole.text, /celsius/)
    const streamed = streamText(loop)
    t.match(await streamed.text, /celsius/)
    t.equal((await streamed.steps).length, 3)
    t.equal(asked, 4)
  })
}
