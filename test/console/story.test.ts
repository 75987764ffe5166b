/** The story of the README as one journey: from an organization to a streamed answer that no key was needed for. */
import tap, { test } from 'tap'
import { FederationServer, WORKLOAD } from '../support/servers/federation-server.js'
import { MANAGEMENT_KEY } from '../support/servers/server-process.js'
import { ConsoleBrowser, type ConsolePage, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

/** A subject that the job does not have: the mistake that the tester explains. */
const WRONG = 'repo:octo/app:ref:refs/heads/release'
const API = /https?:\/\/\S+\/api\/v1\/oauth\/token/
const POLICY = /federation_policy_id=(\S+)/

/** From now on it is noticed whether the page was loaded anew. */
const begin = (console: ConsolePage): Promise<unknown> => console.page.evaluate('window.journey = true')
const isSamePage = (console: ConsolePage): Promise<unknown> =>
  console.page.evaluate('window.journey === true')

/** What the job does, by what the policy's page tells it: it exchanges its token for an access token. */
async function exchangeBy(code: string, token: string): Promise<string> {
  const [url = ''] = API.exec(code) ?? []
  const [, policy = ''] = POLICY.exec(code) ?? []
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    federation_policy_id: policy,
    subject_token: token,
  })
  const answer = await fetch(url, { method: 'POST', body })
  const { access_token: access } = (await answer.json()) as { access_token?: string }
  if (access === undefined) throw new Error(`the exchange was answered with ${answer.status}`)
  return access
}

test(
  'an organization, a key, an issuer, a policy, a refusal explained and mended, an exchange, an answer and its money',
  SKIP,
  async (t) => {
    const bench = await FederationServer.start(t)
    const console = await browser.page(t, bench.server.baseUrl)
    const { page } = console
    const dialog = page.getByRole('dialog')
    const choose = (screen: string) =>
      page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: screen }).click()
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()

    await console.open()
    await begin(console)
    await console.signIn(MANAGEMENT_KEY)
    await choose('Organizations')
    await press('Create an organization')
    await dialog.getByLabel('Name').fill('Acme')
    await dialog.getByLabel('Plan').selectOption('enterprise')
    await dialog.getByLabel('Credits').fill('5')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    const managementKey = (await dialog.locator('pre').innerText()).trim()
    await press('I have copied it')
    await page.getByRole('button', { name: /^Account/ }).click()
    await press('Sign out')
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await console.signIn(managementKey)

    await choose('Keys')
    await press('Create a key')
    await dialog.getByLabel('Name').fill('ci')
    await dialog.getByLabel('Spending limit').fill('1')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await press('I have copied it')

    await choose('Workload identity')
    await press('Trust an issuer')
    await dialog.getByLabel('Name').fill('Company CI')
    await dialog.getByLabel('Issuer URL').fill(bench.issuer.url)
    await press('Trust it')
    await dialog.getByText('Its key set was found').waitFor()
    await dialog.getByRole('button', { name: 'Create a policy' }).click()
    await page.getByRole('dialog', { name: 'Create a policy' }).waitFor()
    await dialog.getByLabel('Acts as the key').selectOption('ci')
    await dialog.getByLabel('Subject').fill(WRONG)
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: WRONG }).waitFor()

    const token = bench.token()
    await page.getByLabel('Token', { exact: true }).fill(token)
    await press('Test')
    await page.getByText('An exchange would be refused.').waitFor()
    const refusal = page.getByRole('listitem').filter({ hasText: 'is not the subject of the policy' })
    t.match(
      await refusal.innerText(),
      new RegExp(`${WORKLOAD}[^]*${WRONG}`),
      'what it saw, and what it wanted',
    )
    await console.picture('story-refusal')
    await press('Change')
    await dialog.getByLabel('Subject').fill(WORKLOAD)
    await press('Save')
    await page.getByRole('heading', { level: 1, name: WORKLOAD }).waitFor()
    await page.getByLabel('Token', { exact: true }).fill(token)
    await press('Test')
    await page.getByText('An exchange would give a token.').waitFor()
    await console.forgiveMoves()
    await console.judge(t, 'a policy that fits')

    const access = await exchangeBy(await page.locator('.code pre').innerText(), token)
    await choose('Playground')
    await page.getByLabel('Paid by').selectOption('key')
    await page.getByLabel('Model', { exact: true }).selectOption('sim/standard')
    await page.getByLabel('Key', { exact: true }).fill(access)
    await page.getByLabel('Your message').fill('Say hello.')
    await press('Send')
    const answer = page.locator('.turn.assistant')
    await answer.getByRole('link', { name: 'Its row' }).waitFor()
    t.match(await answer.locator('.said').innerText(), /\w/)
    const [cost = ''] =
      /\$[\d.]+/.exec((await answer.locator('.took').innerText()).replaceAll(/\s/g, '')) ?? []
    t.match(cost, /[1-9]/, 'it has cost something')
    await console.picture('story-answer')
    await answer.getByRole('link', { name: 'Its row' }).click()

    await page.getByRole('heading', { level: 1, name: 'sim/standard' }).waitFor()
    t.ok((await page.locator('.waterfall > li').count()) > 1, 'where the time went')
    const charged = page.locator('.facts > div').filter({ hasText: 'Charged' }).locator('dd')
    t.equal(
      (await charged.innerText()).replaceAll(/\s/g, ''),
      cost,
      'the money of the row is that of the answer',
    )
    await console.picture('story-row')
    await page.getByRole('link', { name: 'ci', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'ci' }).waitFor()
    const spent = page.locator('.figures > div').filter({ hasText: 'Altogether' }).locator('dd')
    t.equal((await spent.innerText()).replaceAll(/\s/g, ''), cost, 'and that of the key')
    t.ok(await isSamePage(console), 'on one page, without a reload')
    t.same(console.problems, [])
    t.notOk((await page.content()).includes(access), 'the token is gone with its screen')
  },
)

test('the same way by keyboard alone', SKIP, async (t) => {
  const bench = await FederationServer.start(t)
  const console = await browser.page(t, bench.server.baseUrl)
  const { page } = console
  const { keyboard } = page
  const opened = (name: string) => page.getByRole('dialog', { name }).waitFor()
  /** By the palette, to a screen or an action. */
  const go = async (words: string): Promise<void> => {
    await keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Screen, action or record' }).waitFor()
    await keyboard.type(words)
    await keyboard.press('Enter')
    await page.getByRole('combobox', { name: 'Screen, action or record' }).waitFor({ state: 'detached' })
  }

  await console.open()
  await begin(console)
  await page.getByLabel('Management key').waitFor()
  await console.type('Management key', MANAGEMENT_KEY)
  await keyboard.press('Enter')
  await page.locator('main#content').waitFor()
  await go('create a key')
  await opened('Create a key')
  await console.type('Name', 'ci')
  await keyboard.press('Enter')
  await opened('The key ci')
  await console.reach('I have copied it')
  await keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await go('trust an issuer')
  await opened('Trust an issuer')
  await console.type('Name', 'Company CI')
  await console.type('Issuer URL', bench.issuer.url)
  await keyboard.press('Enter')
  await opened('Keys of Company CI')
  await page.getByText('Its key set was found').waitFor()
  await console.reach('Create a policy')
  await keyboard.press('Enter')
  await opened('Create a policy')
  await console.type('Subject', WORKLOAD)
  await keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: WORKLOAD }).waitFor()
  await console.type('Token', bench.token())
  await console.reach('Test')
  await keyboard.press('Enter')
  await page.getByText('An exchange would give a token.').waitFor()
  await go('playground')
  await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor()
  await console.type('Your message', 'Say hello.')
  await keyboard.press('Enter')
  await page.getByRole('link', { name: 'Its row' }).waitFor()
  await console.reach('Its row')
  await keyboard.press('Enter')
  await page.getByRole('heading', { level: 2, name: 'Where the time went' }).waitFor()
  await console.focused('h1')
  t.ok(await isSamePage(console), 'on one page, without a reload')
  t.same(console.problems, [])
})
