/** MCP servers in the configuration file, and the settings of the tool. */
import { z } from 'zod'
import {
  baseUrl,
  camelCased,
  headers,
  integerBetween,
  milliseconds,
  nonEmptyText,
  orNull,
  variableName,
} from '../../catalog/configuration/values.js'

const LABEL = /^[a-z0-9][a-z0-9_-]{0,31}$/

/** What requests name a server by; it begins the names of its functions. `sim` is the simulated one. */
const label = z
  .string()
  .regex(LABEL, 'must be a short name of lower-case letters, digits, hyphens and underscores, 32 at most')
  .refine((name) => name !== 'sim', 'is the name of the simulated server')

const limits = {
  timeout_ms: milliseconds.default(30_000).describe('Of one request.'),
  concurrent_calls: integerBetween(4, 1_000)
    .default(32)
    .describe('Calls at a time, per worker. An organization alone gets a quarter.'),
  max_answer_bytes: integerBetween(1_024, 16 * 1024 * 1024)
    .default(1024 * 1024)
    .describe('Most bytes of one answer.'),
}

const overHttp = z
  .strictObject({
    url: baseUrl.describe('Where the server listens.'),
    transport: z
      .enum(['http', 'sse'], 'must be http or sse')
      .default('http')
      .describe('Streamable HTTP, or the event streams of the first generation.'),
    api_key_env: orNull(
      variableName.describe(
        'Environment variable that holds the credential, which is sent as a bearer token.',
      ),
    ),
    headers: headers.default({}).describe('Further fixed request headers.'),
    ...limits,
  })
  .transform(camelCased)

const byCommand = z
  .strictObject({
    command: nonEmptyText(4_096).describe('A program; it is started by each worker that needs it.'),
    args: z.array(z.string().max(4_096)).max(100).default([]),
    env: z
      .record(variableName, z.string().max(8_192))
      .default({})
      .describe('All that its environment holds, with `pass_env`.'),
    pass_env: z
      .array(variableName)
      .default([])
      .describe('Variables of the environment of Sluice that it gets as well, such as PATH.'),
    cwd: orNull(nonEmptyText(4_096).describe('The folder that it is started in; / when absent.')),
    ...limits,
  })
  .transform(camelCased)

/** `mcp_servers` of the file. */
export const mcpServersSchema = z
  .record(label, z.union([overHttp, byCommand], 'must have either a url or a command, and what goes with it'))
  .describe('MCP servers whose tools requests may name, by label.')

type McpServerEntry = z.output<typeof mcpServersSchema>[string]

/** A server with what the environment holds for it. Plain data, with credentials in it: never logged. */
export type McpServerConfig =
  | (Omit<Extract<McpServerEntry, { url: string }>, 'apiKeyEnv'> & { readonly apiKey: string | null })
  | (Omit<Extract<McpServerEntry, { command: string }>, 'env' | 'passEnv'> & {
      readonly environment: Readonly<Record<string, string>>
    })

type EnvironmentVariables = Readonly<Record<string, string | undefined>>

export function resolveMcpServers(
  entries: z.output<typeof mcpServersSchema>,
  environment: EnvironmentVariables,
): Record<string, McpServerConfig> {
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [name, resolveServer(entry, environment)]),
  )
}

function resolveServer(entry: McpServerEntry, environment: EnvironmentVariables): McpServerConfig {
  if ('url' in entry) {
    const { apiKeyEnv, ...rest } = entry
    return { ...rest, apiKey: apiKeyEnv === null ? null : (environment[apiKeyEnv] ?? null) }
  }
  const { env, passEnv, ...rest } = entry
  const passed = passEnv.flatMap((name) =>
    environment[name] === undefined ? [] : [[name, environment[name]]],
  )
  return { ...rest, environment: { ...Object.fromEntries(passed), ...env } }
}

/** `tools.mcp` of the file, beside what every tool has. */
export const mcpToolSettings = {
  allowed_urls: z
    .array(baseUrl)
    .max(1_000)
    .default([])
    .describe('Servers that requests may bring by their address. Nothing of a credential is sent to them.'),
}
