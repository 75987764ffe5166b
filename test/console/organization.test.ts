/** Organizations, workspaces, members and directories, as an operator and a manager make and change them. */
import { randomUUID } from 'node:crypto'
import tap, { type Test, test } from 'tap'
import type { Json } from '../support/servers/gateway-server.js'
import { KEYS, MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

/** A server, a page that has signed in at a place, and the API beside it. */
async function at(t: Test, place: string) {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  await console.open(place)
  await console.signIn()
  const call = async (
    method: string,
    path: string,
    body?: object,
    key = MANAGEMENT_KEY,
  ): Promise<{ status: number; json: Json }> => {
    const answer = await fetch(`${url}${path.startsWith('/') ? path : `/api/v1/${path}`}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? {} : JSON.parse(text) }
  }
  return { console, page: console.page, call }
}

test('a workspace is made, renamed, kept by its key, and deleted without it', SKIP, async (t) => {
  const { console, page, call } = await at(t, 'workspaces?new=workspace')
  await page.getByRole('dialog').getByLabel('Name').fill('<b>Research</b>')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: '<b>Research</b>' }).click()
  await page.getByRole('heading', { level: 1, name: '<b>Research</b>' }).waitFor()
  t.equal(await page.locator('h1 b').count(), 0, 'words are words')
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Lab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Lab' }).waitFor()

  const { json } = await call('GET', 'workspaces')
  const { id } = json.data.find(({ name }: { name: string }) => name === 'Lab')
  const made = await call('POST', 'keys', { name: 'nightly', workspace_id: id })
  await page.reload()
  await page.getByRole('button', { name: 'Delete' }).click()
  const kept = page.getByRole('dialog', { name: 'Lab has keys' })
  await kept.getByText('Delete its keys first: nightly').waitFor()
  await kept.getByRole('link', { name: 'Its keys' }).click()
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
  t.match(page.url(), new RegExp(`workspace=${id}`), 'the keys of this workspace')
  await call('DELETE', `keys/${made.json.data.hash}`)

  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Lab' }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Lab is deleted').waitFor()
  await page.getByRole('heading', { level: 1, name: 'Workspaces' }).waitFor()
  t.equal((await call('GET', `workspaces/${id}`)).status, 404)
  t.same(console.problems, [])
})

test(
  'an organization is made with a key that is shown once and works, and its credits are set',
  SKIP,
  async (t) => {
    const { console, page, call } = await at(t, 'organizations?new=organization')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Acme')
    await dialog.getByLabel('Plan').selectOption('team')
    await dialog.getByLabel('Credits').fill('12.5')
    await page.keyboard.press('Enter')
    const shown = page.getByRole('dialog', { name: 'The management key of Acme' })
    const key = (await shown.locator('pre').innerText()).trim()
    t.equal((await call('GET', 'credits', undefined, key)).status, 200, 'it manages')
    await page.getByRole('button', { name: 'I have copied it' }).click()
    t.notOk((await page.content()).includes(key), 'shown once')
    await page.getByRole('row', { name: /^Acme team \$\s?12\.50/ }).waitFor()
    await page.getByRole('link', { name: 'Acme' }).click()
    await page.getByRole('heading', { level: 1, name: 'Acme' }).waitFor()
    const id = page.url().split('/').at(-1)
    t.match((await call('GET', `organizations/${id}`)).json.data, { plan: 'team', credits: 12.5 })
    await page.getByLabel('Credits').fill('')
    await page.getByLabel('Name').fill('Acme Labs')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Acme Labs is saved').waitFor()
    await page.getByText('no end', { exact: true }).waitFor()
    t.match((await call('GET', `organizations/${id}`)).json.data, { name: 'Acme Labs', credits: null })
    t.same(console.problems, [])
  },
)

test('a member gets a role that is told why and taken away, is deactivated and removed', SKIP, async (t) => {
  const { console, page, call } = await at(t, 'members?new=member')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('User name').fill('ada@example.com')
  await dialog.getByLabel('Shown as').fill('Ada')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor()
  const path = `members/${page.url().split('/').at(-1)}`
  const told = async () => (await call('GET', path)).json.data
  await page.getByRole('button', { name: 'Give a role' }).click()
  await dialog.getByLabel('Role').selectOption('admin')
  await dialog.getByRole('button', { name: 'Give' }).click()
  await page.getByRole('cell', { name: 'admin' }).waitFor()
  t.match(await told(), { roles: [{ role: 'admin' }] })
  await page.getByRole('button', { name: /^Why/ }).click()
  await dialog.getByText('given directly').waitFor()
  await dialog.getByRole('button', { name: 'Take the direct role away' }).click()
  await dialog.getByRole('button', { name: 'Take it away' }).click()
  await page.getByText('No role, so no workspace is open to this person.').waitFor()
  t.same((await told()).roles, [])
  await page.getByRole('button', { name: 'Deactivate' }).click()
  await page.getByText('Ada is deactivated').waitFor()
  t.match(await told(), { active: false })
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Ada is active').waitFor()
  t.match(await told(), { active: true })
  await page.getByRole('button', { name: 'Remove' }).click()
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await page.getByText('Ada is removed').waitFor()
  t.equal((await call('GET', path)).status, 404)
  await page.getByRole('link', { name: 'What a role may do' }).click()
  await page.getByLabel('Open to').selectOption('member')
  await page.getByRole('row', { name: /read_own_member|Read the member who calls/ }).waitFor()
  t.equal(await page.getByRole('row', { name: /Add a person whom no directory delivers/ }).count(), 0)
  t.same(console.problems, [])
})

test('a directory is connected, delivers a group that gives a role, and is disconnected', SKIP, async (t) => {
  const { console, page, call } = await at(t, 'directory?new=connection')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Okta')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Okta' }).waitFor()
  await page.getByText('no token', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Make a token' }).click()
  await dialog.getByRole('button', { name: 'Make' }).click()
  const token = (await page.getByRole('dialog', { name: 'The token' }).locator('pre').innerText()).trim()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  t.notOk((await page.content()).includes(token), 'shown once')
  const scim = async (method: string, path: string, body: object) =>
    (await call(method, `/api/v1/scim/v2/${path}`, body, token)).json
  const user = await scim('POST', 'Users', {
    schemas: [`${CORE}User`],
    userName: 'ada@example.com',
    active: true,
  })
  await scim('POST', 'Groups', {
    schemas: [`${CORE}Group`],
    displayName: '<b>Developers</b>',
    members: [{ value: user.id }],
  })
  await page.reload()
  await page.getByText('in sync', { exact: true }).waitFor()
  await page.getByRole('cell', { name: /^POST .*Groups/ }).waitFor()

  const roles = async () => (await call('GET', `members/${user.id}`)).json.data.roles
  await page.getByRole('link', { name: 'Directory' }).first().click()
  await page.getByRole('button', { name: 'Give <b>Developers</b> a role' }).click()
  await dialog.getByRole('button', { name: 'See who gains and loses' }).click()
  await dialog.getByText('1 gain and 0 lose by it').waitFor()
  t.same(await roles(), [], 'tried only')
  await dialog.getByRole('button', { name: 'Give the role' }).click()
  await page.getByRole('button', { name: 'Change the role of <b>Developers</b>' }).click()
  t.match(await roles(), [{ role: 'member' }])
  await dialog.getByLabel('The group is to').selectOption('admin')
  await dialog.getByRole('button', { name: 'See who gains and loses' }).click()
  await dialog.getByText('1 gain and 0 lose by it').waitFor()
  t.match(await roles(), [{ role: 'member' }], 'tried only')
  await dialog.getByRole('button', { name: 'Change the role' }).click()
  await page.getByRole('cell', { name: /^admin in/ }).waitFor()
  t.match(await roles(), [{ role: 'admin' }])

  await page.getByLabel('Find').fill('no such group')
  await page.getByText('No directory has sent a group like that.').waitFor()
  await page.getByLabel('Find').fill('DEV')
  await page.getByRole('link', { name: '<b>Developers</b>' }).click()
  await dialog.getByRole('link', { name: 'ada@example.com' }).click()
  await page.getByRole('heading', { level: 2, name: 'Groups' }).waitFor()
  await page.getByRole('link', { name: '<b>Developers</b>' }).click()
  await dialog.getByRole('cell', { name: 'active' }).waitFor()
  t.match(page.url(), /directory\?.*group=/, 'its address can be sent to others')
  await dialog.getByRole('button', { name: 'Close' }).click()

  await page.getByRole('link', { name: 'its changes' }).click()
  await page.getByRole('row', { name: /mapping\.update member → admin/ }).waitFor()
  t.equal(await page.locator('tbody tr').count(), 2, 'made and changed, and nothing of anything else')
  await page.goBack()
  await page.getByRole('link', { name: 'Okta' }).click()
  await page.getByRole('main').getByRole('link', { name: 'Audit' }).click()
  await page.getByRole('row', { name: /membership\.add/ }).waitFor()
  t.equal(await page.getByRole('cell', { name: /^mapping/ }).count(), 0, 'what the directory has done alone')
  await page.getByLabel('Show').selectOption('Changes')
  await page.getByRole('row', { name: /membership\.add/ }).waitFor({ state: 'detached' })
  t.notMatch(page.url(), /connection=/)
  await page.goBack()
  await page.getByRole('button', { name: /^Revoke/ }).click()
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('no token', { exact: true }).waitFor()
  t.equal((await call('GET', '/api/v1/scim/v2/Users', undefined, token)).status, 401)
  await page.getByRole('button', { name: 'Disconnect' }).click()
  await dialog.getByRole('button', { name: 'Disconnect' }).click()
  await page.getByText('Okta is disconnected').waitFor()
  t.same((await call('GET', 'scim-connections')).json.data, [])
  t.same(console.problems, [])
})

test(
  'the log of a directory goes on as it is scrolled, to the first request that is kept',
  SKIP,
  async (t) => {
    const { console, page, call } = await at(t, 'directory')
    const connection = (await call('POST', 'scim-connections', { name: 'Okta' })).json.data.id
    const { token } = (await call('POST', `scim-connections/${connection}/tokens`, {})).json
    for (let n = 0; n < 60; n++)
      await call('GET', `/api/v1/scim/v2/Users?startIndex=${n + 1}`, undefined, token)
    await eventually(async () => {
      const { total_count } = (await call('GET', `scim-connections/${connection}/requests`)).json
      return total_count === 60
    })
    await page.goto(page.url().replace(/directory.*/, `directory/${connection}`))
    await page.getByText('60', { exact: true }).waitFor()
    const rows = page.getByRole('region', { name: 'Last requests' }).locator('tbody tr')
    const first = rows.getByText(/startIndex=1$/)
    await rows.nth(49).waitFor()
    t.equal(await first.count(), 0, 'not on the first page')
    await rows.nth(49).scrollIntoViewIfNeeded()
    await first.waitFor()
    t.equal(await rows.count(), 60)
    t.same(console.problems, [])
  },
)

test('removals that are more than usual wait on the screen until they are approved', SKIP, async (t) => {
  const { console, page, call } = await at(t, 'directory')
  const connection = (await call('POST', 'scim-connections', { name: 'Okta' })).json.data.id
  const { token } = (await call('POST', `scim-connections/${connection}/tokens`, {})).json
  const scim = async (method: string, path: string, body: object) =>
    (await call(method, `/api/v1/scim/v2/${path}`, body, token)).json
  const people: string[] = []
  for (const userName of ['ada', 'bob', 'eve'])
    people.push((await scim('POST', 'Users', { schemas: [`${CORE}User`], userName, active: true })).id)
  const group = await scim('POST', 'Groups', {
    schemas: [`${CORE}Group`],
    displayName: 'Developers',
    members: people.map((value) => ({ value })),
  })
  const workspace = (await call('GET', 'workspaces')).json.data[0].id
  const gives = { scim_group_id: group.id, workspace_id: workspace, role: 'member' }
  await call('POST', 'scim/group-mappings', gives)

  await page.goto(page.url().replace(/directory.*/, `directory/${connection}`))
  await page.getByRole('button', { name: 'Change' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Hold removals beyond').fill('10')
  await dialog.getByLabel('But never up to').fill('1')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('10 % of a group, and not before 1 removals', { exact: true }).waitFor()
  await scim('PATCH', `Groups/${group.id}`, {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: [{ op: 'remove', path: 'members' }],
  })
  const withRole = async () => (await call('GET', `members?workspace_id=${workspace}`)).json.total_count
  t.ok((await withRole()) > 0, 'they keep it')
  await page.reload()
  await page.getByRole('heading', { level: 2, name: 'Removals that wait' }).waitFor()
  await page.getByRole('button', { name: 'Approve all' }).click()
  await dialog.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('The removals count', { exact: true }).waitFor()
  await page.getByRole('heading', { level: 2, name: 'Removals that wait' }).waitFor({ state: 'detached' })
  t.equal(await withRole(), 0)
  t.same(console.problems, [])
})

test(
  'groups have their names beyond the first page, and their mappings are on the next page',
  SKIP,
  async (t) => {
    const { console, page, call } = await at(t, 'directory')
    const workspace = (await call('GET', 'workspaces')).json.data[0].id
    for (let number = 1; number <= 101; number++) {
      const group = randomUUID()
      await call('PUT', `scim/groups/${group}`, { display_name: `Team ${number}`, members: [] })
      const gives = { scim_group_id: group, workspace_id: workspace, role: 'member' }
      t.equal((await call('POST', 'scim/group-mappings', gives)).status, 201)
    }
    await page.reload()
    const last = page.getByRole('button', { name: 'Change the role of Team 101', exact: true })
    await page.getByRole('button', { name: 'Change the role of Team 100', exact: true }).waitFor()
    t.equal(await last.count(), 0)
    await page.getByRole('button', { name: 'Show more' }).last().scrollIntoViewIfNeeded()
    await last.waitFor()
    await page.getByRole('button', { name: 'Give a group a role' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('SCIM id of the group').fill(randomUUID())
    await dialog.getByRole('button', { name: 'See who gains and loses' }).click()
    await dialog.getByText('Nobody’s role would become another one.').waitFor()
    await dialog.getByRole('button', { name: 'Give the role' }).click()
    await page.getByText('What the group gives is changed').waitFor()
    t.equal((await call('GET', 'scim/group-mappings')).json.total_count, 102, 'also before it is delivered')
    t.same(console.problems, [])
  },
)

const CORE = 'urn:ietf:params:scim:schemas:core:2.0:'
