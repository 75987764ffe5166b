import { test } from 'tap'
import { readGateway } from '../../../src/compose/configuration.js'
import { isSwitchedOff, toolSettings } from '../../../src/gateway/tools/configuration.js'

function read(file: Readonly<Record<string, unknown>>, environment: Readonly<Record<string, string>> = {}) {
  const { gateway, faults } = readGateway(file, environment)
  if (gateway === null) throw new Error(JSON.stringify(faults))
  return gateway
}

function faultsOf(file: Readonly<Record<string, unknown>>): string[] {
  return readGateway(file, {}).faults.map(({ path, problem }) => `${path}: ${problem}`)
}

/** Models run beneath their calls. */
const LONG: ReadonlySet<string> = new Set(['advisor', 'fusion', 'image_generation', 'subagent'])

test('without any setting every tool is free, has a time, and only the sandbox is off', async (t) => {
  const { tools } = read({})
  t.equal(tools.maxCalls, 100)
  const { maxCalls: _, ...sections } = tools
  for (const name of Object.keys(sections)) {
    const timeoutMs = LONG.has(name) ? 600_000 : 30_000
    t.match(toolSettings(tools, name), { enabled: null, price: 0, timeoutMs }, name)
    t.equal(isSwitchedOff(tools, name), name === 'bash', name)
  }
  t.equal(isSwitchedOff(tools, 'shell'), true, 'the other name of the sandbox')
  t.equal(toolSettings(tools, 'no_such_tool'), null)
})

test('a tool is switched, priced in dollars and limited by its name', async (t) => {
  const { tools } = read({
    tools: {
      max_calls: 7,
      web_search: { price: 0.005, limits: { calls_per_minute_per_key: 3 } },
      datetime: { enabled: false },
      bash: { enabled: true, timeout_ms: 60_000, price: '0.000000001' },
    },
  })
  t.equal(tools.maxCalls, 7)
  t.match(toolSettings(tools, 'web_search'), {
    price: 5_000_000,
    limits: { callsPerMinutePerKey: 3, callsPerMinutePerOrganization: null },
  })
  t.equal(isSwitchedOff(tools, 'datetime'), true)
  t.match(toolSettings(tools, 'shell'), { enabled: true, timeoutMs: 60_000, price: 1 })
})

test('each fault is named with its place', async (t) => {
  const plugin = { id: 'response-healing' }
  const cases: readonly [Readonly<Record<string, unknown>>, RegExp][] = [
    [{ tools: { web_serch: {} } }, /^tools\.web_serch: there is no such setting$/],
    [{ tools: { datetime: { price: -1 } } }, /^tools\.datetime\.price: must be dollars of one/],
    [{ tools: { datetime: { price: 10 } } }, /^tools\.datetime\.price: must be dollars of one/],
    [{ tools: { datetime: { price: '0.0000000001' } } }, /^tools\.datetime\.price: must be dollars of one/],
    [{ tools: { datetime: { timeout_ms: 0 } } }, /^tools\.datetime\.timeout_ms: must be an integer from 1/],
    [{ tools: { max_calls: 1_001 } }, /^tools\.max_calls: must be an integer from 1 to 1000$/],
    [
      { tools: { files: { limits: { calls_per_minute_per_key: 0 } } } },
      /^tools\.files\.limits\.calls_per_minute_per_key: must be an integer from 1/,
    ],
    [
      { tools: { memory: { limits: { calls: 1 } } } },
      /^tools\.memory\.limits\.calls: there is no such setting$/,
    ],
    [{ plugins: { defaults: [{ plugin: { id: 'no-such' } }] } }, /^plugins\.defaults\[0\]\.plugin\.id: /],
    [
      { plugins: { defaults: [{ plugin: { ...plugin, enabled: false } }] } },
      /^plugins\.defaults\[0\]\.plugin: must not be switched off here$/,
    ],
    [
      { plugins: { defaults: [{ plugin, organizations: ['acme'] }] } },
      /^plugins\.defaults\[0\]\.organizations\[0\]: must be the id of an organization$/,
    ],
    [
      { plugins: { alignment: { model: 'no/such' } } },
      /^plugins\.alignment\.model: is no model of this file$/,
    ],
    [
      { plugins: { moderation: { model: 'no/such' } } },
      /^plugins\.moderation\.model: is no model of this file$/,
    ],
    [
      { plugins: { moderation: { provider: 'acme' } } },
      /^plugins\.moderation\.provider: must be a configured provider of kind openai$/,
    ],
    [
      { plugins: { 'file-parser': { ocr: { url: 'ftp://a/ocr' } } } },
      /^plugins\.file-parser\.ocr\.url: must be an http or https URL/,
    ],
    [
      { models: { 'a/b': { endpoints: [{ provider: 'sim' }], quality: 2 } } },
      /quality: must be a number from 0 to 1/,
    ],
    [{ models: { 'a/b': { endpoints: [{ provider: 'sim' }], tier: 'cheap' } } }, /tier: /],
  ]
  for (const [file, told] of cases) {
    const faults = faultsOf(file)
    t.equal(faults.length, 1, JSON.stringify(faults))
    t.match(faults[0], told)
  }
})

test('plugins ask models, prefixes and further names of the file', async (t) => {
  const models = { 'acme/*': { endpoints: [{ provider: 'sim' }] } }
  for (const model of ['sim/judge', 'acme/any', 'nick'])
    t.strictSame(
      faultsOf({ models, aliases: { nick: 'sim/judge' }, plugins: { alignment: { model } } }),
      [],
      model,
    )
  const openai = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1' }
  const moderation = { provider: 'acme', model: 'omni-moderation-latest' }
  t.strictSame(faultsOf({ providers: { acme: openai }, plugins: { moderation } }), [])
})

test('a credential of a tool is named by its variable, which has to be set', async (t) => {
  const file = { plugins: { defaults: [], judge_env: 'JUDGE_KEY' } }
  t.match(faultsOf(file), [/judge_env: there is no such setting/, /JUDGE_KEY is not set/])
  t.notMatch(faultsOf({ tools: { datetime: { key_env: 'sk-secret 1' } } }).join(), /sk-secret/)
})

test('engines of web_search, with keys from the environment', async (t) => {
  const { tools, credentials } = read(
    {
      tools: {
        web_search: {
          backend: 'exa',
          searxng: { base_url: 'http://127.0.0.1:8888/' },
          exa: { api_key_env: 'EXA_KEY' },
        },
        web_fetch: { enabled: true, known_addresses_only: true },
      },
    },
    { EXA_KEY: 'secret' },
  )
  t.match(tools.web_search, {
    backend: 'exa',
    searxng: { baseUrl: 'http://127.0.0.1:8888' },
    brave: null,
    exa: { apiKeyEnv: 'EXA_KEY', baseUrl: 'https://api.exa.ai' },
  })
  t.equal(credentials.EXA_KEY, 'secret')
  t.match(tools.web_fetch, { enabled: true, knownAddressesOnly: true, maxBytes: 10 * 1024 * 1024 })
  const cases: readonly [object, RegExp][] = [
    [{ backend: 'exa' }, /^tools\.web_search\.backend: names an engine that is not configured$/],
    [{ backend: 'other' }, /^tools\.web_search\.backend: /],
    [{ searxng: {} }, /^tools\.web_search\.searxng\.base_url: /],
    [
      { searxng: { base_url: 'http://u:p@host' } },
      /^tools\.web_search\.searxng\.base_url: must be an http or https URL/,
    ],
    [{ brave: {} }, /^tools\.web_search\.brave\.api_key_env: /],
    [{ tavily: { api_key_env: 'NOT_SET' } }, /NOT_SET/],
  ]
  for (const [search, fault] of cases) t.match(faultsOf({ tools: { web_search: search } }).join('\n'), fault)
})
