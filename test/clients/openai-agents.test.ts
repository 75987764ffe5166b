/** OpenAI's agents over chat completions, as their users set them up for other servers. */
import { Agent, type AgentInputItem, handoff, Runner, tool, user } from '@openai/agents-core'
import { OpenAIProvider } from '@openai/agents-openai'
import OpenAI from 'openai'
import tap, { test } from 'tap'
import { z } from 'zod'
import { failureOf } from '../support/clients/failure-of.js'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())

const openAIClient = new OpenAI({ baseURL: server.apiUrl, apiKey: API_KEY, maxRetries: 0 })
const modelProvider = new OpenAIProvider({ openAIClient, useResponses: false })
const runner = new Runner({ modelProvider, tracingDisabled: true })

const asked: unknown[] = []
const weather = tool({
  name: 'get_weather',
  description: 'Weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: async (input) => {
    asked.push(input)
    return `Sunny in ${input.city}.`
  },
})
const SCRIPT = 'call: get_weather {"city":"Zürich"}\ncall: get_weather {"city":"Genève"}'
const CITIES = [{ city: 'Zürich' }, { city: 'Genève' }]

const agentOf = (more: object = {}) =>
  new Agent({ name: 'Helper', model: 'sim/instant', instructions: 'Be brief.', tools: [weather], ...more })

test('a loop of tools, whole and streamed', async (t) => {
  asked.length = 0
  const whole = await runner.run(agentOf(), SCRIPT)
  t.ok(String(whole.finalOutput).length > 0)
  const streamed = await runner.run(agentOf(), SCRIPT, { stream: true })
  let text = ''
  for await (const piece of streamed.toTextStream()) text += piece
  await streamed.completed
  t.equal(text, whole.finalOutput)
  t.strictSame(asked, [...CITIES, ...CITIES])
})

test('the default format, which is not served, is a 404 that says how to choose the other', async (t) => {
  const responses = new OpenAIProvider({ openAIClient, useResponses: true })
  const asIs = new Runner({ modelProvider: responses, tracingDisabled: true })
  const error = await failureOf(asIs.run(agentOf(), 'Hi.'))
  t.match(String(error), /setOpenAIAPI\('chat_completions'\)/)
})

test('a structured answer', async (t) => {
  const Report = z.object({ summary: z.string(), degrees: z.number().int() })
  const { finalOutput } = await runner.run(agentOf({ outputType: Report }), 'Report.')
  t.ok(Report.safeParse(finalOutput).success)
})

test('a handoff to another agent', async (t) => {
  const expert = agentOf({ name: 'Expert', tools: [] })
  const first = agentOf({ tools: [], handoffs: [handoff(expert)] })
  const { lastAgent, finalOutput } = await runner.run(first, 'call: transfer_to_Expert {}')
  t.equal(lastAgent?.name, 'Expert')
  t.ok(String(finalOutput).length > 0)
})

test('a conversation of several turns', async (t) => {
  let history: AgentInputItem[] = [user('Hello.')]
  for (let turn = 0; turn < 5; turn++) {
    const result = await runner.run(agentOf({ tools: [] }), history)
    t.ok(String(result.finalOutput).length > 0)
    history = [...result.history, user(`And number ${turn}?`)]
  }
})
