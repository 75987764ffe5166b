import { test } from 'tap'
import { throwFault } from '../../src/base/fault.js'
import { createCors } from '../../src/http/cors.js'
import { jsonReply } from '../../src/http/reply.js'
import { pipelineOf, probe, type TestPipeline } from '../support/servers/pipeline.js'

const ORIGIN = 'https://pages.example'

const ENDPOINTS = [
  probe('/sync'),
  probe('/late', { handle: async () => jsonReply(200, {}) }),
  probe('/fault', { handle: () => throwFault('item-not-found') }),
  probe('/broken', { handle: () => Promise.reject(new Error('x')) }),
]

const withOrigins = (...origins: string[]): TestPipeline =>
  pipelineOf(ENDPOINTS, { cors: createCors(origins) })

interface Answer {
  readonly url: string
  readonly method?: string
  readonly status: number
}

const ANSWERS: readonly Answer[] = [
  { url: '/sync', status: 200 },
  { url: '/late', status: 200 },
  { url: '/fault', status: 404 },
  { url: '/broken', status: 500 },
  { url: '/sync', method: 'POST', status: 405 },
  { url: '/nothing', status: 404 },
]

test('every kind of answer tells a page of a listed origin that it may read it', async (t) => {
  const { inject } = withOrigins('https://other.example', ORIGIN)
  for (const { url, method = 'GET', status } of ANSWERS) {
    const reply = await inject({ method, url, headers: [['Origin', ORIGIN]] })
    t.equal(reply.status, status, `${method} ${url}`)
    t.equal(reply.headers['access-control-allow-origin'], ORIGIN, `${method} ${url}: origin`)
    t.equal(reply.headers.vary, 'Origin', `${method} ${url}: vary`)
    t.match(reply.headers['access-control-expose-headers'], 'Retry-After', `${method} ${url}: exposed`)
  }
})

test('a page of an unlisted origin is not told so, and caches know that the answer varies', async (t) => {
  const { inject } = withOrigins(ORIGIN)
  for (const origin of ['https://evil.example', 'https://pages.example.evil', 'null', '']) {
    const { status, headers } = await inject({ method: 'GET', url: '/sync', headers: [['Origin', origin]] })
    t.equal(status, 200)
    t.equal(headers['access-control-allow-origin'], undefined, `"${origin}"`)
    t.equal(headers.vary, 'Origin')
  }
})

test('a star lets every page in and the answer does not vary', async (t) => {
  const { inject } = withOrigins('*')
  const { headers } = await inject({ method: 'GET', url: '/sync', headers: [['Origin', ORIGIN]] })
  t.equal(headers['access-control-allow-origin'], '*')
  t.equal(headers.vary, undefined)
})

test('a preflight is answered with the methods of the path and the headers that were asked for', async (t) => {
  const { inject } = withOrigins(ORIGIN)
  const reply = await inject({
    method: 'OPTIONS',
    url: '/sync',
    headers: [
      ['Origin', ORIGIN],
      ['Access-Control-Request-Method', 'GET'],
      ['Access-Control-Request-Headers', 'content-type,x-mine'],
    ],
  })
  t.equal(reply.status, 204)
  t.equal(reply.headers['access-control-allow-origin'], ORIGIN)
  t.equal(reply.headers['access-control-allow-methods'], 'GET, HEAD')
  t.equal(reply.headers['access-control-allow-headers'], 'content-type,x-mine')
  t.match(reply.headers['access-control-max-age'], /^[0-9]+$/)
})

test('a preflight that asks for no headers is told of none', async (t) => {
  const { headers } = await withOrigins(ORIGIN).inject({
    method: 'OPTIONS',
    url: '/sync',
    headers: [['Origin', ORIGIN]],
  })
  t.equal(headers['access-control-allow-headers'], undefined)
})

test('a page is told of a shed call too, so that it sees 503 and Retry-After', async (t) => {
  const { inject } = pipelineOf(ENDPOINTS, { cors: createCors([ORIGIN]), maxInFlight: 0 })
  const { status, headers } = await inject({ method: 'GET', url: '/sync', headers: [['Origin', ORIGIN]] })
  t.equal(status, 503)
  t.equal(headers['access-control-allow-origin'], ORIGIN)
})

test('without CORS no answer carries its headers, and OPTIONS is a method like any other', async (t) => {
  const { inject } = pipelineOf(ENDPOINTS)
  for (const { url, method = 'GET' } of ANSWERS) {
    const { headers } = await inject({ method, url, headers: [['Origin', ORIGIN]] })
    t.notOk(Object.keys(headers).some((name) => name.startsWith('access-control') || name === 'vary'))
  }
  t.equal((await inject({ method: 'OPTIONS', url: '/sync' })).status, 405)
})
