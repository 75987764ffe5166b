/** contract/directory 2: people of a connection, as RFC 7644 section 3 has them. */
import { randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import type { HttpReply } from '../../support/clients/http-client.js'
import { ENTERPRISE, patchBody, USER, userBody } from '../../support/schemas/scim-bodies.js'
import { SCIM, scimServer } from '../../support/servers/scim-server.js'

const server = await scimServer()
const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** An error as RFC 7644 section 3.12 has it. */
function refused(t: Test, reply: HttpReply, status: number, scimType?: string): void {
  t.equal(reply.status, status, reply.text)
  t.equal(reply.headers['content-type'], 'application/scim+json')
  const { schemas, status: told, detail, ...rest } = reply.json
  t.strictSame(schemas, ['urn:ietf:params:scim:api:messages:2.0:Error'])
  t.equal(told, String(status), 'as text')
  t.match(detail, /^.{10,}/)
  t.strictSame(rest, scimType === undefined ? {} : { scimType })
}

test('a user is created, read, replaced, changed and removed', async (t) => {
  const { ask } = await server.directory()
  const body = userBody({
    schemas: [USER, ENTERPRISE],
    userName: 'Ada@Example.com',
    externalId: 'e-1',
    name: { givenName: 'Ada', familyName: 'Lovelace' },
    emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
    [ENTERPRISE]: { department: 'Research' },
  })
  const made = await ask('POST', '/Users', { body })
  t.equal(made.status, 201, made.text)
  t.equal(made.headers['content-type'], 'application/scim+json')
  const { id, meta, ...rest } = made.json
  t.match(id, UUID_7)
  t.strictSame(rest, { ...body, active: true }, 'active unless the directory says otherwise')
  const location = `${server.baseUrl}${SCIM}/Users/${id}`
  t.equal(meta.resourceType, 'User')
  t.equal(new URL(meta.location).pathname, new URL(location).pathname)
  t.equal(made.headers.location, meta.location)
  t.match(meta.created, INSTANT)
  t.equal(meta.lastModified, meta.created)
  t.equal(meta.version, 'W/"1"')
  t.equal(made.headers.etag, meta.version)

  const read = await ask('GET', `/Users/${id}`)
  t.equal(read.status, 200)
  t.strictSame(read.json, made.json)
  t.equal(read.headers.etag, 'W/"1"')
  t.strictSame((await ask('GET', `/Users/${id.toUpperCase()}`)).json, made.json)

  const replaced = await ask('PUT', `/Users/${id}`, {
    body: userBody({ userName: 'ada@example.com', active: false }),
  })
  t.equal(replaced.status, 200)
  const { meta: later, ...cleared } = replaced.json
  t.strictSame(cleared, { schemas: [USER], id, userName: 'ada@example.com', active: false })
  t.equal(later.version, 'W/"2"')
  t.equal(later.created, meta.created)

  const again = await ask('PUT', `/Users/${id}`, { body: userBody({ userName: 'ada@example.com' }) })
  t.equal(again.json.active, false, 'PUT without active keeps it')
  t.equal(again.headers.etag, 'W/"2"', 'the same once more is no other version')

  const patched = await ask('PATCH', `/Users/${id}`, {
    body: patchBody({ op: 'replace', path: 'active', value: true }),
  })
  t.equal(patched.status, 204)
  t.equal(patched.text, '')
  t.equal(patched.headers.etag, 'W/"3"')
  t.equal((await ask('GET', `/Users/${id}`)).json.active, true)

  const removed = await ask('DELETE', `/Users/${id}`)
  t.equal(removed.status, 204)
  t.equal(removed.text, '')
  for (const [method, sent] of [
    ['GET', undefined],
    ['PUT', userBody({ userName: 'x' })],
    ['PATCH', patchBody({ op: 'replace', path: 'active', value: true })],
    ['DELETE', undefined],
  ] as const) {
    refused(t, await ask(method, `/Users/${id}`, { body: sent }), 404)
  }
  t.equal((await ask('GET', '/Users')).json.totalResults, 0)
})

test('PATCH answers 200 with the resource to who says what to show of it', async (t) => {
  const { ask, user } = await server.directory()
  const { id } = await user({ userName: 'u', title: 'Boss' })
  const body = patchBody({ op: 'replace', path: 'title', value: 'Chief' })
  const shown = await ask('PATCH', `/Users/${id}?attributes=title`, { body })
  t.equal(shown.status, 200)
  t.strictSame(shown.json, { schemas: [USER], id, title: 'Chief' })
  const most = await ask('PATCH', `/Users/${id}?excludedAttributes=title,meta`, { body })
  t.strictSame(most.json, { schemas: [USER], id, userName: 'u', active: true })
  const made = await ask('POST', '/Users?attributes=userName', { body: userBody({ userName: 'v' }) })
  t.strictSame(Object.keys(made.json).sort(), ['id', 'schemas', 'userName'])
})

test('a userName is one of a connection, whatever its case and form; an externalId may be of several', async (t) => {
  const { ask, user } = await server.directory()
  const { id } = await user({ userName: 'Zoë@example.com', externalId: 'same' })
  const other = await user({ userName: 'other', externalId: 'same' })
  for (const userName of ['Zoë@example.com', 'ZOË@EXAMPLE.COM', 'zoe\u0308@example.com']) {
    refused(t, await ask('POST', '/Users', { body: userBody({ userName }) }), 409, 'uniqueness')
    refused(t, await ask('PUT', `/Users/${other.id}`, { body: userBody({ userName }) }), 409, 'uniqueness')
    const body = patchBody({ op: 'replace', path: 'userName', value: userName })
    refused(t, await ask('PATCH', `/Users/${other.id}`, { body }), 409, 'uniqueness')
  }
  const renamed = await ask('PUT', `/Users/${id}`, { body: userBody({ userName: 'ZOË@example.com' }) })
  t.equal(renamed.json.userName, 'ZOË@example.com', 'its own name in another case')
  const query = '/Users?filter=externalId%20eq%20%22same%22'
  t.equal((await ask('GET', query)).json.totalResults, 1, 'the PUT has taken the other one away')
  t.equal((await ask('DELETE', `/Users/${id}`)).status, 204)
  await user({ userName: 'zoë@example.com' })
})

test('a version that has changed is not changed on', async (t) => {
  const { ask, user } = await server.directory()
  const { id } = await user({ userName: 'u' })
  const path = `/Users/${id}`
  const body = patchBody({ op: 'replace', path: 'title', value: 'x' })
  const put = userBody({ userName: 'u' })
  const stale = [
    { 'If-Match': 'W/"7"' },
    { 'If-Match': '"x"' },
    { 'If-Match': 'nonsense' },
    { 'If-None-Match': '*' },
  ]
  for (const headers of stale) {
    refused(t, await ask('PATCH', path, { headers, body }), 412)
    refused(t, await ask('PUT', path, { headers, body: put }), 412)
    refused(t, await ask('DELETE', path, { headers }), 412)
  }
  t.equal((await ask('PATCH', path, { headers: { 'If-Match': 'W/"9", W/"1"' }, body })).status, 204)
  t.equal((await ask('PUT', path, { headers: { 'If-Match': '"2"' }, body: put })).status, 200)
  t.equal((await ask('PATCH', path, { headers: { 'If-Match': '*' }, body })).status, 204)
  const known = await ask('GET', path, { headers: { 'If-None-Match': 'W/"4"' } })
  t.equal(known.status, 304)
  t.equal(known.text, '')
  t.equal(known.headers.etag, 'W/"4"')
  t.equal((await ask('GET', path, { headers: { 'If-None-Match': 'W/"3"' } })).status, 200)
  t.equal((await ask('DELETE', path, { headers: { 'If-Match': 'W/"4"' } })).status, 204)
})

test('of writers who name the same version one wins', async (t) => {
  const { ask, user } = await server.directory()
  const { id } = await user({ userName: 'u' })
  const body = (value: string) => patchBody({ op: 'replace', path: 'title', value })
  const writers = ['a', 'b', 'c', 'd'].map((value) =>
    ask('PATCH', `/Users/${id}`, { headers: { 'If-Match': 'W/"1"' }, body: body(value) }),
  )
  const statuses = (await Promise.all(writers)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 204).length, 1)
  // Machines that change the same record at once may have to send a writer away for a second.
  t.ok(
    statuses.every((status) => [204, 412, 503].includes(status)),
    statuses.join(),
  )
  t.equal((await ask('GET', `/Users/${id}`)).headers.etag, 'W/"2"')
})

test('of two who take the same name at once one gets it', async (t) => {
  const { ask } = await server.directory()
  const takers = Array.from({ length: 6 }, () =>
    ask('POST', '/Users', { body: userBody({ userName: 'one' }) }),
  )
  const statuses = (await Promise.all(takers)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 201).length, 1)
  t.ok(
    statuses.every((status) => [201, 409, 503].includes(status)),
    statuses.join(),
  )
  t.equal((await ask('GET', '/Users')).json.totalResults, 1)
})

test('bodies come as either media type, or as none, and nothing else is taken', async (t) => {
  const { ask } = await server.directory()
  const sent = (type: string, userName: string) =>
    ask('POST', '/Users', { headers: { 'Content-Type': type }, body: userBody({ userName }) })
  for (const type of [
    'application/scim+json',
    'application/json',
    'application/scim+json; charset=utf-8',
    '',
  ])
    t.equal((await sent(type, `u${type}`)).status, 201, type)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml'])
    refused(t, await sent(type, type), 400, 'invalidSyntax')
})

test('what is no user, no PATCH or no JSON is 400 with its keyword, and changes nothing', async (t) => {
  const { ask, user } = await server.directory()
  const { id } = await user({ userName: 'u' })
  const bodies: [string, string, unknown, string][] = [
    ['POST', '/Users', '{', 'invalidSyntax'],
    ['POST', '/Users', '[]', 'invalidSyntax'],
    ['POST', '/Users', '"x"', 'invalidSyntax'],
    ['POST', '/Users', '', 'invalidSyntax'],
    ['POST', '/Users', userBody({}), 'invalidValue'],
    ['POST', '/Users', userBody({ userName: '' }), 'invalidValue'],
    ['POST', '/Users', userBody({ userName: ['a', 'b'] }), 'invalidValue'],
    ['PUT', `/Users/${id}`, userBody({ userName: null }), 'invalidValue'],
    ['PATCH', `/Users/${id}`, {}, 'invalidSyntax'],
    ['PATCH', `/Users/${id}`, patchBody({ op: 'burn', path: 'title' }), 'invalidSyntax'],
    ['PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'id', value: 'x' }), 'mutability'],
    ['PATCH', `/Users/${id}`, patchBody({ op: 'remove', path: 'userName' }), 'mutability'],
    ['PATCH', `/Users/${id}`, patchBody({ op: 'remove' }), 'noTarget'],
    ['PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'emails[', value: 'x' }), 'invalidPath'],
  ]
  for (const [method, path, body, scimType] of bodies) {
    const reply = await ask(method, path, { body })
    t.match(reply.json, { status: '400', scimType }, `${method} ${JSON.stringify(body)}`)
  }
  t.equal((await ask('GET', '/Users')).json.totalResults, 1)
  t.equal((await ask('GET', `/Users/${id}`)).headers.etag, 'W/"1"')
})

test('operations of one PATCH are done all or none', async (t) => {
  const { ask, user } = await server.directory()
  const { id } = await user({ userName: 'u' })
  const body = patchBody(
    { op: 'replace', path: 'title', value: 'done' },
    { op: 'replace', path: 'meta.created', value: 'x' },
  )
  refused(t, await ask('PATCH', `/Users/${id}`, { body }), 400, 'mutability')
  t.notOk('title' in (await ask('GET', `/Users/${id}`)).json)
})

test('ids that are none are 404', async (t) => {
  const { ask } = await server.directory()
  for (const id of ['x', randomUUID(), '%00', 'a%2Fb', 'x'.repeat(2_000)])
    refused(t, await ask('GET', `/Users/${id}`), 404)
})
