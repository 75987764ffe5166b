/** contract/practice 1: unknown paths, other methods, HEAD, OPTIONS, repeated and unknown parameters. */
import { test } from 'tap'
import { sendBytes } from '../../support/clients/raw-http.js'
import { words } from '../../support/data/words.js'
import { KNOWN_PATHS } from '../../support/models/practice-operations.js'
import { refused, violation } from '../../support/models/violations.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const { server, client } = await practiceServer()
for (const name of ['one', 'two', 'three']) await client.write('POST', '/api/v1/items', { name })

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']
const NOT_FOUND = { error: { code: 404, message: 'Resource not found' } }

const UNKNOWN_PATHS = words(
  '/favicon.ico /api /api/v1 /api/v1/ /api/v1/nope /api/v1/items/ /api/v1/items/1/ /api/v1/items/1/2',
  '/api/v1/Items /api/v1/health/ /api/v1/health/x /api/v2/health /api/v1/search/x?q=x /api/v1//items',
  '//api/v1/items /items /metrics/x',
)

test('an unknown path answers 404 in the gateway dialect, under /api/v1 and elsewhere, to every method', async (t) => {
  for (const path of UNKNOWN_PATHS) {
    for (const method of METHODS.filter((name) => name !== 'HEAD')) {
      const { status, json, headers } = await client.send({ method, path })
      const got = { status, json, type: headers['content-type'] }
      t.strictSame(got, { status: 404, json: NOT_FOUND, type: 'application/json' }, `${method} ${path}`)
    }
  }
})

test('another method on a known path answers 405 and names the ones there are', async (t) => {
  for (const { path, allow } of KNOWN_PATHS) {
    const others = METHODS.filter((method) => !allow.split(', ').includes(method) && method !== 'HEAD')
    for (const method of others) {
      const { status, json, headers } = await client.send({ method, path })
      const got = { status, json, allow: headers.allow }
      t.strictSame(got, { status: 405, json: { detail: 'Method Not Allowed' }, allow }, `${method} ${path}`)
    }
  }
})

test('OPTIONS is just another method while CORS is off', async (t) => {
  for (const { path, allow } of KNOWN_PATHS) {
    const headers = { Origin: 'https://page.example', 'Access-Control-Request-Method': 'GET' }
    const reply = await client.send({ method: 'OPTIONS', path, headers })
    t.equal(reply.status, 405, path)
    t.equal(reply.headers.allow, allow, path)
    t.equal(reply.headers['access-control-allow-origin'], undefined, path)
  }
})

test('a method refusal does not look at the body', async (t) => {
  const reply = await client.send({ method: 'PATCH', path: '/api/v1/items/1', body: '{"name":' })
  t.equal(reply.status, 405)
  t.equal(((await client.get('/api/v1/items/1')).json as { name: string }).name, 'one')
})

/** Headers that differ from one answer to the next, whatever the method. */
const MOVING = ['x-request-id', 'date', 'server-timing', 'content-length']

function fixedHeaders(headers: object): object {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !MOVING.includes(name)))
}

const READS = [
  ...KNOWN_PATHS.filter(({ allow }) => allow.includes('HEAD')).map(({ path }) => path),
  '/metrics',
  '/docs',
  '/api/v1/items?limit=0',
  '/api/v1/items/999',
  '/api/v1/items/x',
  '/api/v1/search',
]
/** Their length is the same from one answer to the next. */
const STEADY = /items(\/|\?|$)|search|openapi|docs/

test('HEAD answers as GET does, with the same status and headers', async (t) => {
  for (const path of READS) {
    const get = await client.get(path)
    const head = await client.send({ method: 'HEAD', path })
    t.equal(head.status, get.status, path)
    t.strictSame(fixedHeaders(head.headers), fixedHeaders(get.headers), path)
    if (STEADY.test(path) && !path.includes('report')) {
      t.equal(head.headers['content-length'], String(get.body.length), path)
    }
  }
})

test('HEAD never gets a body, on no path and with no status', async (t) => {
  const targets = [...READS, '/api/v1/hash', '/nope', '/api/v1/nope', '/', '/api/v1/items/1/2']
  for (const path of targets) {
    const request = `HEAD ${path} HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n\r\n`
    const received = await sendBytes(server.port, request)
    t.match(received, /^HTTP\/1\.1 [245][0-9][0-9] /, path)
    t.equal(received.slice(received.indexOf('\r\n\r\n') + 4), '', `nothing follows the head of HEAD ${path}`)
  }
})

test('HEAD on a path without GET is refused like any other method', async (t) => {
  const request = 'HEAD /api/v1/hash HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n\r\n'
  const text = await sendBytes(server.port, request)
  t.match(text, /^HTTP\/1\.1 405 /)
  t.match(text, /\r\nallow: POST\r\n/i)
})

test('of a repeated query parameter the last one wins', async (t) => {
  const names = async (query: string): Promise<string[]> =>
    ((await client.get(`/api/v1/items?${query}`)).json as { name: string }[]).map(({ name }) => name)
  t.strictSame(await names('limit=3&limit=1'), ['one'])
  t.strictSame(await names('limit=0&limit=2'), ['one', 'two'], 'what was overruled is not judged')
  t.strictSame(await names('offset=x&limit=1&offset=2'), ['three'])
  t.strictSame(await names('limit=%ff&limit=1'), ['one'], 'not even its encoding')
  t.strictSame(await names('limit=3&%6c%69mit=1'), ['one'], 'names are percent-decoded')
  const last = await client.get('/api/v1/items?limit=1&limit=0')
  refused(t, last, [violation.atLeast(['query', 'limit'], 1)], 'limit=1&limit=0')
  const empty = await client.get('/api/v1/items?limit=1&limit')
  refused(t, empty, [violation.noIntegerText(['query', 'limit'])], 'limit=1&limit')
  const found = await client.get('/api/v1/search?q=nothing&q=two')
  t.strictSame(
    (found.json as { name: string }[]).map(({ name }) => name),
    ['two'],
  )
  const report = await client.get('/api/v1/report?items=2&items=1')
  t.equal((report.json as { items: number }).items, 1)
})

test('an unknown query parameter is ignored, whatever it holds', async (t) => {
  const queries = ['x=1', 'x', '=', '&&', 'Limit=0', 'limit[]=0', ' limit=0', '%ff=1', 'x=%ff', '__proto__=1']
  const odd = ['constructor=1', 'toString', 'hasOwnProperty=0', 'q=']
  for (const query of [...queries, ...odd]) {
    const escaped = query.replaceAll(' ', '%20')
    const { status, json } = await client.get(`/api/v1/items?${escaped}`)
    t.equal(status, 200, query)
    t.equal((json as unknown[]).length, 3, query)
  }
  for (const path of ['/api/v1/health?x=1', '/api/v1/stats?x', '/api/v1/items/1?x=%ff&item_id=9']) {
    t.equal((await client.get(path)).status, 200, path)
  }
})

test('an unknown body field is ignored, whatever it holds', async (t) => {
  const extras = { id: 77, created_at: 1, x: null, y: { z: [1, { a: 'b' }] }, Name: 5, '': 0, 'name ': false }
  const created = await client.write('POST', '/api/v1/items', { name: 'extra', ...extras })
  const { id, created_at, ...fields } = created.json as { id: number; created_at: number }
  t.strictSame(fields, { name: 'extra', description: '', price: 0 })
  t.not(id, 77)
  t.not(created_at, 1)
  const hash = await client.write('POST', '/api/v1/hash', { data: '', rounds: 1, salt: 'mine', x: [] })
  t.equal(hash.status, 200)
})

test('no practice operation asks for credentials, and any are ignored', async (t) => {
  const headers = { Authorization: 'Bearer nonsense', 'X-Api-Key': 'nonsense' }
  for (const { path, allow } of KNOWN_PATHS.filter((known) => known.allow.includes('GET'))) {
    t.equal((await client.send({ method: 'GET', path, headers })).status, 200, `${path} (${allow})`)
  }
})

test('a percent-encoded path parameter is decoded', async (t) => {
  t.equal(((await client.get('/api/v1/items/%31')).json as { id: number }).id, 1)
  t.equal(((await client.get('/api/v1/items/%30%32')).json as { id: number }).id, 2)
})
