/** The MCP servers of a worker: those of the operator, those that requests may bring, and the simulated one. */
import type { Transport } from '@modelcontextprotocol/client'
import type { Clock } from '../../../base/clock.js'
import type { UpstreamClient } from '../../../upstream/port.js'
import type { ToolRequest } from '../port/tool.js'
import { AnsweringTransport, type AnswerMcpMessage } from './answering-transport.js'
import type { McpServerConfig, McpUrlConfig } from './configuration.js'
import type { McpLibrary } from './connect.js'
import type { McpDirectory } from './mcp.js'
import { McpServer } from './mcp-server.js'
import { StdioTransport } from './stdio-transport.js'
import { upstreamFetch } from './upstream-fetch.js'

/** What the configuration says of MCP. */
export interface McpSettings {
  readonly servers: Readonly<Record<string, McpServerConfig>>
  readonly allowedUrls: readonly string[]
}

interface McpServersOptions {
  readonly settings: McpSettings
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** To servers of the operator. */
  readonly upstream: UpstreamClient
  /** To servers that a request brings: it dials public addresses only. */
  readonly guarded: UpstreamClient
  readonly simulated: AnswerMcpMessage
}

const SIMULATED = 'sim'
/** Of servers that requests bring: the one that was asked for longest ago is let go. */
const MOST_BROUGHT = 64

const BROUGHT: Pick<McpServerConfig, 'timeoutMs' | 'concurrentCalls' | 'maxAnswerBytes'> = {
  timeoutMs: 30_000,
  concurrentCalls: 8,
  maxAnswerBytes: 1024 * 1024,
}

export class McpServers implements McpDirectory {
  readonly #options: McpServersOptions
  readonly #simulated: McpServer
  /** Connections of one organization are of no other: a server may keep something for a session. */
  readonly #brought = new Map<string, McpServer>()
  #settings: McpSettings
  #configured: ReadonlyMap<string, McpServer>

  constructor(options: McpServersOptions) {
    this.#options = options
    this.#settings = options.settings
    this.#configured = new Map(
      Object.entries(options.settings.servers).map(([label, config]) => [label, this.#open(label, config)]),
    )
    const { clock, simulated } = options
    const openTransport = (): Transport => new AnsweringTransport(simulated)
    this.#simulated = new McpServer({ ...BROUGHT, place: SIMULATED, openTransport, clock })
  }

  find(label: string, url: string | null, { isSimulated, caller }: ToolRequest): McpServer | null {
    const { servers, allowedUrls } = this.#settings
    const config = Object.hasOwn(servers, label) ? servers[label] : undefined
    if (url === null) {
      if (label === SIMULATED) return isSimulated ? this.#simulated : null
      return this.#configured.get(label) ?? null
    }
    const address = URL.canParse(url) ? new URL(url).href.replace(/\/+$/, '') : ''
    if (config !== undefined && 'url' in config && config.url === address) return this.#configured.get(label)!
    return allowedUrls.includes(address) ? this.#bring(address, caller.organizationId) : null
  }

  #bring(url: string, organizationId: string): McpServer {
    const key = `${organizationId} ${url}`
    const known = this.#brought.get(key)
    this.#brought.delete(key)
    this.#letGoOfOldest()
    const server =
      known ??
      this.#openUrl({ ...BROUGHT, url, transport: 'http', apiKey: null, headers: {} }, this.#options.guarded)
    this.#brought.set(key, server)
    return server
  }

  /** So that there is room for another one. No call of anybody ends for it: busy ones stay. */
  #letGoOfOldest(): void {
    for (const [key, server] of this.#brought) {
      if (this.#brought.size < MOST_BROUGHT) return
      if (!server.isIdle) continue
      this.#brought.delete(key)
      void server.close()
    }
  }

  #open(label: string, config: McpServerConfig): McpServer {
    if ('url' in config) return this.#openUrl(config, this.#options.upstream)
    const { command, args, environment, cwd, maxAnswerBytes: maxMessageBytes } = config
    const options = { command, args, environment, cwd, maxMessageBytes }
    const openTransport = (): Transport => new StdioTransport(options)
    return new McpServer({ ...config, place: label, openTransport, clock: this.#options.clock })
  }

  #openUrl(config: McpUrlConfig, upstream: UpstreamClient): McpServer {
    const { url, transport, apiKey, maxAnswerBytes, timeoutMs } = config
    const headers = [
      ...Object.entries(config.headers),
      ...(apiKey === null ? [] : [['authorization', `Bearer ${apiKey}`] as const]),
    ]
    const fetch = upstreamFetch({ upstream, maxAnswerBytes, timeoutMs, headers })
    const openTransport = (library: McpLibrary): Transport =>
      transport === 'sse'
        ? new library.SSEClientTransport(new URL(url), { fetch })
        : new library.StreamableHTTPClientTransport(new URL(url), { fetch })
    const place = new URL(url).host
    return new McpServer({ ...config, place, openTransport, clock: this.#options.clock })
  }

  /** Servers whose entries have not changed stay connected; calls under way to the others fail. */
  configure(settings: McpSettings): void {
    const before = this.#settings
    const servers = new Map<string, McpServer>()
    for (const [label, config] of Object.entries(settings.servers)) {
      const isSame = JSON.stringify(before.servers[label]) === JSON.stringify(config)
      servers.set(label, isSame ? this.#configured.get(label)! : this.#open(label, config))
    }
    for (const [label, server] of this.#configured) if (servers.get(label) !== server) void server.close()
    for (const [key, server] of this.#brought) {
      if (settings.allowedUrls.some((url) => key.endsWith(` ${url}`))) continue
      this.#brought.delete(key)
      void server.close()
    }
    this.#configured = servers
    this.#settings = settings
  }

  /** Resolves when every command has ended. */
  async close(): Promise<void> {
    const all = [...this.#configured.values(), ...this.#brought.values(), this.#simulated]
    await Promise.all(all.map((server) => server.close()))
  }
}
