import { test } from 'tap'
import { z } from 'zod'
import { Fault, type FaultKind } from '../../src/base/fault.js'
import { createLog } from '../../src/base/log.js'
import { ANONYMOUS } from '../../src/base/principal.js'
import { oauth } from '../../src/http/dialects/oauth.js'
import { practice } from '../../src/http/dialects/practice.js'
import type { Endpoint, HttpMethod } from '../../src/http/endpoint.js'
import { boundedInteger, boundedString } from '../../src/http/fields.js'
import { integerParam, textParam } from '../../src/http/params.js'
import { UNMATCHED } from '../../src/http/pipeline.js'
import { jsonReply, noContentReply } from '../../src/http/reply.js'
import type { HttpCall, Reply } from '../../src/transport/exchange.js'
import { pipelineOf, probe } from '../support/servers/pipeline.js'
import { eventually } from '../support/timing/eventually.js'

type Handle = () => Reply | Promise<Reply>

function answering(
  path: string,
  handle: Handle,
  more: { vital?: boolean; deadlineMs?: number; method?: HttpMethod } = {},
): Endpoint {
  return probe(path, { ...more, handle })
}

const fine: Handle = () => jsonReply(200, { fine: true })

function detailOf(body: Buffer): unknown {
  return JSON.parse(body.toString()).detail
}

test('a call within the limit is answered, one beyond it is shed with 503, vital ones are never shed', async (t) => {
  const waiting: ((reply: Reply) => void)[] = []
  const held: Handle = () => new Promise((resolve) => waiting.push(resolve))
  const { inject, counted } = pipelineOf(
    [answering('/held', held), answering('/fine', fine), answering('/vital', fine, { vital: true })],
    { maxInFlight: 2 },
  )
  const first = inject({ method: 'GET', url: '/held' })
  t.equal((await inject({ method: 'GET', url: '/fine' })).status, 200, 'the second of two')
  const second = inject({ method: 'GET', url: '/held' })
  await eventually(() => waiting.length === 2)
  const shed = await inject({ method: 'GET', url: '/fine' })
  t.equal(shed.status, 503)
  t.equal(detailOf(shed.body), 'Service temporarily unavailable')
  t.match(shed.headers['retry-after'], /^[1-9][0-9]*$/)
  t.equal((await inject({ method: 'GET', url: '/vital' })).status, 200)
  for (const resolve of waiting) resolve(jsonReply(200, {}))
  t.same(
    (await Promise.all([first, second])).map(({ status }) => status),
    [200, 200],
  )
  t.equal((await inject({ method: 'GET', url: '/fine' })).status, 200, 'when there is room again')
  t.same(counted.fine, { arrived: 3, statuses: [200, 503, 200] }, 'a shed call is counted like any other')
})

test('shedding looks at the limit before the body and the handler', async (t) => {
  let handled = 0
  const taking = probe('/take', {
    method: 'POST',
    body: z.object({ n: boundedInteger(1, 9) }),
    handle: () => {
      handled++
      return noContentReply()
    },
  })
  const { inject } = pipelineOf([taking], { maxInFlight: 0 })
  t.equal((await inject({ method: 'POST', url: '/take', body: 'no json' })).status, 503)
  t.equal(handled, 0)
})

const SECRET = 's3cr3t in the cause'

const FAILURES: Readonly<Record<string, Handle>> = {
  'throws an error': () => {
    throw new Error(SECRET)
  },
  'throws something that is no error': () => {
    throw SECRET
  },
  'throws undefined': () => {
    throw undefined
  },
  'rejects with an error': () => Promise.reject(new Error(SECRET)),
  'rejects with something that is no error': () => Promise.reject(SECRET),
  'rejects late': async () => {
    await new Promise((resolve) => setImmediate(resolve))
    throw new Error(SECRET)
  },
  'throws a fault of ours with detail and cause': () => {
    throw new Fault('internal', { detail: SECRET, cause: new Error(SECRET) })
  },
}

for (const [how, handle] of Object.entries(FAILURES)) {
  test(`a handler that ${how} is answered with 500 without the cause, and logged once with an id`, async (t) => {
    const { inject, lines, counted } = pipelineOf([answering('/broken', handle)])
    const { status, body, headers } = await inject({ method: 'GET', url: '/broken' })
    t.equal(status, 500)
    t.equal(body.toString(), '{"detail":"Internal Server Error"}')
    t.notMatch(JSON.stringify(headers), SECRET)
    t.equal(lines.length, 1)
    const [line] = lines
    t.match(line, { level: 50, operation: 'broken', fault: 'internal', status: 500, msg: 'call failed' })
    t.match(line?.request, /^req-/)
    if (how !== 'throws undefined') t.match(JSON.stringify(line), SECRET, 'the log has the cause')
    t.same(counted.broken, { arrived: 1, statuses: [500] })
  })
}

test('each failure has an id of its own', async (t) => {
  const { inject, lines } = pipelineOf([answering('/broken', FAILURES['throws an error']!)])
  for (let i = 0; i < 3; i++) await inject({ method: 'GET', url: '/broken' })
  t.equal(new Set(lines.map(({ request }) => request)).size, 3)
})

interface Noted {
  readonly kind: FaultKind
  readonly logged: boolean
}

const NOTED: readonly Noted[] = [
  { kind: 'item-not-found', logged: true },
  { kind: 'conflict', logged: true },
  { kind: 'rate-limited', logged: true },
  { kind: 'unavailable', logged: false },
  { kind: 'internal', logged: true },
  { kind: 'provider-failed', logged: true },
  { kind: 'deadline-exceeded', logged: true },
]

test('our own failures and what callers do wrong are logged; saturation only when debugging', async (t) => {
  for (const { kind, logged } of NOTED) {
    const broken = answering('/broken', () => {
      throw new Fault(kind)
    })
    const quiet = pipelineOf([broken])
    const { status } = await quiet.inject({ method: 'GET', url: '/broken' })
    t.equal(status, practice.status(kind), kind)
    t.equal(quiet.lines.length, logged ? 1 : 0, `${kind}: at info`)

    const lines: string[] = []
    const log = createLog('debug', 'test', { write: (line: string) => void lines.push(line) })
    await pipelineOf([broken], { log }).inject({ method: 'GET', url: '/broken' })
    t.equal(lines.length, 1, `${kind}: at debug`)
    t.match(JSON.parse(lines[0]!), { fault: kind, request: /^req-/, operation: 'broken' })
  }
})

test('faults with particulars keep them, those without look the same every time', async (t) => {
  let retryAfter: number | undefined
  const full = answering('/full', () => {
    throw new Fault('unavailable', retryAfter === undefined ? {} : { retryAfter })
  })
  const { inject } = pipelineOf([full])
  for (const [given, sent] of [
    [undefined, '1'],
    [7, '7'],
    [3, '3'],
    [undefined, '1'],
  ] as const) {
    retryAfter = given
    const { headers } = await inject({ method: 'GET', url: '/full' })
    t.equal(headers['retry-after'], sent)
  }
})

const everything = probe('/things/{id}', {
  name: 'everything',
  method: 'PUT',
  params: { id: integerParam() },
  query: {
    limit: integerParam({ minimum: 1, maximum: 9, default: 5 }),
    q: textParam({ minLength: 1, maxLength: 3 }),
  },
  body: z.object({ name: boundedString(1, 5), amount: boundedInteger(0, 9).default(1) }),
  handle: (input) => jsonReply(200, input),
})

test('a handler gets path, query and body as the schemas read them', async (t) => {
  const { inject } = pipelineOf([everything])
  const { status, body } = await inject({
    method: 'PUT',
    url: '/things/7?q=a%2Bb&limit=3&more=1',
    body: '{"name":"x","more":true}',
  })
  t.equal(status, 200)
  t.strictSame(JSON.parse(body.toString()), {
    params: { id: 7 },
    query: { limit: 3, q: 'a+b' },
    body: { name: 'x', amount: 1 },
    caller: ANONYMOUS,
  })
})

test('violations of path, query and body are all told, in this order', async (t) => {
  const { inject } = pipelineOf([everything])
  const { status, body } = await inject({
    method: 'PUT',
    url: '/things/x?limit=10',
    body: '{"amount":1.5}',
  })
  t.equal(status, 422)
  const detail = detailOf(body) as { loc: unknown[]; type: string }[]
  t.strictSame(
    detail.map(({ loc, type }) => [loc, type]),
    [
      [['path', 'id'], 'int_parsing'],
      [['query', 'limit'], 'less_than_equal'],
      [['query', 'q'], 'missing'],
      [['body', 'name'], 'missing'],
      [['body', 'amount'], 'int_from_float'],
    ],
  )
})

test('a path that is wrong and a body that is no JSON are both told', async (t) => {
  const { inject } = pipelineOf([everything])
  const { body } = await inject({ method: 'PUT', url: '/things/x?q=a', body: '{' })
  t.strictSame(
    (detailOf(body) as { loc: unknown[] }[]).map(({ loc }) => loc[0]),
    ['path', 'body'],
  )
})

test('other methods of a known path get 405 with all its methods, in the dialect of the path', async (t) => {
  const { inject, counted } = pipelineOf([
    answering('/thing', fine),
    answering('/thing', fine, { method: 'DELETE' }),
    answering('/only-post', fine, { method: 'POST' }),
  ])
  for (const [method, url, allow] of [
    ['POST', '/thing', 'GET, HEAD, DELETE'],
    ['OPTIONS', '/thing', 'GET, HEAD, DELETE'],
    ['BREW', '/thing', 'GET, HEAD, DELETE'],
    ['GET', '/only-post', 'POST'],
    ['HEAD', '/only-post', 'POST'],
  ] as const) {
    const reply = await inject({ method, url })
    t.equal(reply.status, 405, `${method} ${url}`)
    t.equal(reply.headers.allow, allow, `${method} ${url}`)
    if (method !== 'HEAD') t.equal(detailOf(reply.body), 'Method Not Allowed')
  }
  t.equal(counted[UNMATCHED]?.arrived, 5)
})

test('HEAD is answered as GET without a body', async (t) => {
  const { inject, counted } = pipelineOf([answering('/fine', fine)])
  const get = await inject({ method: 'GET', url: '/fine' })
  const head = await inject({ method: 'HEAD', url: '/fine' })
  t.equal(head.status, 200)
  t.same(head.headers, get.headers)
  t.equal(head.body.length, 0)
  t.equal(counted.fine?.arrived, 2)
})

test('paths that no endpoint has get 404 in the dialect of the fallback', async (t) => {
  const gateway = pipelineOf([answering('/fine', fine)])
  for (const url of ['/nothing', '/fine/', '/fine/more', '/', '/FINE', '/%66ine']) {
    const { status, body } = await gateway.inject({ method: 'GET', url })
    t.equal(status, 404, url)
    t.equal(body.toString(), '{"error":{"code":404,"message":"Resource not found"}}', url)
  }
  t.equal(gateway.counted[UNMATCHED]?.arrived, 6)
  const other = pipelineOf([], { fallback: oauth })
  t.match((await other.inject({ method: 'POST', url: '/x' })).body.toString(), 'error_description')
})

test('an unknown path is told in the log, and who is known to mean another is told which', async (t) => {
  const adviseOn = (path: string) => (path === '/v1/x%20y' ? 'use /x' : null)
  const { inject, lines } = pipelineOf([answering('/fine', fine)], { adviseOn })
  t.match((await inject({ method: 'GET', url: '/v1/x%20y?key=s3cr3t' })).json, {
    error: { code: 404, message: 'Resource not found: use /x' },
  })
  await inject({ method: 'GET', url: '/other' })
  await inject({ method: 'POST', url: '/fine' })
  t.match(lines, [
    { operation: UNMATCHED, status: 404, path: '/v1/x%20y', message: 'use /x', msg: 'call refused' },
    { operation: UNMATCHED, status: 404, path: '/other' },
    { operation: UNMATCHED, status: 405, path: '/fine' },
  ])
  t.notMatch(JSON.stringify(lines), 's3cr3t')
})

test('a body beyond the limit gets 413 in the dialect of the endpoint and never reaches the handler', async (t) => {
  const { inject, counted } = pipelineOf([everything], { bodyLimit: 20 })
  const { status, body, headers } = await inject({
    method: 'PUT',
    url: '/things/1?q=a',
    body: JSON.stringify({ name: 'x'.repeat(20) }),
  })
  t.equal(status, 413)
  t.equal(detailOf(body), 'Request payload too large')
  t.equal(headers.connection, 'close')
  t.same(counted.everything, { arrived: 1, statuses: [413] })
})

test('an endpoint that takes too long is answered with 504, by its own deadline where it has one', async (t) => {
  const never: Handle = () => new Promise(() => {})
  const { inject, counted } = pipelineOf([answering('/never', never, { deadlineMs: 10 })], {
    deadlineMs: 60_000,
  })
  const { status, body } = await inject({ method: 'GET', url: '/never' })
  t.equal(status, 504)
  t.equal(detailOf(body), 'Gateway Timeout')
  t.same(counted.never, { arrived: 1, statuses: [504] })
})

test('an answer that is there at once passes the pipeline without a promise', async (t) => {
  const { routes } = pipelineOf([answering('/fine', fine)])
  const route = routes.find(({ path, method }) => path === '/fine' && method === 'GET')
  const reply = route?.answer({ query: '', param: () => '', header: () => '' } as unknown as HttpCall)
  t.notOk(reply instanceof Promise)
  t.match(reply, { status: 200, body: '{"fine":true}' })
})

test('routes ask the transport for no more than their endpoint reads', async (t) => {
  const { routes } = pipelineOf([answering('/fine', fine), everything])
  const wants = (path: string, method: string): unknown => {
    const { readsBody, readsQuery, readsAddress, headers } = routes.find(
      (route) => route.path === path && route.method === method,
    )!
    return { readsBody, readsQuery, readsAddress, headers }
  }
  t.same(wants('/fine', 'GET'), { readsBody: false, readsQuery: false, readsAddress: false, headers: [] })
  t.same(wants('/things/{id}', 'PUT'), {
    readsBody: true,
    readsQuery: true,
    readsAddress: 'while-reading',
    headers: ['content-type'],
  })
})
