/** contract/decisions 26: one OpenAPI 3.1 document, valid in itself and true to the server. */
import { test } from 'tap'
import type { HttpReply, HttpRequest } from '../../support/clients/http-client.js'
import { BODY_OPERATIONS } from '../../support/models/practice-operations.js'
import {
  DocumentRules,
  documentFaults,
  type OpenApiDocument,
  operationsOf,
  type Parameter,
} from '../../support/schemas/openapi-validator.js'
import { runMain } from '../../support/servers/main-command.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const { client } = await practiceServer({ env: { SLUICE_SEED_ITEMS: '120' } }, 16)
const document = (await client.get('/api/v1/openapi.json')).json as OpenApiDocument
const operations = operationsOf(document)
const rules = new DocumentRules(document)

test('the document is valid OpenAPI 3.1', async (t) => {
  t.match(document.openapi, /^3\.1\.\d+$/)
  t.strictSame(await documentFaults(document), [])
})

test('the document says what the service is', async (t) => {
  t.equal(document.info.title, 'Load-test practice API')
  t.equal(document.info.version, '2.0')
})

test('the document describes every operation of the contract, by its own name', async (t) => {
  const described = operations.map(({ method, path, operationId }) => `${method} ${path} ${operationId}`)
  const expected = [
    'GET /api/v1/health health',
    'GET /api/v1/stats stats',
    'GET /metrics metrics',
    'GET /api/v1/items list_items',
    'POST /api/v1/items create_item',
    'GET /api/v1/items/{item_id} read_item',
    'PUT /api/v1/items/{item_id} update_item',
    'DELETE /api/v1/items/{item_id} delete_item',
    'GET /api/v1/search search_items',
    'POST /api/v1/hash hash',
    'GET /api/v1/report report',
  ]
  t.strictSame(
    expected.filter((each) => !described.includes(each)),
    [],
  )
  const names = operations.map(({ operationId }) => operationId)
  t.equal(new Set(names).size, names.length, 'no name twice')
})

test('the command line prints the same document', async (t) => {
  const [, printed] = await runMain(['openapi'], {})
  t.strictSame(JSON.parse(printed), document)
})

interface Sample extends HttpRequest {
  readonly operation: string
  readonly status: number
}

const ITEM = '{"name":"é","description":"","price":0.5}'
const LARGE = ' '.repeat(65_537)

/** One request for every status that is the operation's own. */
const OWN: readonly Sample[] = [
  { operation: 'health', status: 200, method: 'GET', path: '/api/v1/health' },
  { operation: 'stats', status: 200, method: 'GET', path: '/api/v1/stats' },
  { operation: 'metrics', status: 200, method: 'GET', path: '/metrics' },
  { operation: 'list_items', status: 200, method: 'GET', path: '/api/v1/items?limit=100' },
  { operation: 'list_items', status: 200, method: 'GET', path: '/api/v1/items?offset=100000' },
  { operation: 'list_items', status: 422, method: 'GET', path: '/api/v1/items?limit=0&offset=x' },
  { operation: 'create_item', status: 201, method: 'POST', path: '/api/v1/items', body: ITEM },
  { operation: 'create_item', status: 422, method: 'POST', path: '/api/v1/items', body: '[' },
  { operation: 'create_item', status: 422, method: 'POST', path: '/api/v1/items', body: '{"price":null}' },
  { operation: 'read_item', status: 200, method: 'GET', path: '/api/v1/items/1' },
  { operation: 'read_item', status: 404, method: 'GET', path: '/api/v1/items/0' },
  { operation: 'read_item', status: 422, method: 'GET', path: '/api/v1/items/x' },
  { operation: 'update_item', status: 200, method: 'PUT', path: '/api/v1/items/1', body: ITEM },
  { operation: 'update_item', status: 404, method: 'PUT', path: '/api/v1/items/0', body: ITEM },
  { operation: 'update_item', status: 422, method: 'PUT', path: '/api/v1/items/x', body: 'null' },
  { operation: 'delete_item', status: 204, method: 'DELETE', path: '/api/v1/items/2' },
  { operation: 'delete_item', status: 404, method: 'DELETE', path: '/api/v1/items/0' },
  { operation: 'delete_item', status: 422, method: 'DELETE', path: '/api/v1/items/x' },
  { operation: 'search_items', status: 200, method: 'GET', path: '/api/v1/search?q=item' },
  { operation: 'search_items', status: 422, method: 'GET', path: '/api/v1/search' },
  { operation: 'hash', status: 200, method: 'POST', path: '/api/v1/hash', body: '{"data":"","rounds":1}' },
  { operation: 'hash', status: 422, method: 'POST', path: '/api/v1/hash', body: '{"rounds":1.5}' },
  { operation: 'report', status: 200, method: 'GET', path: '/api/v1/report' },
  { operation: 'report', status: 422, method: 'GET', path: '/api/v1/report?items=0' },
]

/** An undisturbed call of every operation. */
const GOOD = OWN.filter(({ status }) => status < 300)

/** What every operation answers when the request is framed in a way that cannot be served. */
const FRAMED: readonly Sample[] = GOOD.flatMap((sample) => {
  const { body: _, ...bare } = sample
  const twice = { 'Content-Type': ['application/json', 'application/json'] }
  return [
    { ...sample, status: 400, headers: twice },
    { ...bare, status: 400, headers: { 'Transfer-Encoding': 'gzip, chunked' } },
    { ...bare, status: 413, body: LARGE },
  ]
})

/** The operations of this face; those of the gateway have tests of their own. */
const practice = operations.filter(({ operationId }) =>
  OWN.some(({ operation }) => operation === operationId),
)

test('real replies are what the document says, for every operation and status', async (t) => {
  const samples = [...OWN, ...FRAMED]
  for (const { operation, status, ...request } of samples) {
    const reply = await client.send(request)
    const about = `${operation} ${status}`
    t.equal(reply.status, status, about)
    t.strictSame(rules.replyFaults(operation, reply), [], about)
  }
  const sampled = new Set(samples.map(({ operation, status }) => `${operation} ${status}`))
  const documented = practice.flatMap(({ operationId, responses }) =>
    Object.keys(responses).map((status) => `${operationId} ${status}`),
  )
  // Those need a server that is full, late or leaving; the tests below make such servers.
  const unhealthy = documented.filter((each) => !sampled.has(each))
  t.strictSame(
    unhealthy.filter((each) => !/ (408|503|504)$/.test(each)),
    [],
    'no other status is documented',
  )
})

/** Every operation that sheds load, with a request that would otherwise succeed. */
const SHEDDING = GOOD.filter(({ operation }) => !/health|stats|metrics/.test(operation))

test('a full server answers 503 as the document says', async (t) => {
  const env = { SLUICE_WORKERS: '1', SLUICE_MAX_IN_FLIGHT: '1' }
  const { client: near } = await practiceServer({ env }, 4, t)
  for (const { operation, status: _, ...request } of SHEDDING) {
    const faults: string[] = []
    let shed: HttpReply | null = null
    for (let reports = 0; shed === null && reports < 20; reports++) {
      // A report holds the only place for at least 100 ms; whatever arrives meanwhile is refused.
      const report = near.get('/api/v1/report')
      let over = false
      void report.then(() => {
        over = true
      })
      while (shed === null && !over) {
        const reply = await near.send(request)
        if (reply.status === 503) shed = reply
      }
      await report
    }
    if (shed === null) t.fail(`${operation} was never refused`)
    else faults.push(...rules.replyFaults(operation, shed))
    t.strictSame(faults, [], operation)
  }
})

test('a full CPU pool answers 503 as the document says', async (t) => {
  const env = { SLUICE_WORKERS: '1', SLUICE_HASH_QUEUE_ROUNDS: '1' }
  const { client: near } = await practiceServer({ env }, 16, t)
  const replies = await Promise.all(
    Array.from({ length: 16 }, () => near.write('POST', '/api/v1/hash', { data: '', rounds: 100_000 })),
  )
  const shed = replies.filter(({ status }) => status === 503)
  t.ok(shed.length > 0)
  for (const reply of replies) t.strictSame(rules.replyFaults('hash', reply), [])
})

test('a call that takes too long is answered as the document says', async (t) => {
  const { client: near } = await practiceServer({ env: { SLUICE_CALL_DEADLINE_MS: '100' } }, 24, t)
  const replies = await Promise.all(Array.from({ length: 16 }, () => near.get('/api/v1/report')))
  const late = replies.filter(({ status }) => status !== 200)
  t.ok(late.length > 0, 'some were late')
  t.strictSame([...new Set(late.map(({ status }) => status))], [504])
  t.strictSame(
    late.flatMap((reply) => rules.replyFaults('report', reply)),
    [],
  )
  for (const { name, method, path } of BODY_OPERATIONS) {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': 100 }
    const reply = await near.send({ method, path, headers, body: '{' })
    t.equal(reply.status, 408, `${name}: 99 bytes of the body never come`)
    t.strictSame(rules.replyFaults(name, reply), [], name)
  }
})

function target(path: string, parameter: Parameter, value: number): string {
  const needed = path === '/api/v1/search' ? 'q=x&' : ''
  return `${path}?${needed}${parameter.name}=${value}`
}

test('the bounds and defaults of the document are those of the server', async (t) => {
  const integers = practice.flatMap(({ path, parameters = [] }) =>
    parameters
      .filter((parameter) => parameter.in === 'query' && parameter.schema.type === 'integer')
      .map((parameter) => ({ path, parameter })),
  )
  t.equal(integers.length, 4)
  for (const { path, parameter } of integers) {
    const { minimum, maximum, default: fallback } = parameter.schema
    const status = async (value: number): Promise<number> =>
      (await client.get(target(path, parameter, value))).status
    t.strictSame(
      [
        await status(minimum! - 1),
        await status(minimum!),
        await status(maximum!),
        await status(maximum! + 1),
      ],
      [422, 200, 200, 422],
      `${path} ${parameter.name}`,
    )
    t.notOk(parameter.required, 'there is a default')
    t.equal(typeof fallback, 'number')
    if (parameter.name === 'offset') continue
    const own = path === '/api/v1/search' ? '?q=item' : ''
    const answer = (await client.get(`${path}${own}`)).json
    const size = Array.isArray(answer) ? answer.length : (answer as { items: number }).items
    t.equal(size, fallback, `${path} ${parameter.name} by default`)
  }
  const q = operations.find(({ operationId }) => operationId === 'search_items')!.parameters![0]!
  t.strictSame([q.name, q.required, q.schema.minLength, q.schema.maxLength], ['q', true, 1, 50])
  for (const { parameters = [] } of operations) {
    for (const parameter of parameters.filter((each) => each.in === 'path')) t.ok(parameter.required)
  }
})

const FIELD_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  name: [
    'x',
    '',
    'x'.repeat(100),
    'x'.repeat(101),
    '😀'.repeat(100),
    '😀'.repeat(101),
    5,
    null,
    true,
    [],
    {},
  ],
  description: ['', 'x'.repeat(1000), 'x'.repeat(1001), '😀'.repeat(1000), 0, null, false, ['x']],
  price: [0, 0.1, 1_000_000, 1_000_000.5, -0.1, -1, '5', null, true, {}],
  data: ['', 'x'.repeat(1000), 'x'.repeat(1001), '😀'.repeat(1000), 7, null, []],
  rounds: [1, 200_000, 0, -1, 200_001, 1.5, '5', null, true, []],
}

test('the document takes a body exactly when the server does', async (t) => {
  for (const { name, method, path, valid, success } of BODY_OPERATIONS) {
    const fields = name === 'hash' ? ['data', 'rounds'] : ['name', 'description', 'price']
    const bodies: unknown[] = [valid, {}, null, [], 'x', 5, { ...valid, unknown: 1 }]
    for (const field of fields) {
      for (const value of FIELD_VALUES[field]!) bodies.push({ ...valid, [field]: value })
    }
    for (const body of bodies) {
      const { status } = await client.write(method, path, body)
      const about = `${name} ${JSON.stringify(body).slice(0, 60)}`
      t.equal(status === success, rules.takesBody(name, body), about)
    }
  }
})

test('the page that renders the document loads everything from this server', async (t) => {
  const page = await client.get('/docs')
  t.equal(page.status, 200)
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!)
  const assets = links.filter((link) => !link.startsWith('data:'))
  t.ok(assets.length >= 3, assets.join())
  for (const asset of assets) {
    t.match(asset, /^\/docs\//, 'no other host')
    const reply = await client.get(asset)
    t.equal(reply.status, 200, asset)
    t.match(reply.headers['content-type'], asset.endsWith('.css') ? /^text\/css/ : /^text\/javascript/, asset)
    t.ok(reply.body.length > 0)
    t.equal(reply.headers['content-length'], String(reply.body.length), asset)
  }
  t.match(page.headers['content-security-policy'], /default-src 'none'/)
})
