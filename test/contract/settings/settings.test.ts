/** What is set, which configuration runs, and what the operator says of tools: over HTTP, of the built server. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { SETTINGS } from '../../../src/config/config.js'
import {
  API_KEY,
  CANARY_PROMPT,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

/** In every place of a configuration that may hold a credential. */
const CANARY = 'canary-credential-81f2c4'

const CONFIG = {
  ledger_days: 30,
  models: { 'a/one': { endpoints: [{ provider: 'sim' }] } },
  mcp_servers: { docs: { url: 'http://127.0.0.1:9/', headers: { 'X-Secret': CANARY } } },
  tools: {
    max_calls: 7,
    web_search: {
      price: '0.005',
      backend: 'tavily',
      brave: { api_key_env: 'SLUICE_T_SEARCH' },
      tavily: { api_key_env: 'SLUICE_T_SEARCH', base_url: 'http://127.0.0.1:9/tavily' },
      limits: { calls_per_minute_per_key: 60 },
    },
    web_fetch: { enabled: true, known_addresses_only: true },
    datetime: { enabled: false },
  },
  plugins: {
    'file-parser': {
      ocr: { url: 'http://127.0.0.1:9/ocr', api_key_env: 'SLUICE_T_OCR', price_per_page: '0.001' },
    },
    defaults: [{ plugin: { id: 'web', max_results: 3 }, overridable: false }],
  },
}
const ENV = { SLUICE_T_SEARCH: CANARY, SLUICE_T_OCR: `${CANARY}-ocr`, SLUICE_WORKERS: '2' }

async function start(t: Test, mayLogErrors = false) {
  const server = await startGateway({ config: CONFIG, env: ENV, mayLogErrors })
  t.teardown(() => server.stop())
  const read = async (path: string, key = MANAGEMENT_KEY): Promise<Json> => {
    const answer = await server.get(path, key)
    const text = await answer.text()
    for (const secret of [CANARY, MANAGEMENT_KEY, '127.0.0.1:9'])
      t.notOk(text.includes(secret), `${path} does not hold ${secret}`)
    return { status: answer.status, ...JSON.parse(text) }
  }
  return { server, read }
}

test('settings say what holds, where it comes from and what it means, and nothing of a secret', async (t) => {
  const { server, read } = await start(t)
  const { data } = await read('/settings')
  const table = Object.values(SETTINGS)
  t.same(
    data.slice(0, table.length).map(({ name, variable, meaning }: Json) => [name, variable, meaning]),
    table.map(({ key, env, about }) => [key, env, about]),
    'the table of settings, in its order',
  )
  const by = Object.fromEntries(data.map((row: Json) => [row.name, row]))
  t.match(by.workers, { value: 2, source: 'environment', default: 'auto', reload: false })
  t.match(by.ledger_days, { value: 30, source: 'file', default: 90, reload: false })
  t.match(by.practice, { value: 'open', source: 'default', default: 'open' })
  t.match(by.management_key, { value: 'set', source: 'environment', default: 'not set' })
  t.match(by.database_url, { value: 'not set', source: 'default', default: 'not set' })
  t.match(by.models, { value: 'set', variable: null, source: 'file', reload: true })
  t.match(by.aliases, { value: 'not set', source: 'default', reload: true })
  t.match(by.limits, { value: 'not set', reload: false })
  server.reload({ ...CONFIG, aliases: { one: 'a/one' } })
  for (;;) {
    const now = (await read('/settings')).data.find(({ name }: Json) => name === 'aliases')
    if (now.value === 'set') break
    await sleep(20)
  }
})

test('the configuration is told by worker, and a reload over HTTP does what SIGHUP does', async (t) => {
  const { server, read } = await start(t, true)
  const before = (await read('/configuration')).data
  t.match(before, { version: /^[0-9a-f]{12}$/, file: /\.(json|yaml)$/, last_reload: null })
  t.same(
    before.workers.map(({ worker, version }: Json) => [worker, version]),
    [0, 1].map((worker) => [worker, before.version]),
  )
  const ask = async (): Promise<Json> => {
    const answer = await server.post('/configuration/reload', undefined, { key: MANAGEMENT_KEY })
    return { status: answer.status, ...((await answer.json()) as object) }
  }
  server.write({
    ...CONFIG,
    ledger_days: 31,
    models: { ...CONFIG.models, 'a/two': { endpoints: [{ provider: 'sim' }] } },
  })
  const answers = await Promise.all([ask(), ask(), ask()])
  for (const { status, data } of answers) {
    t.equal(status, 200)
    t.match(data, { last_reload: { taken: true, faults: [], needs_restart: ['ledger_days'] } })
    t.not(data.version, before.version)
    t.same(
      data.workers.map(({ version }: Json) => version),
      [data.version, data.version],
      'it is answered when all workers have it',
    )
  }
  t.equal((await server.get('/models/a/two')).status, 200)

  server.write({ ...CONFIG, body_limit: CANARY_PROMPT, models: { 'bad id': {} }, nonsense: CANARY })
  const refused = await ask()
  t.equal(refused.status, 409)
  t.match(refused.error, {
    code: 409,
    message: /^Resource conflict: the configuration has \d faults; the old one/,
  })
  const places = refused.error.details.faults.map(({ source }: Json) => source.replace(/^.*: /, ''))
  t.ok(
    ['body_limit', 'nonsense'].every((place) => places.includes(place)),
    places.join(),
  )
  t.notOk(JSON.stringify(refused).includes(CANARY) || JSON.stringify(refused).includes(CANARY_PROMPT))
  t.equal((await server.get('/models/a/two')).status, 200, 'what ran goes on')
  const after = (await read('/configuration')).data
  t.equal(after.version, answers[0].data.version)
  t.match(after.last_reload, { taken: false, faults: refused.error.details.faults })
  server.write(CONFIG)
  t.equal((await ask()).data.version, before.version, 'the same file is the same version')
})

test('tools and plugins are told with backends by name, prices, limits and what may not be overridden', async (t) => {
  const { read } = await start(t)
  const { data } = await read('/tools')
  t.equal(data.max_calls, 7)
  const tools = Object.fromEntries(data.tools.map((tool: Json) => [tool.name, tool]))
  t.match(tools.web_search, { enabled: true, needs: null, backends: ['tavily', 'brave'], price: 0.005 })
  t.match(tools.web_search, { calls_per_minute_per_key: 60, calls_per_minute_per_organization: null })
  t.match(tools.web_fetch, { enabled: true, needs: null, settings: { known_addresses_only: true } })
  t.match(tools.datetime, { enabled: false, backends: [], price: 0 })
  t.match(tools.bash, { enabled: false, needs: 'tools.bash.enabled' })
  t.match(tools.bash.settings, { memory_mib: 512, containers: 64, runs: 4 })
  t.match(tools.image_generation, { needs: 'tools.image_generation.model' })
  t.same(tools.mcp.backends, ['docs'])
  const plugins = Object.fromEntries(data.plugins.map((each: Json) => [each.id, each]))
  t.match(plugins.web, { price: 0.005, price_per: 'call', backends: ['tavily', 'brave'] })
  t.same(plugins.web.defaults, [{ options: { max_results: 3 }, organizations: null, overridable: false }])
  t.match(plugins['file-parser'], { price: 0.001, price_per: 'page', backends: ['mistral-ocr-latest'] })
  t.match(plugins.moderation, { needs: 'plugins.moderation', defaults: [] })
})

test('callers are told of tools and plugins what holds for their requests', async (t) => {
  const { server, read } = await start(t)
  const wish = { name: 'another', plan: 'enterprise' }
  const other = (await (await server.post('/organizations', wish, { key: MANAGEMENT_KEY })).json()) as Json
  const own = (await read('/key', API_KEY)).data.organization_id
  const defaultFor = (id: string, organizations: string[], more = {}) => ({
    plugin: { id, ...more },
    organizations,
  })
  server.write({
    ...CONFIG,
    plugins: {
      ...CONFIG.plugins,
      defaults: [
        ...CONFIG.plugins.defaults,
        defaultFor('web-fetch', [own, other.data.id], { max_uses: 2 }),
        defaultFor('context-compression', [other.data.id]),
      ],
    },
  })
  t.equal((await server.post('/configuration/reload', undefined, { key: MANAGEMENT_KEY })).status, 200)
  const toldTo = async (key: string) => {
    const { status, data } = await read('/tools', key)
    t.equal(status, 200)
    const by = (list: Json[], name: string) => Object.fromEntries(list.map((each) => [each[name], each]))
    return { text: JSON.stringify(data), tools: by(data.tools, 'name'), plugins: by(data.plugins, 'id') }
  }
  const caller = await toldTo(API_KEY)
  t.match(caller.tools.web_search, {
    backends: ['tavily', 'brave'],
    price: 0.005,
    calls_per_minute_per_key: 60,
  })
  t.same(caller.tools.web_fetch.settings, { known_addresses_only: true, max_bytes: 10 * 1024 * 1024 })
  t.match(caller.tools.bash.settings, { memory_mib: 512, runs_per_organization: 2 })
  for (const name of ['uid', 'containers', 'runs'])
    t.notOk(name in caller.tools.bash.settings, `${name} is of the machine`)
  t.match(caller.plugins.web.defaults, [{ options: { max_results: 3 }, organizations: null }])
  t.same(caller.plugins['web-fetch'].defaults, [
    { options: { max_uses: 2 }, organizations: [own], overridable: true },
  ])
  t.same(caller.plugins['context-compression'].defaults, [])
  t.notOk(caller.text.includes(other.data.id), 'nothing of another organization')

  const manager = await toldTo(other.key)
  t.same(manager.plugins['web-fetch'].defaults[0].organizations, [other.data.id])
  t.same(manager.plugins['context-compression'].defaults[0].organizations, [other.data.id])
  t.notOk(manager.text.includes(own), 'its manager is told no more')
  const operator = await toldTo(MANAGEMENT_KEY)
  t.same(operator.plugins['web-fetch'].defaults[0].organizations, [own, other.data.id])
})

test('settings and the configuration are for the operator alone, and tools for nobody without a key', async (t) => {
  const { server } = await start(t)
  t.equal((await server.get('/tools', '')).status, 401)
  for (const path of ['/settings', '/configuration']) t.equal((await server.get(path)).status, 403, path)
  t.equal((await server.post('/configuration/reload', undefined)).status, 403)
  t.match((await (await server.get('/configuration', MANAGEMENT_KEY)).json()) as Json, {
    data: { last_reload: null },
  })
})
