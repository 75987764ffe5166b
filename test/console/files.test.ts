import tap, { test } from 'tap'
import { KEYS, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP, WIDTHS } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

const HOSTILE = '<img src=x onerror=document.title="run">.txt'

test(
  'files are uploaded with their progress, told apart, refused with the reason, and deleted',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const console = await browser.page(t, url)
    const { page } = console
    await console.open('files')
    await console.signIn()
    await page.getByRole('heading', { name: 'No files yet' }).waitFor()
    const file = (name: string, bytes: Buffer) => ({ name, mimeType: 'text/plain', buffer: bytes })
    await page
      .getByLabel('Drop files here, or choose some')
      .setInputFiles([file('notes.txt', Buffer.from('two words')), file(HOSTILE, Buffer.alloc(40_000, 'a '))])
    const rows = page.getByRole('region', { name: 'Files' }).locator('tbody tr')
    await rows.nth(1).waitFor()
    await page.getByText('there', { exact: true }).nth(1).waitFor()
    await page.getByRole('row', { name: /^notes\.txt text\/plain/ }).waitFor()
    t.equal(await page.locator('main img').count(), 0, 'a name is text')
    t.same(console.problems, [])
    await page.getByLabel('Drop files here, or choose some').setInputFiles(file('empty.txt', Buffer.alloc(0)))
    await page.locator('.on-their-way .state.bad').waitFor()
    t.equal(await rows.count(), 2, 'what was refused is not there')
    for (const width of WIDTHS) {
      const shown = await browser.page(t, url, { width })
      await shown.open('files')
      await shown.signIn()
      await shown.page.getByText('notes.txt').waitFor()
      await shown.judgeThemes(t, `files-some-${width}`)
    }
    await page.getByRole('button', { name: 'Delete notes.txt' }).click()
    await page.getByRole('heading', { name: 'Delete notes.txt?' }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('notes.txt is deleted').waitFor()
    await rows.nth(1).waitFor({ state: 'detached' })
    t.equal(await rows.count(), 1)
  },
)
