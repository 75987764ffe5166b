/** The `openai` package, unmodified: every server tool and plugin once, whole and streamed. */
import OpenAI from 'openai'
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
const client = new OpenAI({ baseURL: server.apiUrl, apiKey: API_KEY, maxRetries: 0 })

function requestOf(each: ToolCase) {
  const { tools, plugins, model = 'sim/agent', more } = each
  return {
    model,
    messages: [{ role: 'user' as const, content: chatContent(each) as string }],
    ...more,
    ...(tools !== undefined && { tools: tools as unknown as OpenAI.ChatCompletionTool[] }),
    ...(plugins !== undefined && { plugins }),
  }
}

for (const each of TOOL_CASES) {
  test(`${each.name}: whole and streamed say and cost the same, row by row`, async (t) => {
    const whole = await client.chat.completions.create(requestOf(each))
    const stream = client.chat.completions.stream(requestOf(each))
    const streamed = await stream.finalChatCompletion()
    const usage = await stream.totalUsage()
    for (const { id, choices, usage } of [whole, streamed]) {
      t.equal(choices[0]!.finish_reason, 'stop')
      const cost = (usage as { readonly cost?: number } | undefined)?.cost
      await checkAnswer(t, server, each, { id, text: choices[0]!.message.content ?? '', cost })
    }
    if (each.varies) return
    t.equal(streamed.choices[0]!.message.content, whole.choices[0]!.message.content)
    t.equal(usage.total_tokens, whole.usage?.total_tokens)
  })
}
