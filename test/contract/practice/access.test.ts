/** contract/decisions 65: who may use the practice API. */
import { after, test } from 'tap'
import { httpClient } from '../../support/clients/http-client.js'
import { startPracticeServer } from '../../support/servers/practice-server.js'

const KEY = 'sk-of-somebody-who-wants-to-practise'
const MANAGEMENT_KEY = 'sk-of-somebody-who-manages-the-others'
const ITEM = { name: 'a', price: 1 }

const start = (practice: string) =>
  startPracticeServer({
    env: {
      SLUICE_PRACTICE: practice,
      SLUICE_WORKERS: '1',
      SLUICE_API_KEY: KEY,
      SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY,
    },
  })

const OPERATIONS = [
  ['GET', '/stats', undefined, 200],
  ['GET', '/items', undefined, 200],
  ['POST', '/items', ITEM, 201],
  ['GET', '/items/1', undefined, 200],
  ['PUT', '/items/1', ITEM, 200],
  ['GET', '/search?q=a', undefined, 200],
  ['POST', '/hash', { data: 'x', rounds: 1 }, 200],
  ['GET', '/report', undefined, 200],
  ['DELETE', '/items/1', undefined, 204],
] as const

const PATHS = ['/stats', '/items', '/items/{item_id}', '/search', '/hash', '/report'].map(
  (path) => `/api/v1${path}`,
)

async function bench(practice: string) {
  const server = await start(practice)
  after(() => server.stop())
  const client = httpClient(server.baseUrl)
  const headersOf = (key: string) => (key === '' ? {} : { authorization: `Bearer ${key}` })
  const call = (method: string, path: string, body: object | undefined, key = '') =>
    client.send({
      method,
      path: `/api/v1${path}`,
      headers: { ...headersOf(key), ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  return { client, call }
}

test('keyed: without a key 401 in the words of the practice API, with any key as if it were open', async (t) => {
  const { client, call } = await bench('keyed')
  for (const [method, path, body] of OPERATIONS) {
    for (const key of ['', 'sk-unknown-to-anybody']) {
      const reply = await call(method, path, body, key)
      t.equal(reply.status, 401, `${method} ${path}`)
      t.same(reply.json, { detail: 'Unauthorized' })
      t.equal(reply.headers['www-authenticate'], 'Bearer')
    }
  }
  for (const key of [KEY, MANAGEMENT_KEY]) {
    for (const [method, path, body, status] of OPERATIONS) {
      if (key === MANAGEMENT_KEY && path.startsWith('/items/')) continue
      t.equal((await call(method, path, body, key)).status, status, `${method} ${path}`)
    }
  }
  t.equal((await call('GET', '/health', undefined)).status, 200, 'health stays open')
  const { paths } = (await client.get('/api/v1/openapi.json')).json as { paths: Record<string, object> }
  for (const path of PATHS) {
    for (const operation of Object.values(paths[path]!)) {
      t.match(operation, { security: [{ key: [] }], responses: { 401: Object } }, path)
    }
  }
})

test('off: its paths are unknown ones, and the document does not know them either', async (t) => {
  const { client, call } = await bench('off')
  const unknown = await call('GET', '/nowhere', undefined)
  for (const [method, path, body] of OPERATIONS) {
    for (const key of ['', KEY]) {
      const reply = await call(method, path, body, key)
      t.equal(reply.status, 404, `${method} ${path}`)
      t.same(reply.json, unknown.json)
    }
  }
  t.equal((await call('GET', '/health', undefined)).status, 200, 'health stays')
  t.equal((await client.get('/metrics')).status, 200)
  const { paths } = (await client.get('/api/v1/openapi.json')).json as { paths: object }
  for (const path of PATHS) t.notOk(Object.hasOwn(paths, path), path)
  t.ok(Object.hasOwn(paths, '/api/v1/chat/completions'))
  t.equal((await call('GET', '/key', undefined, KEY)).status, 200, 'the gateway is not concerned')
})
