/** What Okta sends, request for request, as its published guide to SCIM 2.0 servers has it. */
import { test } from 'tap'
import { GROUP, USER } from '../../support/schemas/scim-bodies.js'
import type { Json } from '../../support/servers/gateway-server.js'
import { scimServer } from '../../support/servers/scim-server.js'
import { eventually } from '../../support/timing/eventually.js'

const server = await scimServer()
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const patch = (...Operations: object[]) => ({ body: { schemas: [PATCH], Operations } })

/** The body of a user as Okta makes it, with what servers ignore. */
const userOf = (name: string) => ({
  schemas: [USER],
  userName: `${name}@okta.example`,
  name: { givenName: name, familyName: 'User' },
  emails: [{ primary: true, value: `${name}@okta.example`, type: 'work' }],
  displayName: `${name} User`,
  locale: 'en-US',
  externalId: `00u${name}`,
  groups: [],
  password: '1mz050nq',
  active: true,
})

test('users are imported in pages', async (t) => {
  const { ask, user } = await server.directory()
  t.match((await ask('GET', '/Users?startIndex=1&count=100')).json, { totalResults: 0, itemsPerPage: 0 })
  const names = ['a', 'b', 'c']
  for (const name of names) await user({ userName: name })
  t.match((await ask('GET', '/Users?startIndex=1&count=2')).json, {
    totalResults: 3,
    itemsPerPage: 2,
    startIndex: 1,
  })
  t.match((await ask('GET', '/Users?startIndex=3&count=2')).json, {
    totalResults: 3,
    itemsPerPage: 1,
    startIndex: 3,
  })
})

test('a person is looked up, created, read, replaced and deactivated, and never shows a password', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  const query = `/Users?filter=${encodeURIComponent('userName eq "ada@okta.example"')}&startIndex=1&count=100`
  t.equal((await ask('GET', query)).json.totalResults, 0)
  const made = await ask('POST', '/Users', { body: userOf('ada') })
  t.equal(made.status, 201, made.text)
  t.notMatch(made.text, '1mz050nq')
  const { id } = made.json
  t.equal((await ask('POST', '/Users', { body: userOf('ada') })).status, 409)
  t.match((await ask('GET', query)).json, { totalResults: 1, Resources: [{ id, externalId: '00uada' }] })
  const { groups: _, password: _1, ...shown } = userOf('ada')
  t.match((await ask('GET', `/Users/${id}`)).json, shown)

  const { active: _2, ...silent } = userOf('ada')
  const replaced = await ask('PUT', `/Users/${id}`, {
    body: { ...silent, id, name: { givenName: 'Ada', familyName: 'King' }, meta: { resourceType: 'User' } },
  })
  t.equal(replaced.status, 200)
  t.match(replaced.json, { id, name: { givenName: 'Ada', familyName: 'King' }, active: true })

  const off = await ask('PATCH', `/Users/${id}`, patch({ op: 'replace', value: { active: false } }))
  t.equal(off.status, 204)
  t.equal((await ask('GET', `/Users/${id}`)).json.active, false)
  await ask('PUT', `/Users/${id}`, { body: silent })
  t.equal((await ask('GET', `/Users/${id}`)).json.active, false, 'a PUT that does not say so lets nobody in')
  t.equal((await ask('PATCH', `/Users/${id}`, patch({ op: 'replace', value: { active: true } }))).status, 204)
  t.equal((await ask('GET', `/Users/${id}`)).json.active, true)
  await eventually(async () => (await directory.manage('GET', '/requests')).json.total_count >= 12)
  const { data } = (await directory.manage('GET', '/quirks')).json
  const quirks = data.map(({ name }: Json) => name)
  for (const name of ['pathless-patch', 'put-without-active']) t.ok(quirks.includes(name), name)
})

test('an unknown person is 404 in the words of the standard', async (t) => {
  const { ask } = await server.directory()
  const reply = await ask('GET', '/Users/abcdefgh')
  t.equal(reply.status, 404)
  t.match(reply.json, { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '404' })
})

test('a group is pushed, filled by its members, renamed, replaced and removed', async (t) => {
  const { ask, user } = await server.directory()
  const people = [await user(userOf('ada')), await user(userOf('bob')), await user(userOf('eve'))]
  const [ada, bob, eve] = people.map(({ id, userName }) => ({ value: id, display: userName }))
  const made = await ask('POST', '/Groups', {
    body: { schemas: [GROUP], displayName: 'Pushed', members: [ada] },
  })
  t.equal(made.status, 201, made.text)
  const { id } = made.json
  const members = async (): Promise<string[]> =>
    ((await ask('GET', `/Groups/${id}`)).json.members ?? []).map(({ display }: Json) => display).sort()
  t.strictSame(await members(), ['ada@okta.example'], 'shown as Okta shows them')
  const rename = patch({ op: 'replace', value: { id, displayName: 'Renamed' } })
  t.equal((await ask('PATCH', `/Groups/${id}`, rename)).status, 204)
  t.equal((await ask('GET', `/Groups/${id}?excludedAttributes=members`)).json.displayName, 'Renamed')
  const both = patch(
    { op: 'remove', path: `members[value eq "${ada!.value}"]` },
    { op: 'add', path: 'members', value: [bob, eve] },
  )
  t.equal((await ask('PATCH', `/Groups/${id}`, both)).status, 204)
  t.strictSame(await members(), ['bob@okta.example', 'eve@okta.example'])
  const set = patch({ op: 'replace', path: 'members', value: [ada] })
  t.equal((await ask('PATCH', `/Groups/${id}`, set)).status, 204)
  t.strictSame(await members(), ['ada@okta.example'])
  const put = { schemas: [GROUP], id, displayName: 'Pushed again', members: [eve] }
  t.equal((await ask('PUT', `/Groups/${id}`, { body: put })).status, 200)
  t.strictSame(await members(), ['eve@okta.example'])
  const query = `/Groups?filter=${encodeURIComponent('displayName eq "Pushed again"')}&startIndex=1&count=100`
  t.equal((await ask('GET', query)).json.totalResults, 1)
  t.equal((await ask('DELETE', `/Groups/${id}`)).status, 204)
  t.equal((await ask('GET', '/Groups?startIndex=1&count=100')).json.totalResults, 0)
})
