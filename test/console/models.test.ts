import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { KEYS, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP, WIDTHS } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

const priced = (dollars: string) => ({ prices: { prompt: dollars, completion: dollars } })

const CONFIG = {
  providers: {
    north: { kind: 'simulated', name: 'North' },
    south: { kind: 'simulated', name: 'South' },
    east: { kind: 'simulated', name: 'East', collects_data: true },
  },
  models: {
    'acme/large': {
      name: 'Acme Large',
      endpoints: [
        { provider: 'north', ...priced('0.00002') },
        { provider: 'south', ...priced('0.00001') },
        { provider: 'east', ...priced('0.00003') },
      ],
    },
  },
}

test('what is not paid by tokens has the price that it has', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('models?output=all')
  await console.signIn()
  await page.getByLabel('Find').fill('speech')
  const row = page.getByRole('row', { name: /speech/ }).first()
  await row.getByText('/ input character').waitFor()
  t.match(await row.innerText(), /\$0\.000015/)
  t.same(console.problems, [])
})

test('a model is found, its plan is explained, and what would change the plan does so', SKIP, async (t) => {
  const file = join(tempFolder(t), 'sluice.json')
  writeFileSync(file, JSON.stringify(CONFIG))
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1', SLUICE_CONFIG: file })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('models')
  await console.signIn()
  await page.getByLabel('Find').fill('acme')
  await page.getByRole('link', { name: 'Acme Large' }).click()
  await page.getByRole('heading', { level: 1, name: 'Acme Large' }).waitFor()
  const places = page.locator('.candidates:not(.left-out) strong')
  await page.getByText('3 of 3 endpoints, in order of trial; the first is drawn for each call').waitFor()
  await page.getByLabel('Tried first by').selectOption('price')
  await page.getByLabel('Nobody who collects data').check()
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByText('2 of 3 endpoints, in order of trial').waitFor()
  t.same(await places.allInnerTexts(), ['South', 'North'])
  const first = page.locator('.candidates > .first')
  await first.getByText('per million in and out').waitFor()
  await first.getByText('Would lose its place if').click()
  await first.getByText('its price rises above 40 dollars per million tokens, that of north').waitFor()
  t.equal(await first.getByRole('button', { name: 'Try it' }).count(), 0, 'no request can say it')
  const east = page.locator('.left-out > li')
  await east.getByText('collects data').waitFor()
  await east.getByText('Would be there if').click()
  await east.getByText('provider.data_collection is allow').waitFor()
  await east.getByRole('button', { name: 'Try it' }).click()
  await page.getByText('3 of 3 endpoints, in order of trial').waitFor()
  t.same(await places.allInnerTexts(), ['South', 'North', 'East'])
  t.equal(await page.getByLabel('Nobody who collects data').isChecked(), false, 'the form says it as well')
  const last = page.locator('.candidates > li').last()
  await last.getByText('Would be tried first if').click()
  await last.getByText('provider.order begins with east').waitFor()
  await last.getByRole('button', { name: 'Try it' }).click()
  await page.locator('.candidates > .first strong', { hasText: 'East' }).waitFor()
  t.match(decodeURIComponent(page.url()), /"order":\["east"\]/, 'the plan stands in the address')
  await page.reload()
  await page.locator('.candidates > .first strong', { hasText: 'East' }).waitFor()
  await page.getByLabel('Only these').fill('nobody')
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByText('No endpoint of acme/large meets the provider preferences').waitFor()
  await page.getByRole('button', { name: 'Begin anew' }).click()
  await page.getByText('3 of 3 endpoints').waitFor()
  // A plan that nobody can be asked for is told by the server as a 404, which the browser counts as a complaint.
  t.same(
    console.problems.filter((problem) => !problem.includes('404')),
    [],
  )
  const ask = JSON.stringify({
    model: 'acme/large',
    messages: [],
    provider: { data_collection: 'deny' },
  })
  for (const width of WIDTHS) {
    const shown = await browser.page(t, url, { width })
    await shown.open(`models/acme%2Flarge?ask=${encodeURIComponent(ask)}`)
    await shown.signIn()
    await shown.page.getByText('Would be tried first if').click()
    await shown.page.getByText('provider.order begins with').waitFor()
    await shown.forgiveMoves()
    await shown.judgeThemes(t, `models-explain-${width}`)
  }
})
