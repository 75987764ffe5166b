/** contract/directory 2 and 3: what the service says of itself, and by which paths it is found. */
import { test } from 'tap'
import { ENTERPRISE, GROUP, groupBody, patchBody, USER, userBody } from '../../support/schemas/scim-bodies.js'
import type { Json } from '../../support/servers/gateway-server.js'
import { SCIM, scimServer } from '../../support/servers/scim-server.js'

const server = await scimServer({ SLUICE_CORS_ORIGINS: '*' })

test('the configuration says what there is', async (t) => {
  const { ask } = await server.directory()
  const reply = await ask('GET', '/ServiceProviderConfig')
  t.equal(reply.headers['content-type'], 'application/scim+json')
  t.match(reply.json, {
    patch: { supported: true },
    bulk: { supported: false },
    filter: { supported: true, maxResults: 200 },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [{ type: 'oauthbearertoken' }],
  })
})

test('kinds of resources and schemas are listed and read one by one', async (t) => {
  const { ask } = await server.directory()
  for (const [path, ids] of [
    ['/ResourceTypes', ['User', 'Group']],
    ['/Schemas', [USER, ENTERPRISE, GROUP]],
  ] as const) {
    const { json } = await ask('GET', path)
    t.match(json, { totalResults: ids.length, itemsPerPage: ids.length, startIndex: 1 })
    t.strictSame(json.Resources.map(({ id }: Json) => id).sort(), [...ids].sort())
    for (const [at, id] of ids.entries()) {
      const one = await ask('GET', `${path}/${id}`)
      t.strictSame(
        one.json,
        json.Resources.find((each: Json) => each.id === id),
        `${path} ${at}`,
      )
    }
    t.equal((await ask('GET', `${path}/nothing`)).status, 404)
    t.equal((await ask('GET', `${path}?filter=id%20pr`)).status, 403, 'the standard wants it so')
  }
})

test('what is declared as missing answers 501', async (t) => {
  const { ask } = await server.directory()
  for (const [method, path] of [
    ['POST', '/Bulk'],
    ['POST', '/.search'],
    ['GET', '/Me'],
    ['PATCH', '/Me'],
    ['DELETE', '/Me'],
  ] as const) {
    const reply = await ask(method, path)
    t.equal(reply.status, 501, path)
    t.match(reply.json, { status: '501', detail: /.{10,}/ })
  }
})

test('paths in another case, with a slash behind them or by an old name are served, and nothing else is', async (t) => {
  const { ask } = await server.directory()
  const made = await ask('POST', '/users/', { body: userBody({ userName: 'u' }) })
  t.equal(made.status, 201)
  t.match(made.json.meta.location, `${SCIM}/Users/`, 'the address is the right one')
  const { id } = made.json
  const group = (await ask('POST', '/groups', { body: groupBody({ displayName: 'g' }) })).json.id
  const patch = patchBody({ op: 'replace', path: 'externalId', value: 'x' })
  for (const [method, path, status, body] of [
    ['GET', '/users', 200],
    ['GET', '/USERS/?count=1', 200],
    ['POST', '/users/.search', 200, {}],
    ['POST', '/groups/.search/', 200, {}],
    ['GET', `/users/${id}`, 200],
    ['GET', `/Users/${id}/`, 200],
    ['PUT', `/users/${id}/`, 200, userBody({ userName: 'v' })],
    ['PATCH', `/users/${id}`, 204, patch],
    ['PATCH', `/Groups/${group}/`, 204, patch],
    ['DELETE', `/groups/${group}/`, 204],
    ['GET', '/serviceConfiguration', 200],
    ['GET', '/ServiceProviderConfig/', 200],
    ['GET', '/schemas/', 200],
    ['GET', `/schemas/${USER}`, 200],
    ['GET', '/resourceTypes/User', 200],
    ['GET', '/people', 404],
    ['POST', '/schemas', 404, {}],
    ['GET', '/users//', 404],
    ['GET', `/users/${id}/x`, 404],
    ['PATCH', '/people/1', 404, patch],
    ['DELETE', '/Users', 405],
    ['POST', `/Users/${id}`, 405],
    ['PUT', '/users', 405],
  ] as const) {
    const reply = await ask(method, path, { body })
    t.equal(reply.status, status, `${method} ${path}: ${reply.text}`)
    if (status !== 204) t.equal(reply.headers['content-type'], 'application/scim+json', path)
  }
})

test('browsers of other origins are told nothing', async (t) => {
  const { ask } = await server.directory()
  const headers = { Origin: 'https://example.com', 'Access-Control-Request-Method': 'GET' }
  for (const [method, path] of [
    ['GET', '/Users'],
    ['OPTIONS', '/Users'],
    ['GET', '/nothing/at/all'],
  ] as const) {
    const reply = await ask(method, path, { headers })
    t.notOk(
      Object.keys(reply.headers).some((name) => name.startsWith('access-control-')),
      path,
    )
  }
  const elsewhere = await server.call('', 'GET', '/api/v1/models', undefined, headers)
  t.equal(elsewhere.headers['access-control-allow-origin'], '*')
})

test('HEAD is answered as GET, without a body', async (t) => {
  const { ask, user } = await server.directory()
  const { id } = await user({ userName: 'u' })
  const head = await ask('HEAD', `/Users/${id}`)
  t.equal(head.status, 200)
  t.equal(head.headers.etag, 'W/"1"')
  t.equal(head.text, '')
})
