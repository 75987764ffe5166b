import tap, { test } from 'tap'
import { KEYS, MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'
import { ask, listed } from './calls.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

/** The day of the first call, as the API has it. */
async function usedDay(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/usage?by=day`, {
    headers: { Authorization: `Bearer ${MANAGEMENT_KEY}` },
  })
  return ((await answer.json()) as { data: { day: string }[] }).data[0]!.day
}

test('usage is drawn and summed up, and leads to the calls it is of', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  for (const model of ['sim/fast', 'sim/fast', 'sim/reasoner']) await ask(url, model)
  const models = (await listed(url)).map(({ model }) => model)
  const first = models.at(-1)!
  const calls = models.filter((model) => model === first).length
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('usage')
  await console.signIn()
  const row = page.locator('tbody tr', { hasText: first })
  await row.waitFor()
  t.equal(await row.locator('td').nth(1).innerText(), String(calls))
  const figure = (name: string) => page.locator('.figures > div', { hasText: name }).getByRole('link')
  t.equal(await figure('Calls').count(), 1)
  t.equal(await figure('Failed').count(), 0, 'nothing stands behind it')
  await page.getByLabel('Drawn').selectOption('calls')
  await page.getByRole('img', { name: new RegExp(`^${models.length} in all`) }).waitFor()
  await page.getByLabel('Period').selectOption('24h')
  await page.getByRole('img', { name: /in one hour$/ }).waitFor()

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download as CSV' }).click(),
  ])
  t.equal(download.suggestedFilename(), 'usage.csv')
  const stream = await download.createReadStream()
  const csv = Buffer.concat(await stream.toArray()).toString()
  t.ok(csv.startsWith('model,calls,'), csv)
  t.ok(csv.includes(`\r\n${first},${calls},`), csv)

  await page.getByLabel('Summed up by').selectOption('time')
  await page
    .getByRole('link', { name: /^\d{4}-\d{2}-\d{2} \d{2}:00$/ })
    .last()
    .press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Generations' }).waitFor()
  await page.locator('tbody tr').first().getByRole('link').first().waitFor()
  t.ok(new URL(page.url()).searchParams.get('from')?.endsWith(':00:00.000Z'))

  const made = await fetch(`${url}/api/v1/keys`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'idle' }),
  })
  const { data } = (await made.json()) as { data: { hash: string } }
  await console.open(`keys/${data.hash}`)
  await page.getByRole('link', { name: 'summed up' }).press('Enter')
  await page.getByText('No calls in this time').waitFor()
  t.same(console.problems, [])
})

test('a day of the usage is that of UTC, wherever somebody is, and leads to its calls', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  const timezoneId = 'Pacific/Kiritimati'
  // Its day begins 14 hours before that of UTC.
  await (await page.context().newCDPSession(page)).send('Emulation.setTimezoneOverride', { timezoneId })
  await console.open('usage?by=time')
  await console.signIn()
  await ask(url, 'sim/fast')
  const day = await usedDay(url)
  await page.reload()
  await page.getByRole('columnheader', { name: 'Day (UTC)' }).waitFor()
  await page
    .locator('.bar-chart figcaption')
    .getByText(/^\d{4}-\d{2}-\d{2} UTC$/)
    .first()
    .waitFor()
  await page.getByRole('link', { name: day, exact: true }).press('Enter')
  await page.locator('tbody tr').first().getByRole('link').first().waitFor()
  const { searchParams } = new URL(page.url())
  const next = new Date(Date.parse(`${day}T00:00:00Z`) + 24 * 60 * 60 * 1000).toISOString().slice(0, 10)
  t.strictSame([searchParams.get('from'), searchParams.get('to')], [day, next])
  t.equal(await page.getByLabel('From (UTC)').inputValue(), day)
  t.equal(await page.getByLabel('Before (UTC)').inputValue(), next)
  t.same(console.problems, [])
})
