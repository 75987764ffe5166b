/** The guide in a browser: as the server sends it, and as files from a disk. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import tap, { test } from 'tap'
import { VERSION } from '../../src/base/version.js'
import { ConsoleBrowser, SKIP, WIDTHS } from '../console/console-browser.js'
import { listen } from '../support/servers/listen.js'
import { serve } from '../support/servers/server-process.js'

const DISK = new URL(`../../guide/${VERSION}/`, import.meta.url)
/** One of each kind: a list of tasks, code, pictures, rules with a long list of contents, a long table, a file, a page that is not there. */
const PLACES = [
  'index.html',
  'start.html',
  'load-tools-and-the-lab.html',
  'contract/tools.html',
  'decisions/index.html',
  'examples/fleet-nginx.conf.html',
  'no-such-page.html',
]

/** When the page was first painted, in milliseconds since it was asked for. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => resolve(list.getEntries()[0].startTime)).observe({ type: 'paint', buffered: true })
})`

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

for (const width of WIDTHS) {
  test(`pages are whole at ${width} pixels, in both themes`, SKIP, async (t) => {
    const { url } = await serve(t, { SLUICE_WORKERS: '1' })
    const shown = await browser.page(t, url, { width })
    for (const place of PLACES) {
      await shown.page.goto(`${url}/docs/guide/${VERSION}/${place}`)
      // The one that is not there is told by its status, of which the browser complains.
      if (place === 'no-such-page.html') shown.problems.length = 0
      await shown.judgeThemes(t, `guide-${place.replace(/\W+/g, '-')}-${width}`)
    }
  })
}

test('a page is painted when all of it is there, so no row of a table moves', SKIP, async (t) => {
  const PLACE = 'decisions/index.html'
  const markup = readFileSync(new URL(PLACE, DISK))
  /** Behind rows that are narrower than those to come. */
  const half = markup.indexOf('</tr>', markup.indexOf('<main')) + 5
  let sendRest = (): unknown => t.fail('nobody has asked for the page')
  const server = createServer(({ url = '' }, response) => {
    if (url.endsWith('.css')) response.setHeader('Content-Type', 'text/css')
    if (url !== `/${PLACE}`) {
      response.end(readFileSync(new URL(`.${url}`, DISK)))
      return
    }
    response.setHeader('Content-Type', 'text/html; charset=utf-8')
    response.write(markup.subarray(0, half))
    sendRest = () => response.end(markup.subarray(half))
  })
  const url = `http://127.0.0.1:${await listen(t, server)}/`
  const shown = await browser.page(t, url)
  const { page } = shown
  await page.goto(url + PLACE, { waitUntil: 'commit' })
  await page.waitForFunction('document.querySelectorAll("main tr").length > 0', null, { polling: 20 })
  // Time in which the half would be painted: that something does not happen cannot be waited for.
  await page.evaluate(`Promise.race([${FIRST_PAINT}, new Promise((resolve) => setTimeout(resolve, 500))])`)
  sendRest()
  await page.waitForLoadState('load')
  const paintedMs = Number(await page.evaluate(FIRST_PAINT))
  const wholeMs = Number(await page.evaluate('performance.getEntriesByType("navigation")[0].domInteractive'))
  t.ok(paintedMs >= wholeMs, `whole after ${wholeMs} ms, painted after ${paintedMs} ms`)
  await shown.judge(t, 'a page in two pieces')
})

test(
  'search finds sections by any word of them, by keys alone, on a server and on a disk',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { SLUICE_WORKERS: '1' })
    for (const root of [`${url}/docs/guide/${VERSION}/`, DISK.href]) {
      const shown = await browser.page(t, root)
      const { page } = shown
      await page.goto(`${root}tools/bash.html`)
      await page.keyboard.press('/')
      await page.getByRole('combobox').fill('SLUICE_CONSOLE_LIST')
      await page.getByRole('option', { name: 'Where it is served' }).waitFor()
      await shown.judge(t, 'the search')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/console.html#where-it-is-served')
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill('zzzzzz')
      await page.getByText('Nothing has these words.').waitFor()
      await page.getByRole('combobox').fill('stream')
      const first = await page.getByRole('option').first().getAttribute('data-href')
      await page.keyboard.press('ArrowDown')
      const second = await page.getByRole('option', { selected: true }).getAttribute('data-href')
      t.not(second, first, 'arrows choose')
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      t.same(shown.problems, [])
    }
  },
)

test('a block is copied as it is typed: without the prompt and what is printed', SKIP, async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  const { page } = await browser.page(t, url)
  await page.goto(`${url}/docs/guide/${VERSION}/start.html`)
  const block = page.locator('.code', { has: page.locator('.prompt') }).first()
  await block.hover()
  // It stands there for a moment only.
  await Promise.all([
    block.getByRole('button', { name: 'Copied' }).waitFor(),
    block.getByRole('button', { name: 'Copy' }).click(),
  ])
  const copied = (await page.evaluate('navigator.clipboard.readText()')) as string
  t.match(copied, /^curl /)
  t.notMatch(copied, /\$ curl|"created_at"/)
  t.equal(copied.split('\n').length, 3, 'a line for each command')
})

test('the theme is chosen by a button, kept, and the one of the console', SKIP, async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  const { page } = await browser.page(t, url)
  await page.goto(`${url}/docs/guide/${VERSION}/keys.html`)
  const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  const light = await ground()
  await page.getByRole('button', { name: 'Theme: as the system' }).click()
  await page.getByRole('button', { name: 'Theme: light' }).click()
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
  t.not(await ground(), light)
  await page.goto(`${url}/console`)
  t.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
})

test(
  'without scripts a page is whole: its list of pages opens, and nothing is offered that does not work',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { SLUICE_WORKERS: '1' })
    const { page } = await browser.page(t, url, { width: 360 })
    await page.route('**/*.js', (route) => route.abort())
    await page.goto(`${url}/docs/guide/${VERSION}/keys.html`)
    t.notOk(await page.getByRole('button', { name: 'Search' }).isVisible())
    await page.getByRole('button', { name: 'Pages' }).click()
    await page.getByRole('link', { name: 'Get started' }).click()
    await page.getByRole('heading', { level: 1, name: 'Sluice' }).waitFor()
  },
)

test('what is printed is the text alone', SKIP, async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  const { page } = await browser.page(t, url)
  await page.goto(`${url}/docs/guide/${VERSION}/chat.html`)
  await page.emulateMedia({ media: 'print' })
  for (const selector of ['.bar', '.side', '.contents', '.steps', '.copy'])
    t.notOk(await page.locator(selector).first().isVisible(), selector)
  t.ok(await page.locator('main h1').isVisible())
})
