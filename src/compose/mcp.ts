/** Puts the MCP servers of a worker together. Where none is configured, nothing of the protocol is loaded before it is used. */
import type { GatewayConfig } from '../gateway/catalog/configuration.js'
import { resolveMcpServers } from '../gateway/tools/mcp/configuration.js'
import { loadMcpLibrary } from '../gateway/tools/mcp/connect.js'
import { McpServers, type McpSettings } from '../gateway/tools/mcp/mcp-servers.js'
import { answerMcpMessage } from '../simulator/mcp/simulated-mcp-server.js'
import { fileAddressGuard } from '../upstream/address-guard.js'
import { createUpstreamClient } from '../upstream/client.js'
import type { WorkerContext } from './worker-context.js'

export function composeMcp({ config, clock, log }: Pick<WorkerContext, 'config' | 'clock' | 'log'>) {
  const onDefect = (err: unknown): void =>
    log.error({ err }, 'a defect while an MCP server answered; the call was ended')
  // Connections of their own: streams of events stay open, and must not take the place of calls to providers.
  const upstream = createUpstreamClient({ onDefect })
  const guarded = createUpstreamClient({ guard: fileAddressGuard(config.allowLoopbackFiles), onDefect })
  const settings = mcpSettings(config.gateway)
  const servers = new McpServers({ settings, clock, upstream, guarded, simulated: answerMcpMessage })
  return {
    servers,
    /** Before the first call. */
    start: async (): Promise<void> => {
      if (Object.keys(settings.servers).length + settings.allowedUrls.length > 0) await loadMcpLibrary()
    },
    configure: (renewed: GatewayConfig): void => servers.configure(mcpSettings(renewed)),
    close: async (): Promise<void> => {
      await servers.close()
      await Promise.all([upstream.close(), guarded.close()])
    },
  }
}

function mcpSettings({ mcpServers, credentials, tools }: GatewayConfig): McpSettings {
  return { servers: resolveMcpServers(mcpServers, credentials), allowedUrls: tools.mcp.allowedUrls }
}
