import tap, { test } from 'tap'
import { KEYS, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

test('the operator adds credits, and the figures tell them; the sign-in is in the audit', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('credits')
  await console.signIn()
  await page.getByText('Unlimited').waitFor()
  await page.getByLabel('Dollars').fill('12.5')
  await page.keyboard.press('Enter')
  await page.locator('.figures').getByText('$12.50').first().waitFor()
  await page.getByRole('row', { name: /Set\s+\$12\.50/ }).waitFor()
  await page.getByRole('link', { name: 'Audit' }).press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor()
  await page.getByRole('cell', { name: 'session.create' }).waitFor()
  t.same(console.problems, [])
})
