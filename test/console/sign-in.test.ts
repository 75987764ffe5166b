import tap, { test } from 'tap'
import { KEYS, MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

test('a management key signs in by keyboard, and is nowhere in the page afterwards', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('keys')
  await page.getByLabel('Management key').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.type('sk-of-nobody')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  t.match(await page.getByRole('alert').innerText(), /\w/, 'the server’s own sentence')
  await page.getByLabel('Management key').fill(MANAGEMENT_KEY)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
  t.equal(new URL(page.url()).pathname, '/console/keys', 'where it was begun')
  const kept = await page.evaluate<string>(
    'JSON.stringify([document.documentElement.outerHTML, localStorage, sessionStorage, document.cookie])',
  )
  t.notOk(kept.includes(MANAGEMENT_KEY))
  t.notOk(kept.includes('__Host-'), 'no script can read the cookie')
  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
  t.pass('the session outlasts the page')
  await page.getByRole('button', { name: /^Account/ }).press('Enter')
  await page.getByRole('button', { name: 'Sign out' }).press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
  t.same(
    console.problems.filter((problem) => !problem.includes('401')),
    [],
  )
})

test('a session that has ended leads to the sign-in, which says so, and back', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('keys')
  await console.signIn()
  // What is still being loaded would find the session ended before anything is clicked.
  await console.settle('keys', 'Keys')
  const authorization = { Authorization: `Bearer ${MANAGEMENT_KEY}` }
  const sessions = await fetch(`${url}/api/v1/sessions`, { headers: authorization })
  const { data } = (await sessions.json()) as { data: { id: string }[] }
  t.equal(data.length, 1)
  await fetch(`${url}/api/v1/sessions/${data[0]!.id}`, { method: 'DELETE', headers: authorization })
  await page.getByLabel('Disabled keys').click()
  await page.getByText('Your session has ended').waitFor()
  await console.signIn()
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
  t.match(page.url(), /\/console\/keys\?disabled=no$/, 'the filters are as they were')
})

test('where a browser would drop the cookie the page says so and asks for no key', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url.replace('127.0.0.1', 'console.test'))
  await console.settle('', 'Sign in')
  await console.page.getByText('Sign-in needs https').waitFor()
  t.equal(await console.page.getByLabel('Management key').count(), 0)
})

test(
  'a provider that the address names is offered first, now and later, and comes back to the same place',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const console = await browser.page(t, url)
    await console.open('keys?sign_in=sip_1')
    const link = console.page.getByRole('link', { name: 'Sign in with your organization' })
    t.equal(await link.getAttribute('href'), '/api/v1/sign-in/sip_1?return_to=%2Fconsole%2Fkeys')
    await console.open('generations?outcome=failed')
    const way = '/api/v1/sign-in/sip_1?return_to=%2Fconsole%2Fgenerations%3Foutcome%3Dfailed'
    t.equal(await link.getAttribute('href'), way, 'it is known from the first time on')
    await console.open('keys')
    await console.page.getByRole('button', { name: 'Use a management key instead' }).click()
    await console.signIn()
    await console.page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
  },
)

test('a provider is added and deleted, and the session of another browser is ended', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const call = async (method: string, path: string) =>
    fetch(`${url}/api/v1/${path}`, { method, headers: { Authorization: `Bearer ${MANAGEMENT_KEY}` } })
  t.equal((await call('POST', 'session')).status, 201, 'another browser')
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('members')
  await console.signIn()
  await page.getByRole('link', { name: 'Sign-in', exact: true }).click()
  await page.getByText('No provider yet').waitFor()
  await page.getByRole('button', { name: 'Add a provider' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Okta')
  await dialog.getByLabel('Issuer URL').fill('https://acme.okta.com')
  await dialog.getByLabel('Client id').fill('0oa1b2c3d4')
  await dialog.getByLabel('Client secret').fill('hush-hush')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await page.getByText('The provider is added').waitFor()
  t.notOk((await page.content()).includes('hush-hush'), 'nowhere in the page')
  const providers = async () => ((await (await call('GET', 'sign-in-providers')).json()) as Listed).data
  const [added] = await providers()
  const known = { name: 'Okta', client_id: '0oa1b2c3d4', has_client_secret: true, subject_claim: 'sub' }
  t.match(added, { ...known, connection_id: null })
  await page.getByRole('button', { name: `Copy ${added!.redirect_uri}` }).waitFor()
  await page.getByRole('button', { name: 'Delete Okta' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No provider yet').waitFor()
  t.same(await providers(), [])

  const sessions = async () => ((await (await call('GET', 'sessions')).json()) as Listed).data
  t.equal((await sessions()).length, 2)
  await page.getByRole('cell', { name: 'this one' }).waitFor()
  await page.getByRole('button', { name: /^End / }).click()
  await dialog.getByRole('button', { name: 'End' }).click()
  await page.getByRole('button', { name: /^End / }).waitFor({ state: 'detached' })
  t.equal((await sessions()).length, 1)
  await page.getByRole('heading', { level: 1, name: 'Sign-in' }).waitFor()
  t.same(console.problems, [])
})

interface Listed {
  readonly data: readonly { readonly redirect_uri?: string }[]
}
