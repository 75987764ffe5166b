/** What a face may have of its own besides its errors: an area of paths, no pages of others, a log of answers. */
import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { createCors } from '../../src/http/cors.js'
import { scimV2 } from '../../src/http/dialects/scim-v2.js'
import { openObject } from '../../src/http/fields.js'
import { jsonReply, noContentReply } from '../../src/http/reply.js'
import { pipelineOf, probe } from '../support/servers/pipeline.js'

const PATH = '/api/v1/scim/v2/Users'
const users = probe(PATH, { dialect: scimV2, access: 'key' })

test('below its area a face answers for paths that do not exist, and nowhere else', async (t) => {
  const { inject } = pipelineOf([users])
  for (const [method, url, status] of [
    ['GET', '/api/v1/scim/v2/Users/a/b/c', 404],
    ['PATCH', '/api/v1/scim/v2/', 404],
    ['DELETE', PATH, 405],
  ] as const) {
    const reply = await inject({ method, url })
    t.equal(reply.status, status, url)
    t.equal(reply.headers['content-type'], 'application/scim+json', url)
    t.match(reply.json, { status: String(status) }, url)
  }
  const { json } = await inject({ method: 'GET', url: '/api/v1/scim/v1/Users' })
  t.equal(json.error.code, 404, 'another version is no part of it')
})

test('a face of one origin tells browsers nothing, whatever the operator allows', async (t) => {
  const { inject } = pipelineOf([users, probe('/open')], { cors: createCors(['*']) })
  const headers = [['Origin', 'https://example.com'] as const]
  const asked = async (method: string, url: string) =>
    (await inject({ method, url, headers })).headers['access-control-allow-origin']
  t.equal(await asked('GET', '/open'), '*')
  t.equal(await asked('GET', PATH), undefined)
  t.equal(await asked('OPTIONS', PATH), undefined)
  t.equal(await asked('GET', `${PATH}/x/y`), undefined)
})

test('an endpoint that keeps a log is told of each answer to who was let in, also of the refused ones', async (t) => {
  const told: [string, number][] = []
  const logged = probe(PATH, {
    method: 'POST',
    dialect: scimV2,
    access: 'key',
    body: openObject(),
    headers: ['authorization'],
    handle: ({ body }) => {
      if ('late' in body) return Promise.resolve(noContentReply())
      if ('wrong' in body) throw new Fault('conflict')
      return jsonReply(200, {})
    },
    answered: (call, { status }) => told.push([call.header('authorization'), status]),
  })
  const { inject } = pipelineOf([logged], {
    authority: {
      authorize: (key) => {
        if (key === 'nobody') throw new Fault('unauthenticated')
        return { keyHash: key, kind: 'workspace', organizationId: '', workspaceId: null, operator: false }
      },
    },
  })
  const sent = (key: string, body: string) =>
    inject({ method: 'POST', url: PATH, headers: [['Authorization', key]], body })
  await sent('nobody', '{}')
  await sent('at once', '{}')
  await sent('later', '{"late":1}')
  await sent('fault', '{"wrong":1}')
  await sent('no JSON', '{')
  t.strictSame(told, [
    ['at once', 200],
    ['later', 204],
    ['fault', 409],
    ['no JSON', 400],
  ])
})
