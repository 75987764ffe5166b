import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { type Test, test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { freePort } from '../support/servers/listen.js'
import { KEYS, MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, type ConsolePage, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

test(
  'a configuration is read again from the screen, and one with faults is told with their places',
  SKIP,
  async (t) => {
    const file = join(tempFolder(t), 'sluice.json')
    const write = (settings: object): void => writeFileSync(file, JSON.stringify(settings))
    write({ tools: { datetime: { enabled: false } } })
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1', SLUICE_CONFIG: file })
    const console = await browser.page(t, url)
    const { page } = console
    await console.open('settings')
    await console.signIn()
    await page.getByText('all 1 have it').waitFor()
    await page.getByText(file, { exact: true }).waitFor()
    await page.getByLabel('Find').fill('management_key')
    const row = page.getByRole('row', { name: /^management_key/ })
    await row.getByText('set', { exact: true }).waitFor()
    t.equal(await page.getByRole('row').count(), 2, 'the head, and what was looked for')
    t.match(page.url(), /q=management_key$/, 'the view stands in the address')
    write({ ledger_days: 31, tools: {} })
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('Changed, and counting from the next start on: ledger_days').waitFor()
    await page.getByText('Read again', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Tools and plugins' }).click()
    await page.getByRole('row', { name: /^datetime on/ }).waitFor()
    t.same(console.problems, [])
    await page.goBack()
    write({ tools: { max_calls: -1 } })
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('Resource conflict: the configuration has 1 fault; the old one goes on').waitFor()
    await page.getByText('tools.max_calls').waitFor()
  },
)

test(
  'the lab is reached from the console where it listens, and where it does not a command begins it',
  SKIP,
  async (t) => {
    const listensAt = `127.0.0.1:${await freePort()}`
    const asked = { ...KEYS, SLUICE_WORKERS: '1' }
    const [on, off] = await Promise.all([serve(t, { ...asked, SLUICE_LAB: listensAt }), serve(t, asked)])
    const { page } = await signedInAt(t, on.url)
    await page.getByText('not allowed', { exact: true }).waitFor()
    const link = page.getByRole('link', { name: `http://${listensAt}/lab` })
    const [lab] = await Promise.all([page.waitForEvent('framenavigated'), link.click()])
    t.equal(lab.url(), `http://${listensAt}/lab`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    const without = await signedInAt(t, off.url)
    await without.page.getByText('npx sluice serve --lab').waitFor()
    await without.open('settings/provider')
    await without.page.getByText('none: SLUICE_CONFIG was not set at the start').waitFor()
    await without.page.getByRole('button', { name: 'Reload' }).click()
    await without.page.getByRole('button', { name: 'Reload' }).waitFor()
    t.equal(await without.page.getByText('Read again', { exact: true }).count(), 0, 'nothing was read')
    t.same(without.problems, [])
  },
)

async function signedInAt(t: Test, url: string): Promise<ConsolePage> {
  const opened = await browser.page(t, url)
  await opened.open('lab')
  await opened.signIn()
  return opened
}

test(
  'who is not the operator reads which tools there are, and names them in the playground',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const made = await fetch(`${url}/api/v1/organizations`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'Acme' }),
    })
    const { key } = (await made.json()) as { key: string }
    const console = await browser.page(t, url)
    const { page } = console
    await console.open('settings')
    await console.signIn(key)
    await page.getByRole('link', { name: 'Tools and plugins' }).click()
    await page.getByRole('row', { name: /^web_search/ }).waitFor()
    t.equal(await page.getByRole('link', { name: 'Settings' }).count(), 0, 'what is the operator’s stays so')
    await page.getByRole('link', { name: 'Playground' }).click()
    await page.locator('summary', { hasText: 'Tools and plugins' }).click()
    await page.getByLabel('datetime').check()
    t.same(console.problems, [])
  },
)
