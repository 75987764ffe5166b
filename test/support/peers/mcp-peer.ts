/** Another process that has a server by command; it tells the ids of that server and of what it has started. */
import { createMcpTool } from '../../../src/gateway/tools/mcp/mcp.js'
import { FAULTY_SERVER } from '../tools/faulty-mcp-server.js'
import { byProgram, mcpWorld } from '../tools/mcp-servers.js'
import { prepared, toolRun } from '../tools/tool-call.js'
import { servePeer } from './peer-process.js'

await servePeer<string>(import.meta.url, () => {
  const { servers, close } = mcpWorld({ f: byProgram(FAULTY_SERVER) })
  return {
    answer: async () => {
      const ready = await prepared(createMcpTool(servers), { server_label: 'f' })
      const pidOf = async (name: string): Promise<number> => {
        const { content } = await ready.run({ id: 'c', function: name, arguments: {} }, toolRun())
        return Number((content as { readonly text: string }).text)
      }
      return [await pidOf('f__pid'), await pidOf('f__child')]
    },
    close,
  }
})
