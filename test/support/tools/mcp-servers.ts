/** MCP servers for tests: a foreign one over every transport, and faulty ones. */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { execPath } from 'node:process'
import { systemClock } from '../../../src/base/clock.js'
import type {
  McpCommandConfig,
  McpServerConfig,
  McpUrlConfig,
} from '../../../src/gateway/tools/mcp/configuration.js'
import { McpServers } from '../../../src/gateway/tools/mcp/mcp-servers.js'
import { answerMcpMessage } from '../../../src/simulator/mcp/simulated-mcp-server.js'
import { fileAddressGuard } from '../../../src/upstream/address-guard.js'
import { createUpstreamClient } from '../../../src/upstream/client.js'
import { freePort } from '../servers/listen.js'

const require = createRequire(import.meta.url)

/** The program of `@modelcontextprotocol/server-everything`. */
export const EVERYTHING = require.resolve('@modelcontextprotocol/server-everything/dist/index.js')

const LIMITS = { timeoutMs: 20_000, concurrentCalls: 32, maxAnswerBytes: 1024 * 1024 }

export function byCommand(args: readonly string[], more: Partial<McpCommandConfig> = {}): McpServerConfig {
  return { ...LIMITS, command: execPath, args: [...args], environment: {}, cwd: null, ...more }
}

/** A command that is a program in a text. */
export function byProgram(program: string, more: Partial<McpCommandConfig> = {}): McpServerConfig {
  return byCommand(['--input-type=module', '-e', program], more)
}

export function byUrl(url: string, more: Partial<McpUrlConfig> = {}): McpServerConfig {
  return { ...LIMITS, url, transport: 'http', apiKey: null, headers: {}, ...more }
}

interface McpWorld {
  readonly servers: McpServers
  close(): Promise<void>
}

/** The servers of a worker, with clients of their own. */
export function mcpWorld(
  servers: Readonly<Record<string, McpServerConfig>>,
  { allowedUrls = [], allowLoopback = false }: { allowedUrls?: string[]; allowLoopback?: boolean } = {},
): McpWorld {
  const upstream = createUpstreamClient()
  const guarded = createUpstreamClient({ guard: fileAddressGuard(allowLoopback) })
  const world = new McpServers({
    settings: { servers, allowedUrls },
    clock: systemClock,
    upstream,
    guarded,
    simulated: answerMcpMessage,
  })
  return {
    servers: world,
    close: async () => {
      await world.close()
      await Promise.all([upstream.close(), guarded.close()])
    },
  }
}

/** Starts the foreign server; resolves when it listens. */
export async function startEverything(
  transport: 'streamableHttp' | 'sse',
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const port = await freePort()
  const child = spawn(execPath, [EVERYTHING, transport], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const over = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (text: Buffer) => /on port/.test(String(text)) && resolve())
    child.once('exit', () => reject(new Error('the server did not start')))
  })
  // The runner ends a file when nothing is left to do.
  child.unref()
  ;(child.stderr as Socket).unref()
  return {
    url: `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    close: async () => {
      child.ref()
      child.kill('SIGKILL')
      await over
    },
  }
}
