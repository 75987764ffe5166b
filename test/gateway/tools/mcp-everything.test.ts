/** A foreign MCP server over each transport. */
import { test } from 'tap'
import type { McpServerConfig } from '../../../src/gateway/tools/mcp/configuration.js'
import { createMcpTool } from '../../../src/gateway/tools/mcp/mcp.js'
import type { PreparedTool } from '../../../src/gateway/tools/port/tool.js'
import { byCommand, byUrl, EVERYTHING, mcpWorld, startEverything } from '../../support/tools/mcp-servers.js'
import { prepared, toolRun } from '../../support/tools/tool-call.js'

const TRANSPORTS = ['stdio', 'streamableHttp', 'sse'] as const

for (const transport of TRANSPORTS) {
  test(`its tools can be called over ${transport}`, async (t) => {
    const started = transport === 'stdio' ? null : await startEverything(transport)
    const config: McpServerConfig =
      started === null
        ? byCommand([EVERYTHING, 'stdio'])
        : byUrl(started.url, { transport: transport === 'sse' ? 'sse' : 'http' })
    const { servers, close } = mcpWorld({ all: config })
    t.teardown(async () => {
      await close()
      await started?.close()
    })
    const ready = await prepared(createMcpTool(servers), { server_label: 'all' })
    const ask = (tool: string, args: Record<string, unknown> = {}) => callIn(ready, `all__${tool}`, args)

    t.match(
      ready.functions.find(({ name }) => name === 'all__get-sum'),
      { origin: { server: 'all', tool: 'get-sum' }, parameters: { type: 'object', required: ['a', 'b'] } },
    )
    t.same((await ask('echo', { message: 'hello' })).content, {
      origin: 'MCP server all',
      text: 'Echo: hello',
    })
    t.match(await ask('get-sum', { a: 2, b: 3 }), { isError: false, executed: true, charged: 0 })
    const { images } = await ask('get-tiny-image')
    t.match(images?.[0], /^data:image\/png;base64,iVBOR/)
    t.match(await ask('get-resource-reference', { resourceType: 'Text', resourceId: 1 }), {
      content: { text: /demo:\/\/resource/ },
    })
    t.match(await ask('get-sum', { a: 'x' }), { isError: true, executed: true })
    if (transport === 'stdio') {
      const { content } = await ask('get-env')
      t.notMatch(JSON.stringify(content), /PATH|HOME/, 'nothing of our environment reaches it')
    }
  })
}

function callIn(ready: PreparedTool, name: string, args: Record<string, unknown>) {
  return ready.run({ id: 'call_1', function: name, arguments: args }, toolRun())
}
