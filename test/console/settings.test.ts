import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { KEYS, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

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
    await page.getByLabel('Find').fill('management_key')
    const row = page.getByRole('row', { name: /^management_key/ })
    await row.getByText('set', { exact: true }).waitFor()
    t.equal(await page.getByRole('row').count(), 2, 'the head, and what was looked for')
    t.match(page.url(), /q=management_key$/, 'the view stands in the address')
    write({ ledger_days: 31, tools: {} })
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('Changed, and counting from the next start on: ledger_days').waitFor()
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
