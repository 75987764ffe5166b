import tap, { test } from 'tap'
import { KEYS, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

test('a key is made by keyboard alone, shown once, works, and is gone from the page', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('keys')
  await console.signIn()
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Screen, action or record' }).waitFor()
  await page.keyboard.type('create a key')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Create a key' }).waitFor()
  await console.focused('[name="name"]')
  await page.keyboard.type('by keyboard')
  await page.getByLabel('Spending limit').focus()
  await page.keyboard.type('2.5')
  await page.keyboard.press('Enter')
  const shown = page.getByRole('dialog', { name: 'The key by keyboard' })
  await shown.waitFor()
  const key = (await shown.locator('pre').innerText()).trim()
  const used = await fetch(`${url}/api/v1/key`, { headers: { Authorization: `Bearer ${key}` } })
  t.match(await used.json(), { data: { limit: 2.5 } })
  // A browser lets a page refuse the first of them only.
  for (const _ of [1, 2]) await page.keyboard.press('Escape')
  t.equal((await shown.locator('pre').innerText()).trim(), key, 'nothing but its button ends it')
  t.equal(await shown.getByRole('button', { name: 'Close' }).count(), 0)
  await shown.getByRole('button', { name: 'I have copied it' }).press('Enter')
  await shown.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /^by keyboard/ }).waitFor()
  t.notOk((await page.content()).includes(key), 'shown once')
  await page.goBack()
  t.notOk((await page.content()).includes(key), 'and not by a step back')
  t.same(console.problems, [])
})

test('a key is limited, disabled, enabled again by undo, renamed and deleted', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('keys?new=key')
  await console.signIn()
  await page.getByLabel('Name').fill('nightly')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const key = (await page.getByRole('dialog').locator('pre').innerText()).trim()
  const told = async () => {
    const answer = await fetch(`${url}/api/v1/key`, { headers: { Authorization: `Bearer ${key}` } })
    return { status: answer.status, ...((await answer.json()) as { data?: { limit: number | null } }).data }
  }
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('link', { name: /^nightly/ }).click()
  await page.getByRole('heading', { level: 1, name: 'nightly' }).waitFor()

  await page.getByLabel('Spending limit').fill('7')
  await page.getByLabel('Starts anew').selectOption('monthly')
  await page.getByRole('button', { name: 'Save the limits' }).click()
  await page.getByText('$7.00 of $7.00 are left').waitFor()
  t.match(await told(), { status: 200, limit: 7, limit_reset: 'monthly' })

  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('nightly is disabled').waitFor()
  t.equal((await told()).status, 401)
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('nightly is enabled').waitFor()
  t.equal((await told()).status, 200)

  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('<b>daily</b>')
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('heading', { level: 1, name: '<b>daily</b>' }).waitFor()
  t.equal(await page.locator('h1 b').count(), 0, 'words are words')

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
  t.equal((await told()).status, 401)
  t.same(console.problems, [])
})

test('a dialog that closes gives the focus back', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('keys')
  await console.signIn()
  const opener = page.getByRole('button', { name: 'Create a key' })
  await opener.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await console.focused('button.primary')
  t.same(console.problems, [])
})
