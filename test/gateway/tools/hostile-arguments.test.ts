/** Whatever a model writes as arguments, a tool answers: models are hostile like all that comes from outside. */
import fc from 'fast-check'
import { test } from 'tap'
import type { JsonObject } from '../../../src/gateway/formats/json-values.js'
import { createAdvisorTool } from '../../../src/gateway/tools/advisor/advisor.js'
import { createDatetimeTool } from '../../../src/gateway/tools/datetime/datetime.js'
import { createFusionTool } from '../../../src/gateway/tools/fusion/fusion.js'
import { createMcpTool } from '../../../src/gateway/tools/mcp/mcp.js'
import { createSearchModelsTool } from '../../../src/gateway/tools/search-models/search-models.js'
import { createSubagentTool } from '../../../src/gateway/tools/subagent/subagent.js'
import { catalogOf, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { mcpWorld } from '../../support/tools/mcp-servers.js'
import { prepared, scriptedNested, toolRun } from '../../support/tools/tool-call.js'

const provider = new ScriptedProvider()
const catalog = () => catalogOf({ 'm/x': [{ slug: 'p' }] }, () => provider)
const noFault = () => null

const NAMES = [
  ...['timezone', 'query', 'series', 'input_modalities', 'min_context_length', 'prompt', 'model'],
  ...['task_name', 'task_description', 'message', 'a', 'b', '__proto__', 'constructor'],
]

/** Text and number of these cannot be had. */
const SHAPELESS = { toString: 1, valueOf: 1 }
const VALUES = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>(SHAPELESS, [SHAPELESS]))

test('no argument makes a tool throw, or answer anything but an outcome', async (t) => {
  const { servers, close } = mcpWorld({})
  t.teardown(close)
  const mcp = createMcpTool(servers)
  const simulated = await prepared(mcp, { server_label: 'sim' }, { isSimulated: true })
  const tools = [
    createDatetimeTool({ unixSeconds: () => 0 }),
    createSearchModelsTool(catalog),
    createAdvisorTool(noFault),
    createSubagentTool(noFault),
    createFusionTool(catalog, noFault),
  ]
  const { nested } = scriptedNested(() => ({ text: 'ok' }))
  const args = fc.dictionary(fc.constantFrom(...NAMES), VALUES) as fc.Arbitrary<JsonObject>
  await fc.assert(
    fc.asyncProperty(args, async (given) => {
      const readies = [simulated, ...(await Promise.all(tools.map((tool) => prepared(tool))))]
      for (const ready of readies) {
        const functions = ready.functions.filter(({ name }) => name !== 'sim__hang')
        for (const { name } of functions) {
          const outcome = await ready.run({ id: 'c', function: name, arguments: given }, toolRun({ nested }))
          t.type(outcome.isError, 'boolean')
          t.equal(outcome.charged, 0)
          t.ok(JSON.stringify(outcome.content).length < 10_000)
        }
      }
    }),
    { numRuns: 200 },
  )
})
