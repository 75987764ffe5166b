import { test } from 'tap'
import { readGateway } from '../../../src/compose/configuration.js'
import { resolveMcpServers } from '../../../src/gateway/tools/mcp/configuration.js'

const URL_ENTRY = { url: 'https://mcp.example.com/mcp' }
const COMMAND = { command: 'mcp-files' }
const LIMITS = { timeoutMs: 30_000, concurrentCalls: 32, maxAnswerBytes: 1_048_576 }

function read(mcp_servers: object, environment: Readonly<Record<string, string>> = {}) {
  return readGateway(
    { mcp_servers, tools: { mcp: { allowed_urls: ['https://x.example.com/'] } } },
    environment,
  )
}

test('a server is an address or a command, with what the environment holds for it and nothing else', async (t) => {
  const environment = { MCP_KEY: 'k-1', PATH: '/bin', SECRET: 'no' }
  const servers = {
    far: { ...URL_ENTRY, transport: 'sse', api_key_env: 'MCP_KEY', headers: { 'x-a': 'b' } },
    plain: URL_ENTRY,
    near: {
      ...COMMAND,
      args: ['--root'],
      env: { LANG: 'C' },
      pass_env: ['PATH'],
      cwd: '/tmp',
      timeout_ms: 5,
    },
    bare: COMMAND,
  }
  const { gateway } = read(servers, environment)
  t.strictSame(resolveMcpServers(gateway!.mcpServers, gateway!.credentials), {
    far: { ...LIMITS, ...URL_ENTRY, transport: 'sse', apiKey: 'k-1', headers: { 'x-a': 'b' } },
    plain: { ...LIMITS, ...URL_ENTRY, transport: 'http', apiKey: null, headers: {} },
    near: {
      ...{ ...LIMITS, timeoutMs: 5, command: 'mcp-files', args: ['--root'], cwd: '/tmp' },
      environment: { PATH: '/bin', LANG: 'C' },
    },
    bare: { ...LIMITS, command: 'mcp-files', args: [], cwd: null, environment: {} },
  })
  t.strictSame(gateway!.tools.mcp.allowedUrls, ['https://x.example.com'])
})

test('every fault of an entry is told with its place', async (t) => {
  for (const [entry, fault] of [
    [{}, 'mcp_servers.a: must have a url or a command'],
    [{ ...URL_ENTRY, ...COMMAND }, 'mcp_servers.a: must have a url or a command'],
    [{ ...URL_ENTRY, args: [] }, 'mcp_servers.a: mixes what goes with a url and what goes with a command'],
    [{ ...COMMAND, headers: {} }, 'mcp_servers.a: mixes what goes with a url and what goes with a command'],
    [{ url: 'ftp://x' }, 'mcp_servers.a.url: must be an http or https URL without user, query and fragment'],
    [{ ...URL_ENTRY, transport: 'pigeon' }, 'mcp_servers.a.transport: must be http or sse'],
    [
      { ...URL_ENTRY, api_key_env: 'NONE' },
      'mcp_servers.a.api_key_env: environment variable NONE is not set',
    ],
    [
      { ...COMMAND, pass_env: ['SLUICE_API_KEY'] },
      'mcp_servers.a.pass_env[0]: SLUICE_API_KEY holds a credential of our callers',
    ],
    [
      { ...COMMAND, concurrent_calls: 1 },
      'mcp_servers.a.concurrent_calls: must be an integer from 4 to 1000',
    ],
  ] as const) {
    const faults = read({ a: entry }, { SLUICE_API_KEY: 'sk' }).faults.map(
      ({ path, problem }) => `${path}: ${problem}`,
    )
    t.ok(faults.includes(fault), `${fault} | ${faults.join(' | ')}`)
  }
  for (const label of ['sim', 'With Space', 'x'.repeat(33), '']) {
    t.ok(read({ [label]: URL_ENTRY }).faults.length > 0, label)
  }
})
