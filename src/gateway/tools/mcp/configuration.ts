/** MCP servers in the configuration file, and the settings of the tool. */
import { z } from 'zod'
import {
  baseUrl,
  camelCased,
  headers,
  integerBetween,
  milliseconds,
  nonEmptyText,
  variableName,
} from '../../catalog/configuration/values.js'

const LABEL = /^[a-z0-9][a-z0-9_-]{0,31}$/

/** What requests name a server by; it begins the names of its functions. `sim` is the simulated one. */
const label = z
  .string()
  .regex(LABEL, 'must be a short name of lower-case letters, digits, hyphens and underscores, 32 at most')
  .refine((name) => name !== 'sim', 'is the name of the simulated server')

const OVER_HTTP = ['url', 'transport', 'api_key_env', 'headers'] as const
const BY_COMMAND = ['command', 'args', 'env', 'pass_env', 'cwd'] as const

const server = z
  .strictObject({
    url: baseUrl.describe('Where the server listens.'),
    transport: z
      .enum(['http', 'sse'], 'must be http or sse')
      .describe('Streamable HTTP, which is the default, or the event streams of the first generation.'),
    api_key_env: variableName.describe(
      'Environment variable that holds the credential, which is sent as a bearer token.',
    ),
    headers: headers.describe('Further fixed request headers.'),
    command: nonEmptyText(4_096).describe(
      'A program instead of a url; each worker that needs it starts its own.',
    ),
    args: z.array(z.string().max(4_096)).max(100),
    env: z
      .record(variableName, z.string().max(8_192))
      .describe('What its environment holds; nothing else but `pass_env`.'),
    pass_env: z
      .array(variableName)
      .describe('Variables of the environment of Sluice that it gets as well, such as PATH.'),
    cwd: nonEmptyText(4_096).describe('The folder that it is started in; / when absent.'),
  })
  .partial()
  .extend({
    timeout_ms: milliseconds.default(30_000).describe('Of one request.'),
    concurrent_calls: integerBetween(4, 1_000)
      .default(32)
      .describe('Calls at a time, per worker. An organization alone gets a quarter.'),
    max_answer_bytes: integerBetween(1_024, 16 * 1024 * 1024)
      .default(1024 * 1024)
      .describe('Most bytes of one answer.'),
  })
  .refine(
    ({ url, command }) => (url === undefined) !== (command === undefined),
    'must have a url or a command',
  )
  .refine(
    (entry) => (entry.url === undefined ? OVER_HTTP : BY_COMMAND).every((name) => entry[name] === undefined),
    'mixes what goes with a url and what goes with a command',
  )
  .transform(camelCased)

/** `mcp_servers` of the file. */
export const mcpServersSchema = z
  .record(label, server)
  .describe('MCP servers whose tools requests may name, by label.')

export type McpServersConfig = z.output<typeof mcpServersSchema>

interface McpServerLimits {
  readonly timeoutMs: number
  readonly concurrentCalls: number
  readonly maxAnswerBytes: number
}

export interface McpUrlConfig extends McpServerLimits {
  readonly url: string
  readonly transport: 'http' | 'sse'
  readonly apiKey: string | null
  readonly headers: Readonly<Record<string, string>>
}

export interface McpCommandConfig extends McpServerLimits {
  readonly command: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string | null
}

/** A server with what the environment holds for it: never logged. */
export type McpServerConfig = McpUrlConfig | McpCommandConfig

/** @param credentials by the names of the variables that hold them */
export function resolveMcpServers(
  entries: McpServersConfig,
  credentials: Readonly<Record<string, string>>,
): Record<string, McpServerConfig> {
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [name, resolveServer(entry, credentials)]),
  )
}

function resolveServer(
  entry: McpServersConfig[string],
  credentials: Readonly<Record<string, string>>,
): McpServerConfig {
  const { timeoutMs, concurrentCalls, maxAnswerBytes, url, command, apiKeyEnv } = entry
  const own = { timeoutMs, concurrentCalls, maxAnswerBytes }
  if (url !== undefined) {
    const apiKey = apiKeyEnv === undefined ? null : credentials[apiKeyEnv]!
    return { ...own, url, transport: entry.transport ?? 'http', apiKey, headers: entry.headers ?? {} }
  }
  const passed = Object.fromEntries((entry.passEnv ?? []).map((name) => [name, credentials[name]!]))
  const environment = { ...passed, ...entry.env }
  return { ...own, command: command!, args: entry.args ?? [], environment, cwd: entry.cwd ?? null }
}

/** `tools.mcp` of the file, beside what every tool has. */
export const mcpMembers = {
  allowed_urls: z
    .array(baseUrl)
    .max(1_000)
    .default([])
    .describe('Servers that requests may bring by their address. Nothing of a credential is sent to them.'),
}
