/** The `@anthropic-ai/sdk` package, unmodified: every server tool and plugin once, whole and streamed. */
import Anthropic from '@anthropic-ai/sdk'
import tap, { test } from 'tap'
import { checkAnswer, TOOL_CASES, type ToolCase, toolServerConfig } from '../../support/clients/tool-cases.js'
import { API_KEY, startGateway } from '../../support/servers/gateway-server.js'

const server = await startGateway({ config: toolServerConfig() })
tap.after(() => server.stop())
const client = new Anthropic({ baseURL: `${server.baseUrl}/api`, apiKey: API_KEY, maxRetries: 0 })

function requestOf({ tools, plugins, model = 'sim/agent', script, messagesMore, attachment }: ToolCase) {
  const data = attachment?.toString('base64')
  const source = { type: 'base64' as const, media_type: 'application/pdf' as const, data: data ?? '' }
  const text = { type: 'text' as const, text: script }
  const content = data === undefined ? script : [{ type: 'document' as const, source }, text]
  return {
    model,
    max_tokens: 2000,
    messages: [{ role: 'user' as const, content }],
    ...messagesMore,
    ...(tools !== undefined && { tools: tools as unknown as Anthropic.ToolUnion[] }),
    ...(plugins !== undefined && { plugins }),
  }
}

const textOf = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

/** Tools that only this format has. */
const MESSAGES_CASES: readonly ToolCase[] = [
  {
    name: 'text_editor',
    tools: [
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', engine: 'service' },
      { name: 'get_weather', input_schema: { type: 'object' } },
    ],
    script:
      'call str_replace_based_edit_tool {"command":"create","path":"notes.txt","file_text":"Oats."}\nanswer Written.',
    says: /Written/,
    rows: ['tool text_editor'],
    varies: true,
  },
  {
    name: 'tool_search',
    tools: [
      { type: 'service:tool_search' },
      {
        name: 'get_weather',
        description: 'Weather',
        input_schema: { type: 'object' },
        defer_loading: true,
      },
    ],
    script: 'call tool_search {"query":"weath.r"}',
    says: /get_weather/,
    rows: ['tool tool_search'],
  },
]

for (const each of [...TOOL_CASES, ...MESSAGES_CASES]) {
  if (each.chatOnly === true) continue
  test(`${each.name}: whole and streamed say and cost the same, row by row`, async (t) => {
    const whole = await client.messages.create(requestOf(each))
    const streamed = await client.messages.stream(requestOf(each)).finalMessage()
    for (const message of [whole, streamed]) {
      t.equal(message.stop_reason, 'end_turn')
      const { cost } = message.usage as { readonly cost?: number }
      await checkAnswer(t, server, each, { id: message.id, text: textOf(message), cost })
    }
    if (each.varies) return
    t.strictSame(
      streamed.content.map(({ type }) => type),
      whole.content.map(({ type }) => type),
    )
    t.equal(textOf(streamed), textOf(whole))
    t.equal(streamed.usage.output_tokens, whole.usage.output_tokens)
  })
}
