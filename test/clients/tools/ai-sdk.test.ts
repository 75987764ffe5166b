/**
 * The `ai` package, unmodified: every server tool and plugin inside a client-side loop of tools, which has to go on where
 * the gateway's own ends.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, streamText, tool } from 'ai'
import tap, { test } from 'tap'
import { z } from 'zod'
import { TOOL_CASES, type ToolCase, toolServerConfig } from '../../support/clients/tool-cases.js'
import { API_KEY, startGateway } from '../../support/servers/gateway-server.js'

const server = await startGateway({ config: toolServerConfig() })
tap.after(() => server.stop())

/** The documented way of this provider to send what its own settings do not have. */
function modelOf({ tools = [], plugins, model = 'sim/agent', more }: ToolCase) {
  const provider = createOpenAICompatible({
    name: 'sluice',
    baseURL: server.apiUrl,
    apiKey: API_KEY,
    includeUsage: true,
    transformRequestBody: (body) => ({
      ...body,
      ...more,
      tools: [...((body.tools ?? []) as readonly unknown[]), ...tools],
      ...(plugins !== undefined && { plugins }),
    }),
  })
  return provider(model)
}

for (const each of TOOL_CASES) {
  if (each.choosesModel === true) continue
  test(`${each.name}: a client-side loop around it goes on to its end, whole and streamed`, async (t) => {
    const asked: string[] = []
    const read = tool({
      description: 'Reads a file.',
      inputSchema: z.object({ path: z.string() }),
      execute: async ({ path }) => {
        asked.push(path)
        return 'empty'
      },
    })
    const prompt = `call read {"path":"a"}\n${each.script}`
    const options = { model: modelOf(each), prompt, tools: { read }, stopWhen: isStepCount(8), maxRetries: 0 }
    const whole = await generateText(options)
    const streamed = streamText(options)
    const text = await streamed.text
    t.match(whole.text, each.says)
    t.match(text, each.says)
    t.strictSame(asked, ['a', 'a'])
    if (!each.varies) t.equal(text, whole.text)
  })
}
