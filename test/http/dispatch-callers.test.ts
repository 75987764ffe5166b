import { test } from 'tap'
import { z } from 'zod'
import { Fault } from '../../src/base/fault.js'
import type { CallerAuthority } from '../../src/base/principal.js'
import { ANONYMOUS, type Principal } from '../../src/base/principal.js'
import { gateway } from '../../src/http/dialects/gateway.js'
import { jsonReply } from '../../src/http/reply.js'
import { pipelineOf, probe, type TestPipeline } from '../support/servers/pipeline.js'

const KNOWN: Principal = { ...ANONYMOUS, keyHash: 'known' }

function bench(authorize: CallerAuthority['authorize']): TestPipeline & { readonly handled: Principal[] } {
  const handled: Principal[] = []
  const handle = ({ caller }: { caller: Principal }) => {
    handled.push(caller)
    return jsonReply(200, {})
  }
  const upload = { method: 'POST', access: 'management', bodyLimit: 8, body: z.unknown() } as const
  const made = pipelineOf(
    [
      probe('/locked', { dialect: gateway, access: 'key', handle }),
      probe('/open', { dialect: gateway, handle }),
      probe('/plain', { handle }),
      probe('/upload', { dialect: gateway, ...upload, handle }),
    ],
    { authority: { authorize } },
  )
  return { ...made, handled }
}

test('the authority sees both credentials, the operation and its access', async (t) => {
  const seen: unknown[] = []
  const { inject } = bench((...args) => {
    seen.push(args)
    return KNOWN
  })
  await inject({
    method: 'GET',
    url: '/locked',
    headers: [
      ['Authorization', 'Bearer a'],
      ['x-api-key', 'b'],
    ],
  })
  t.same(seen, [['Bearer a', 'b', 'locked', 'key', null]])
})

test('the handler learns who calls', async (t) => {
  const { inject, handled } = bench(() => KNOWN)
  await inject({ method: 'GET', url: '/locked' })
  t.same(handled, [KNOWN])
})

test('an open operation of the gateway is asked about as open, because the configuration may lock it', async (t) => {
  const seen: unknown[] = []
  const { inject, handled } = bench((...args) => {
    seen.push(args)
    return ANONYMOUS
  })
  t.equal((await inject({ method: 'GET', url: '/open' })).status, 200)
  t.same(seen, [['', '', 'open', 'anyone', null]])
  t.same(handled, [ANONYMOUS])
})

test('nobody is ever asked about the practice API', async (t) => {
  const { inject } = bench(() => {
    throw new Error('asked')
  })
  t.equal((await inject({ method: 'GET', url: '/plain' })).status, 200)
})

test('a refused caller gets the fault, and no handler runs', async (t) => {
  const { inject, handled } = bench(() => {
    throw new Fault('unauthenticated', { note: 'Missing Authentication header' })
  })
  const reply = await inject({ method: 'GET', url: '/locked' })
  t.equal(reply.status, 401)
  t.equal(reply.headers['www-authenticate'], 'Bearer')
  t.same(JSON.parse(reply.body.toString()), {
    error: { code: 401, message: 'Missing Authentication header' },
  })
  t.same(handled, [])
})

test('who calls is asked before what is sent: a bad body of an unknown caller is a 401', async (t) => {
  const unknown = new Fault('unauthenticated')
  const refusals: readonly CallerAuthority['authorize'][] = [
    () => {
      throw unknown
    },
    () => Promise.reject(unknown),
  ]
  for (const authorize of refusals) {
    const reply = await bench(authorize).inject({ method: 'POST', url: '/upload', body: '{' })
    t.equal(reply.status, 401)
  }
})

test('a caller that is known after a wait is handled as one that is known at once', async (t) => {
  const { inject, handled } = bench(async () => KNOWN)
  t.equal((await inject({ method: 'GET', url: '/locked' })).status, 200)
  t.equal((await inject({ method: 'POST', url: '/upload', body: '"123456"' })).status, 200)
  t.same(handled, [KNOWN, KNOWN])
})

test('a caller that is refused after a wait sees the answer of one that is refused at once', async (t) => {
  const fault = new Fault('unauthenticated', { note: 'Missing Authentication header' })
  const late = bench(() => Promise.reject(fault))
  const atOnce = bench(() => {
    throw fault
  })
  const answers = []
  for (const { inject, handled } of [late, atOnce]) {
    const { status, headers, body } = await inject({ method: 'GET', url: '/locked' })
    t.match(headers['x-request-id'], /^req-/)
    answers.push({ status, headers: { ...headers, 'x-request-id': '' }, body: body.toString() })
    t.same(handled, [])
  }
  t.same(answers[0], answers[1])
})

test('an operation may have a body limit of its own', async (t) => {
  const { inject } = bench(() => KNOWN)
  t.equal((await inject({ method: 'POST', url: '/upload', body: '"123456"' })).status, 200)
  t.equal((await inject({ method: 'POST', url: '/upload', body: '"1234567"' })).status, 413)
})

test('every answer of the gateway names its call, errors and unknown paths included; the practice API’s do not', async (t) => {
  const { inject } = bench(() => KNOWN)
  const ids = []
  for (const path of ['/locked', '/open', '/nowhere']) {
    ids.push((await inject({ method: 'GET', url: path })).headers['x-request-id'])
  }
  ids.push((await inject({ method: 'DELETE', url: '/locked' })).headers['x-request-id'])
  for (const id of ids) t.match(id, /^req-[A-Za-z0-9_-]{16}$/)
  t.equal(new Set(ids).size, ids.length)
  t.equal((await inject({ method: 'GET', url: '/plain' })).headers['x-request-id'], undefined)
})

test('a failure is logged under the id its caller was told', async (t) => {
  const { inject, lines } = bench(() => {
    throw new TypeError('defect')
  })
  const reply = await inject({ method: 'GET', url: '/locked' })
  t.equal(reply.status, 500)
  t.equal(lines[0]?.request, reply.headers['x-request-id'])
})

test('an answer to a GET that may depend on who asks is for that caller alone, however the credential was sent', async (t) => {
  const { inject } = bench((key, apiKey) => {
    if (key === '' && apiKey === '') throw new Fault('unauthenticated')
    return KNOWN
  })
  for (const [credential, status] of [
    [['Authorization', 'Bearer a'], 200],
    [['x-api-key', 'a'], 200],
    [null, 401],
  ] as const) {
    const { headers, ...answer } = await inject({
      method: 'GET',
      url: '/locked',
      headers: credential === null ? [] : [credential],
    })
    t.equal(answer.status, status)
    t.match(headers, { 'cache-control': 'private', vary: 'Authorization, Cookie, X-Api-Key' })
  }
  const { headers } = await inject({ method: 'GET', url: '/plain' })
  t.notOk('vary' in headers || 'cache-control' in headers, 'the practice API asks nobody who they are')
})
