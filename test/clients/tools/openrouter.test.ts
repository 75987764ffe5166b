/** `@openrouter/sdk`, unmodified: every server tool and plugin that it can say, whole and streamed. */
import { OpenRouter } from '@openrouter/sdk'
import type { ChatRequest, ChatResult, ChatStreamChunk } from '@openrouter/sdk/models'
import tap, { test } from 'tap'
import {
  chatContent,
  checkAnswer,
  TOOL_CASES,
  type ToolCase,
  toolServerConfig,
} from '../../support/clients/tool-cases.js'
import { API_KEY, startGateway } from '../../support/servers/gateway-server.js'

const server = await startGateway({ config: toolServerConfig() })
tap.after(() => server.stop())
const client = new OpenRouter({
  serverURL: server.apiUrl,
  apiKey: API_KEY,
  retryConfig: { strategy: 'none' },
})

/** Members as this client has them. */
function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const key = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
      const own =
        typeof member === 'string' && name === 'type' ? member.replace('service:', 'openrouter:') : member
      return [key, camelCased(own)]
    }),
  )
}

function requestOf(each: ToolCase): ChatRequest {
  const { tools, plugins, model = 'sim/agent', more } = each
  const messages = [{ role: 'user', content: camelCased(chatContent(each)) }]
  return { model, messages, ...(camelCased({ tools, plugins, ...more }) as object) } as ChatRequest
}

for (const each of TOOL_CASES) {
  if (each.ours === true) continue
  test(`${each.name}: whole and streamed say and cost the same, row by row`, async (t) => {
    const chatRequest = requestOf(each)
    const whole = (await client.chat.send({ chatRequest: { ...chatRequest, stream: false } })) as ChatResult
    const stream = await client.chat.send({ chatRequest: { ...chatRequest, stream: true } })
    const chunks: ChatStreamChunk[] = []
    for await (const chunk of stream as AsyncIterable<ChatStreamChunk>) chunks.push(chunk)
    const text = String(whole.choices[0]!.message.content ?? '')
    const said = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    const usage = chunks.at(-1)?.usage
    await checkAnswer(t, server, each, { id: whole.id, text, cost: whole.usage?.cost ?? undefined })
    await checkAnswer(t, server, each, { id: chunks[0]!.id, text: said, cost: usage?.cost ?? undefined })
    if (each.varies) return
    t.equal(said, text)
    t.same(usage, whole.usage)
  })
}
