/** contract/practice 1: OPTIONS and CORS when CORS is switched on (Fetch standard, CORS protocol). */
import { test } from 'tap'
import type { HttpClient, HttpReply } from '../../support/clients/http-client.js'
import { KNOWN_PATHS } from '../../support/models/practice-operations.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const LISTED = 'https://a.example'
const ALSO_LISTED = 'http://localhost:3000'
const STRANGER = 'https://evil.example'

const [{ client: toListed }, { client: toOpen }] = await Promise.all([
  practiceServer({ env: { SLUICE_CORS_ORIGINS: `${LISTED}, ${ALSO_LISTED}` } }),
  practiceServer({ env: { SLUICE_CORS_ORIGINS: '*' } }),
])
for (const client of [toListed, toOpen]) await client.write('POST', '/api/v1/items', { name: 'x' })

function preflight(client: HttpClient, path: string, origin: string, method: string): Promise<HttpReply> {
  const headers = {
    Origin: origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'content-type, x-trace',
  }
  return client.send({ method: 'OPTIONS', path, headers })
}

function varies(reply: HttpReply): string[] {
  return (reply.headers.vary ?? '').split(',').map((name) => name.trim().toLowerCase())
}

test('a preflight from a listed origin is allowed on every known path', async (t) => {
  for (const { path, allow } of KNOWN_PATHS) {
    for (const origin of [LISTED, ALSO_LISTED]) {
      const reply = await preflight(toListed, path, origin, allow.split(', ')[0]!)
      t.equal(reply.status, 204, path)
      t.equal(reply.body.length, 0, path)
      t.equal(reply.headers['content-length'], undefined, path)
      t.equal(reply.headers['access-control-allow-origin'], origin, path)
      t.equal(reply.headers['access-control-allow-methods'], allow, path)
      t.equal(reply.headers['access-control-allow-headers'], 'content-type, x-trace', path)
      t.ok(varies(reply).includes('origin'), path)
    }
  }
})

test('a preflight from another origin is not allowed', async (t) => {
  for (const origin of [STRANGER, `${LISTED}.evil.example`, LISTED.toUpperCase(), 'null', `${LISTED}:443`]) {
    const reply = await preflight(toListed, '/api/v1/items', origin, 'POST')
    t.equal(reply.headers['access-control-allow-origin'], undefined, origin)
    t.ok(varies(reply).includes('origin'), origin)
  }
})

test('with * every origin is allowed', async (t) => {
  const reply = await preflight(toOpen, '/api/v1/items', STRANGER, 'POST')
  t.equal(reply.status, 204)
  t.equal(reply.headers['access-control-allow-origin'], '*')
  t.equal(reply.headers['access-control-allow-credentials'], undefined)
})

interface Case {
  readonly about: string
  readonly status: number
  readonly method: string
  readonly path: string
  readonly body?: string
}

const CASES: readonly Case[] = [
  { about: 'a read', status: 200, method: 'GET', path: '/api/v1/items/1' },
  { about: 'a HEAD', status: 200, method: 'HEAD', path: '/api/v1/items/1' },
  { about: 'a late answer', status: 200, method: 'GET', path: '/api/v1/report' },
  { about: 'a creation', status: 201, method: 'POST', path: '/api/v1/items', body: '{"name":"x"}' },
  { about: 'a deletion', status: 204, method: 'DELETE', path: '/api/v1/items/2' },
  { about: 'an unknown item', status: 404, method: 'GET', path: '/api/v1/items/999' },
  { about: 'an unknown path', status: 404, method: 'GET', path: '/api/v1/nope' },
  { about: 'another method', status: 405, method: 'PATCH', path: '/api/v1/items' },
  {
    about: 'a body over the limit',
    status: 413,
    method: 'POST',
    path: '/api/v1/hash',
    body: ' '.repeat(65_537),
  },
  { about: 'a violation', status: 422, method: 'GET', path: '/api/v1/items?limit=0' },
]

test('a page of a listed origin can read every answer, refusals included', async (t) => {
  for (const { about, status, ...request } of CASES) {
    const reply = await toListed.send({ ...request, headers: { Origin: LISTED } })
    t.equal(reply.status, status, about)
    t.equal(reply.headers['access-control-allow-origin'], LISTED, about)
    t.ok(varies(reply).includes('origin'), `${about} varies with the origin`)
  }
})

test('a page of another origin can read none', async (t) => {
  for (const { about, ...request } of CASES.filter(({ status }) => status !== 204)) {
    const { status: _, ...wanted } = request
    const reply = await toListed.send({ ...wanted, headers: { Origin: STRANGER } })
    t.equal(reply.headers['access-control-allow-origin'], undefined, about)
  }
})

test('without an Origin nothing is allowed, and a cache is told that the answer varies', async (t) => {
  const reply = await toListed.get('/api/v1/items/1')
  t.equal(reply.status, 200)
  t.equal(reply.headers['access-control-allow-origin'], undefined)
  t.ok(varies(reply).includes('origin'))
})

test('the headers a page needs to read are exposed', async (t) => {
  for (const client of [toListed, toOpen]) {
    const reply = await client.send({ method: 'GET', path: '/api/v1/items', headers: { Origin: LISTED } })
    const exposed = String(reply.headers['access-control-expose-headers']).toLowerCase().split(', ')
    for (const name of [
      ...['location', 'x-items-scanned', 'server-timing', 'retry-after'],
      ...['x-generation-id', 'x-audio-sample-rate', 'x-service-untranslated'],
    ]) {
      t.ok(exposed.includes(name), name)
    }
  }
})

test('OPTIONS on an unknown path stays a 404', async (t) => {
  const reply = await preflight(toListed, '/api/v1/nope', LISTED, 'GET')
  t.equal(reply.status, 404)
})
