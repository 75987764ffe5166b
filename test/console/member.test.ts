/** Members in the console: they come from the provider of their organization, and see what their roles allow. */
import tap, { type Test } from 'tap'
import { startPeopleProvider } from '../support/providers/people-provider.js'
import type { Json } from '../support/servers/gateway-server.js'
import { SignInBench } from '../support/servers/sign-in-bench.js'
import { ConsoleBrowser, type ConsolePage, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

/** An organization with a provider, a plain member, an admin, somebody without a role, and a key that is nobody's. */
async function world(lifetime: Test) {
  const bench = await SignInBench.start(lifetime, { SLUICE_WORKERS: '1' })
  // Another site than the server's, as an identity provider is.
  const people = await startPeopleProvider(lifetime, { host: 'localhost' })
  const organization = await bench.newOrganization()
  const directory = await bench.newDirectory(organization)
  const provider = await bench.newProvider(organization, directory, {}, people)
  const manage = async (method: string, path: string, body?: object): Promise<Json> =>
    (await bench.manage(method, path, body, organization.key)).json
  const [{ id: workspace }] = (await manage('GET', '/workspaces')).data
  const add = async (name: string, role?: 'member' | 'admin'): Promise<string> => {
    const id = await bench.addPerson(directory, `${name}@example.com`, name)
    if (role) await manage('PUT', `/members/${id}/roles/${workspace}`, { role })
    return id
  }
  const ids = { ann: await add('ann', 'member'), bob: await add('bob', 'admin'), eve: await add('eve') }
  const others = await manage('POST', '/keys', { name: 'nightly', workspace_id: workspace })

  /** A call with a key: its status, and its generation where there is one. */
  const ask = async (key: string): Promise<{ status: number; id: string | null }> => {
    const body = { model: 'sim/fast', max_tokens: 4, messages: [{ role: 'user', content: 'hello' }] }
    const answer = await bench.server.post('/chat/completions', body, { key })
    await answer.arrayBuffer()
    return { status: answer.status, id: answer.headers.get('X-Generation-Id') }
  }

  /** A page whose person has come back from the provider. */
  const comeIn = async (t: Test, account: keyof typeof ids): Promise<ConsolePage> => {
    const console = await browser.page(t, bench.server.baseUrl)
    people.account = account
    await console.open(`overview?sign_in=${provider}`)
    await console.page.getByRole('link', { name: 'Sign in with your organization' }).press('Enter')
    await console.page.locator('main#content').waitFor()
    return console
  }

  /** What the browser has complained of, but for the way to the provider. */
  const problemsOf = ({ problems }: ConsolePage): string[] =>
    problems.filter((each) => !each.startsWith(`asked ${people.issuer}/`))
  return { ids, others, ask, comeIn, problemsOf }
}

const screensOf = ({ page }: ConsolePage): Promise<string[]> =>
  page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allInnerTexts()

/** Opens each place by its address, and wants to be told that it is for others. */
async function refused(console: ConsolePage, places: readonly string[]): Promise<void> {
  for (const place of places) {
    await console.open(place)
    await console.page.getByRole('heading', { name: 'This screen is not for you' }).waitFor()
  }
}

void tap.test('members of one organization', SKIP, async (t) => {
  const { ids, others, ask, comeIn, problemsOf } = await world(t)
  const theirs = await ask(others.key)
  let mine = ''

  await t.test('a member plays with a key of its own, and sees its own keys and calls alone', async (t) => {
    const console = await comeIn(t, 'ann')
    const { page } = console
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const screens = [
      'Overview',
      'Generations',
      'Usage',
      'Playground',
      'Models',
      'Tools and plugins',
      'Keys',
      'Workspaces',
    ]
    t.same(await screensOf(console), screens)
    await page.getByRole('button', { name: 'Account: ann@example.com' }).click()
    await page.getByText('Member · acme').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Screen, action or record' }).fill('create')
    t.same(await page.getByRole('option').allInnerTexts(), ['Create a key\nKeys'], 'nothing else to create')
    await page.keyboard.press('Enter')

    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('of ann')
    await page.keyboard.press('Enter')
    mine = (await dialog.locator('pre').innerText()).trim()
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('link', { name: /^of ann/ }).waitFor()
    t.equal(await page.locator('tbody tr').count(), 1, 'the key of the others is not listed')

    await page.getByRole('link', { name: 'Playground' }).click()
    await page.getByLabel('Model', { exact: true }).selectOption('sim/standard')
    t.equal(await page.getByLabel('Paid by').count(), 0, 'no session of a member pays')
    await page.getByLabel('Key', { exact: true }).fill(mine)
    await page.getByLabel('Your message').fill('Say hello.')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Its row' }).click()
    await page.getByRole('heading', { level: 2, name: 'Where the time went' }).waitFor()
    await page.getByRole('link', { name: 'Generations' }).first().click()
    await page.locator('tbody tr').filter({ hasText: 'of ann' }).waitFor()
    t.equal(await page.locator('tbody tr').count(), 1, 'the call of the others is not listed')
    t.same(problemsOf(console), [])

    await console.open(`generations/${theirs.id}`)
    await page.getByRole('alert').waitFor()
    await console.open(`keys/${others.data.hash}`)
    await page.getByRole('alert').waitFor()
    const told = problemsOf(console).map((each) => /\b404\b/.test(each))
    t.ok(told.length > 1 && !told.includes(false), 'what is out of reach is not there')
    await refused(console, ['members', `members/${ids.bob}`, 'credits', 'workload-identity', 'fleet'])

    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('link', { name: 'Sign in with your organization' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    t.equal(await page.locator('main#content').count(), 0, 'no step back leads in again')
  })

  await t.test(
    'an admin sees what everybody did in the workspace, and stops a key of a member',
    async (t) => {
      const console = await comeIn(t, 'bob')
      const { page } = console
      t.ok((await screensOf(console)).includes('Members'))
      await page.getByRole('link', { name: 'Generations' }).first().click()
      for (const key of ['of ann', 'nightly'])
        await page.locator('tbody tr').filter({ hasText: key }).waitFor()
      await page.getByRole('link', { name: 'Members' }).click()
      await page.getByRole('link', { name: /^ann@example.com/ }).click()
      await page.getByRole('button', { name: /^Why/ }).waitFor()
      t.equal(
        await page.getByRole('button', { name: 'Give a role' }).count(),
        0,
        'roles are given by management',
      )
      await page.getByRole('link', { name: 'Keys' }).click()
      await page.getByRole('link', { name: /^of ann/ }).click()
      await page.getByRole('button', { name: 'Disable' }).click()
      await page.getByText('of ann is disabled').waitFor()
      t.equal((await ask(mine)).status, 401)
      t.same(problemsOf(console), [])
      await refused(console, ['directory', 'audit', 'organizations', 'settings'])
    },
  )

  await t.test('who has no role is told so, and by whom it is given', async (t) => {
    const console = await comeIn(t, 'eve')
    t.same(await screensOf(console), [])
    await refused(console, ['', 'keys'])
    t.same(problemsOf(console), [])
  })
})
