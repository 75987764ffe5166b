/** A server with providers that record the credential of each call, and organizations that bring keys of their own. */
import type { Test } from 'tap'
import { speaking, type WireAnswer } from '../../support/providers/mock-anthropic.js'
import {
  type MockUpstream,
  mockUpstream,
  type Peer,
  type Script,
} from '../../support/providers/mock-upstream.js'
import { mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import {
  type Asked,
  askChat,
  type GatewayServer,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

export const OPERATOR_ONE = 'operator-one-0123456789'
const OPERATOR_TWO = 'operator-two-0123456789'
const OPERATOR_CLAUDE = 'operator-claude-0123456789'
/** What every call costs, in dollars. */
const PRICE = 0.01
const PRICES = { prompt: '0', completion: '0', request: String(PRICE) }

export interface Tenant {
  readonly management: string
  readonly key: string
  readonly hash: string
  readonly workspaceId: string
}

interface OwnKeyWorld {
  readonly server: GatewayServer
  readonly one: MockUpstream
  readonly two: MockUpstream
  readonly claude: MockUpstream
  manage(key: string, method: string, path: string, body?: unknown): Promise<{ status: number; json: Json }>
  /** An ordinary key in a new organization. */
  tenant(about?: { credits?: number | null; key?: object }): Promise<Tenant>
  /** Brings a key with provider `one` unless told; resolves with its record. */
  bring(tenant: Tenant, key: string, more?: object): Promise<Json>
  ask(key: string, model?: string, more?: object): Promise<Asked>
  /** Credentials that a provider has seen since the last look, in their order. */
  seen(upstream: MockUpstream): string[]
}

export const answers: Script = (peer: Peer, { body }) => {
  if (JSON.parse(body).stream) peer.stream(mockStream('served'))
  else peer.json(mockCompletion('served'))
}

const CLAUDE_ANSWER: WireAnswer = { content: [{ type: 'text', text: 'served' }] } as unknown as WireAnswer

/** Refuses these credentials with a status and a body that repeats them; answers all others. */
export function refusing(
  keys: readonly string[],
  status: number,
  more: Readonly<Record<string, string>> = {},
): Script {
  return (peer, request) => {
    const key = request.headers.authorization?.replace('Bearer ', '') ?? request.headers['x-api-key'] ?? ''
    if (keys.includes(key))
      peer.json({ error: { message: `Incorrect API key provided: ${key}`, code: key } }, status, more)
    else answers(peer, request)
  }
}

export async function ownKeyWorld(t: Test): Promise<OwnKeyWorld> {
  const one = await mockUpstream(t, answers)
  const two = await mockUpstream(t, answers)
  const claude = await mockUpstream(t, speaking(CLAUDE_ANSWER))
  const openai = (origin: string, env: string, more: object = {}): object => ({
    ...{ kind: 'openai', base_url: `${origin}/v1`, api_key_env: env, ...more },
  })
  const server = await startGateway({
    env: {
      SLUICE_WORKERS: '1',
      ...{ ONE_KEY: OPERATOR_ONE, TWO_KEY: OPERATOR_TWO, CLAUDE_KEY: OPERATOR_CLAUDE },
    },
    config: {
      routing: { retries: 0 },
      providers: {
        one: openai(one.origin, 'ONE_KEY', {
          headers: { 'OpenAI-Project': 'of-the-operator', 'X-Trace': 'on' },
        }),
        two: openai(two.origin, 'TWO_KEY'),
        claude: { kind: 'anthropic', base_url: claude.origin, api_key_env: 'CLAUDE_KEY' },
        open: { kind: 'openai', base_url: `${two.origin}/v1` },
      },
      models: {
        'acme/one': { endpoints: [{ provider: 'one', prices: PRICES }] },
        'acme/other': { endpoints: [{ provider: 'one', prices: PRICES }] },
        'acme/claude': { endpoints: [{ provider: 'claude', prices: PRICES }] },
        'acme/long': { endpoints: [{ provider: 'one', prices: { prompt: '0', completion: '0.00001' } }] },
        'acme/open': { endpoints: [{ provider: 'open', prices: PRICES }] },
        'acme/both': {
          endpoints: [
            { provider: 'one', prices: PRICES },
            { provider: 'two', prices: PRICES },
          ],
        },
      },
    },
  })
  t.teardown(() => server.stop())
  const manage: OwnKeyWorld['manage'] = async (key, method, path, body) => {
    const response = await fetch(server.apiUrl + path, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: await response.json() }
  }
  const looked = new Map<MockUpstream, number>()
  return {
    ...{ server, one, two, claude, manage },
    tenant: async ({ credits = null, key = {} } = {}) => {
      const made = await manage(MANAGEMENT_KEY, 'POST', '/organizations', { name: 'tenant', credits })
      const management: string = made.json.key
      const { json } = await manage(management, 'POST', '/keys', { name: 'x', ...key })
      return { management, key: json.key, hash: json.data.hash, workspaceId: json.data.workspace_id }
    },
    bring: async ({ management }, key, more = {}) => {
      const body = { provider: 'one', name: 'ours', key, ...more }
      const { status, json } = await manage(management, 'POST', '/provider-keys', body)
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(json)}`)
      return json.data
    },
    ask: (key, model = 'acme/one', more = {}) =>
      askChat(
        server,
        { model, max_tokens: 4, messages: [{ role: 'user', content: 'hi' }], ...more },
        { Authorization: `Bearer ${key}`, 'X-Service-Metadata': 'enabled', Connection: 'close' },
      ),
    seen: (upstream) => {
      const from = looked.get(upstream) ?? 0
      looked.set(upstream, upstream.requests.length)
      return upstream.requests
        .slice(from)
        .map(({ headers }) => headers.authorization?.replace('Bearer ', '') ?? headers['x-api-key'] ?? '')
    },
  }
}
