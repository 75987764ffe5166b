/**
 * What Microsoft Entra ID sends, request for request, as its published guide to SCIM endpoints and the traffic of
 * provisioning jobs have it; with and without the flag that makes it keep to the standard.
 */
import { test } from 'tap'
import { ENTERPRISE, GROUP, USER } from '../../support/schemas/scim-bodies.js'
import { type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'
import { type Directory, scimServer } from '../../support/servers/scim-server.js'
import { eventually } from '../../support/timing/eventually.js'

const server = await scimServer()
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const patch = (...Operations: object[]) => ({ body: { schemas: [PATCH], Operations } })
const filtered = (path: string, filter: string, more = ''): string =>
  `${path}?filter=${encodeURIComponent(filter)}${more}`

/** The body of a user as a default mapping of attributes makes it. */
const userOf = (name: string) => ({
  schemas: [USER, ENTERPRISE],
  externalId: name,
  userName: `${name}@contoso.example`,
  active: true,
  addresses: [
    {
      primary: false,
      type: 'work',
      country: 'US',
      formatted: '',
      locality: '',
      postalCode: '',
      region: '',
      streetAddress: '',
    },
  ],
  displayName: `The ${name}`,
  emails: [{ primary: true, type: 'work', value: `${name}@contoso.example` }],
  meta: { resourceType: 'User' },
  name: { familyName: 'Doe', formatted: `${name} Doe`, givenName: name },
  phoneNumbers: [{ primary: true, type: 'work', value: '5555-0100' }],
  preferredLanguage: 'en-US',
  title: 'Engineer',
  [ENTERPRISE]: { employeeNumber: '7', department: 'Research', manager: '' },
})

async function quirksOf(directory: Directory, requests: number): Promise<string[]> {
  await eventually(async () => (await directory.manage('GET', '/requests')).json.total_count >= requests)
  return (await directory.manage('GET', '/quirks')).json.data.map(({ name }: Json) => name).sort()
}

test('the test of a connection finds nobody, and that is success', async (t) => {
  const { ask } = await server.directory()
  const reply = await ask('GET', filtered('/Users', 'userName eq "1b2d4c1e-9b0f-4a7e-b1a3-2f6f3a1f5c11"'))
  t.equal(reply.status, 200)
  t.match(reply.json, { totalResults: 0, startIndex: 1, itemsPerPage: 0 })
  t.strictSame(reply.json.Resources, [])
})

test('a job matches, creates, changes, disables and removes a person', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  t.equal((await ask('GET', filtered('/Users', 'userName eq "ada@contoso.example"'))).json.totalResults, 0)
  const made = await ask('POST', '/Users', { body: userOf('ada') })
  t.equal(made.status, 201, made.text)
  const { id } = made.json
  const found = await ask('GET', filtered('/Users', 'userName eq "ada@contoso.example"'))
  t.strictSame(
    found.json.Resources.map((each: Json) => each.id),
    [id],
  )
  const byExternal = await ask('GET', filtered('/Users', 'externalId eq "ada"'))
  t.equal(byExternal.json.totalResults, 1)

  const changed = await ask(
    'PATCH',
    `/Users/${id}`,
    patch(
      { op: 'Replace', path: 'displayName', value: 'Ada King' },
      { op: 'Add', path: 'emails[type eq "work"].value', value: 'ada.king@contoso.example' },
      { op: 'Replace', path: 'name.familyName', value: 'King' },
      { op: 'Replace', path: `${ENTERPRISE}:department`, value: 'Analysis' },
      { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '5555-0199' },
      { op: 'Remove', path: 'title' },
    ),
  )
  t.equal(changed.status, 204, changed.text)
  const now = (await ask('GET', `/Users/${id}`)).json
  t.match(now, {
    displayName: 'Ada King',
    name: { familyName: 'King', givenName: 'ada' },
    emails: [{ type: 'work', value: 'ada.king@contoso.example' }],
    [ENTERPRISE]: { department: 'Analysis', employeeNumber: '7' },
  })
  t.notOk('title' in now)
  t.strictSame(
    now.phoneNumbers.map(({ type, value }: Json) => [type, value]),
    [
      ['work', '5555-0100'],
      ['mobile', '5555-0199'],
    ],
  )

  t.equal(
    (await ask('PATCH', `/Users/${id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))).status,
    204,
  )
  t.equal((await ask('GET', `/Users/${id}`)).json.active, false, 'soft deletion')
  t.equal(
    (await ask('PATCH', `/Users/${id}`, patch({ op: 'Replace', path: 'active', value: 'True' }))).status,
    204,
  )
  t.equal((await ask('GET', `/Users/${id}`)).json.active, true, 'restored')
  t.equal((await ask('DELETE', `/Users/${id}`)).status, 204)
  t.equal((await ask('DELETE', `/Users/${id}`)).status, 404)
  const quirks = await quirksOf(directory, 11)
  for (const name of ['boolean-as-text', 'capitalized-op', 'value-path-creates'])
    t.ok(quirks.includes(name), name)
})

test('with the flag it keeps to the standard: one operation without a path, and keys with the name of the schema', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  const { id } = (await ask('POST', '/Users?aadOptscim062020', { body: userOf('bob') })).json
  const value = {
    displayName: 'Bob',
    [`${ENTERPRISE}:department`]: 'Sales',
    'name.givenName': 'Robert',
    active: false,
  }
  t.equal((await ask('PATCH', `/Users/${id}?aadOptscim062020`, patch({ op: 'replace', value }))).status, 204)
  t.match((await ask('GET', `/Users/${id}?aadOptscim062020`)).json, {
    displayName: 'Bob',
    name: { givenName: 'Robert', familyName: 'Doe' },
    active: false,
    [ENTERPRISE]: { department: 'Sales', employeeNumber: '7' },
  })
  const quirks = await quirksOf(directory, 3)
  t.notOk(quirks.includes('boolean-as-text'))
  for (const name of ['colon-key', 'dotted-key']) t.ok(quirks.includes(name), name)
})

test('a group is matched by name, created empty, filled and emptied one by one, and removed', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  const users = [await directory.user(userOf('ada')), await directory.user(userOf('bob'))]
  const query = filtered('/Groups', 'displayName eq "Engineering"', '&excludedAttributes=members')
  t.equal((await ask('GET', query)).json.totalResults, 0)
  const made = await ask('POST', '/Groups', {
    body: {
      schemas: [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: 'Engineering',
      meta: { resourceType: 'Group' },
    },
  })
  t.equal(made.status, 201, made.text)
  const { id } = made.json
  t.notOk('members' in made.json)
  t.strictSame(
    (await ask('GET', query)).json.Resources.map((each: Json) => each.id),
    [id],
  )
  t.equal((await ask('GET', `/Groups/${id}?excludedAttributes=members`)).status, 200)
  for (const user of users) {
    const add = patch({ op: 'Add', path: 'members', value: [{ $ref: null, value: user.id }] })
    t.equal((await ask('PATCH', `/Groups/${id}`, add)).status, 204)
  }
  const isIn = async (user: Json): Promise<boolean> => {
    const reply = await ask(
      'GET',
      filtered('/Groups', `id eq "${id}" and members eq "${user.id}"`, '&attributes=id'),
    )
    return reply.json.totalResults === 1
  }
  t.ok(await isIn(users[0]))
  t.ok(await isIn(users[1]))
  const remove = patch({ op: 'Remove', path: 'members', value: [{ $ref: null, value: users[0].id }] })
  t.equal((await ask('PATCH', `/Groups/${id}`, remove)).status, 204)
  t.notOk(await isIn(users[0]))
  t.ok(await isIn(users[1]), 'only whom the value names')
  const rename = patch({ op: 'Replace', path: 'displayName', value: 'Research' })
  t.equal((await ask('PATCH', `/Groups/${id}`, rename)).status, 204)
  t.equal((await ask('DELETE', `/Groups/${id}`)).status, 204)
  const quirks = await quirksOf(directory, 15)
  t.ok(quirks.includes('remove-with-value'))
})

test('a manager is an id, which comes as a text and is taken away as an empty one', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  const [boss, ada] = [await directory.user(userOf('boss')), await directory.user(userOf('ada'))]
  const set = (value: unknown) => patch({ op: 'Add', path: `${ENTERPRISE}:manager`, value })
  t.equal((await ask('PATCH', `/Users/${ada.id}`, set(boss.id))).status, 204)
  t.equal((await ask('GET', `/Users/${ada.id}`)).json[ENTERPRISE].manager.value, boss.id)
  const remove = patch({ op: 'Remove', path: `${ENTERPRISE}:manager` })
  t.equal((await ask('PATCH', `/Users/${ada.id}`, remove)).status, 204)
  t.notOk('manager' in ((await ask('GET', `/Users/${ada.id}`)).json[ENTERPRISE] ?? {}))
  t.ok((await quirksOf(directory, 6)).includes('manager-as-text'))
})

test('who is provisioned into a mapped group manages the workspace, until the job takes the person out', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  const manage = (method: string, path: string, body?: unknown) =>
    server.call(MANAGEMENT_KEY, method, `/api/v1${path}`, body)
  const ada = await directory.user(userOf('ada'))
  const group = await directory.group('Admins')
  const workspace_id = (await manage('POST', '/workspaces', { name: 'research' })).json.data.id
  await manage('POST', '/scim/group-mappings', { scim_group_id: group.id, workspace_id, role: 'admin' })
  const wish = { name: 'mine', creator_user_id: ada.id, workspace_id }
  const { key } = (await manage('POST', '/keys', wish)).json
  const status = async () => (await server.call(key, 'GET', '/api/v1/keys')).status
  t.equal(await status(), 401, 'without a role the key is good for nothing')
  await ask('PATCH', `/Groups/${group.id}`, patch({ op: 'Add', path: 'members', value: [{ value: ada.id }] }))
  t.equal(await status(), 200)
  await ask('PATCH', `/Users/${ada.id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))
  t.equal(await status(), 401)
})
