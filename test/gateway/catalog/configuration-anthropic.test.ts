import { test } from 'tap'
import { readGateway } from '../../../src/compose/configuration.js'

function read(entry: object, environment: Readonly<Record<string, string>> = {}) {
  return readGateway({ providers: { theirs: { kind: 'anthropic', ...entry } } }, environment)
}

test('a provider of messages needs nothing but its kind, and gets the defaults of every server', async (t) => {
  t.match(read({}).gateway?.providers.theirs, {
    kind: 'anthropic',
    name: 'theirs',
    baseUrl: 'https://api.anthropic.com',
    apiKey: null,
    headers: {},
    timeouts: {
      connectMs: 5000,
      headersMs: 120_000,
      firstTokenMs: 120_000,
      idleMs: 60_000,
      totalMs: 600_000,
    },
    connections: { connections: 512, keepAliveMs: 60_000 },
  })
})

test('what it says is taken over, betas and a version of the operator’s among it', async (t) => {
  const entry = {
    base_url: 'https://gateway.example.com/anthropic/',
    api_key_env: 'THEIR_KEY',
    headers: { 'anthropic-beta': 'a-1,b-2', 'anthropic-version': '2026-10-21' },
  }
  t.match(read(entry, { THEIR_KEY: 'sk-ant-1' }).gateway?.providers.theirs, {
    baseUrl: 'https://gateway.example.com/anthropic',
    apiKey: 'sk-ant-1',
    headers: entry.headers,
  })
})

const FAULTS: readonly (readonly [object, object, string])[] = [
  [{ seed: 1 }, {}, 'providers.theirs'],
  [{ api_key_env: 'THEIR_KEY' }, {}, 'providers.theirs.api_key_env'],
  [{ base_url: 'ftp://example.com' }, {}, 'providers.theirs.base_url'],
  [{ headers: { authorization: 'x' } }, {}, 'providers.theirs.headers.authorization'],
]

test('what it cannot say is told where it stands', async (t) => {
  for (const [entry, environment, path] of FAULTS) {
    const { faults } = read(entry, environment as Record<string, string>)
    t.equal(faults.length, 1, path)
    t.ok(faults[0]!.path.startsWith(path), faults[0]!.path)
  }
})

test('only simulated endpoints have a behaviour, and the provider inside cannot be one of messages', async (t) => {
  const model = { endpoints: [{ provider: 'theirs', simulation: {} }] }
  const endpoint = readGateway({ providers: { theirs: { kind: 'anthropic' } }, models: { 'a/b': model } }, {})
  t.match(endpoint.faults, [{ path: 'models.a/b.endpoints[0].simulation' }])
  const inside = readGateway({ providers: { sim: { kind: 'anthropic' } } }, {})
  t.match(inside.faults, [{ path: 'providers.sim.kind' }])
})
