import tap, { test } from 'tap'
import { KEYS, MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'
import { ask } from './calls.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

test(
  'of a long list only what is near the window is drawn, and every row is met once on the way',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const calls = 320
    for (let n = 0; n < calls; n++) t.equal((await ask(url, 'sim/fast')).status, 200)
    const console = await browser.page(t, url)
    const { page } = console
    await console.open('generations')
    await console.signIn()
    await page.locator('tbody a').first().waitFor()
    const met = new Map<number, string>()
    const meet = async (): Promise<number> => {
      const drawn = await page
        .locator('tr[aria-rowindex]')
        .evaluateAll((rows) =>
          rows.map((row) => [Number(row.ariaRowIndex), row.querySelector('a')!.pathname] as const),
        )
      for (const [index, path] of drawn) {
        if ((met.get(index) ?? path) !== path) t.fail(`row ${index} is ${path} and was ${met.get(index)}`)
        met.set(index, path)
      }
      return drawn.length
    }
    // Where the middle of the window is over the table there is a row, and no gap.
    const isRowInSight = `document.elementsFromPoint(innerWidth / 2, innerHeight / 2).some((one) =>
    one.matches('td, .filters, .filters *, h1, thead *'))`
    const turnTo = async (last: number, by: number): Promise<void> => {
      while (!met.has(last)) {
        await page.mouse.wheel(0, by)
        await eventually(() => page.evaluate<boolean>(isRowInSight))
        const drawn = await meet()
        t.ok(drawn <= 150, `${drawn} rows are drawn`)
        const uncounted = page.locator('table[aria-rowcount] tbody tr:has(td):not([aria-rowindex])')
        t.equal(await uncounted.count(), 0, 'every row says which it is')
      }
    }
    await turnTo(calls + 1, 700)
    t.equal(await page.locator('table').getAttribute('aria-rowcount'), String(calls + 1))
    t.ok((await meet()) <= 60, 'a part is drawn')
    await turnTo(2, -700)
    t.equal(met.size, calls)
    t.equal(new Set(met.values()).size, calls)

    await page.emulateMedia({ media: 'print' })
    await page.evaluate('dispatchEvent(new Event("beforeprint"))')
    await page.locator(`tr[aria-rowindex="${calls + 1}"]`).waitFor()
    t.equal(await meet(), calls, 'on paper there are all')
    t.same(console.problems, [])
  },
)

test('a key beyond the first hundred is found by its name, and its calls by the key', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const made: { key: string; data: { hash: string } }[] = []
  for (let n = 1; n <= 150; n++) {
    const answer = await fetch(`${url}/api/v1/keys`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: `Job ${n}` }),
    })
    made.push((await answer.json()) as (typeof made)[number])
  }
  const last = made.at(-1)!
  await ask(url, 'sim/fast')
  t.equal((await ask(url, 'sim/fast', undefined, last.key)).status, 200)
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('keys')
  await console.signIn()
  await page.getByLabel('Find').fill('job 150')
  await page.getByRole('link', { name: /^Job 1 / }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /^Job 150/ }).click()
  await page.getByRole('link', { name: 'one by one' }).click()
  const chosen = page.getByLabel('Key', { exact: true }).locator('option:checked')
  const rows = page.locator('tbody tr')
  await chosen.filter({ hasText: 'Job 150' }).waitFor({ state: 'attached' })
  await rows.getByRole('link', { name: 'Job 150' }).waitFor()
  t.equal(await rows.count(), 1)
  t.equal(new URL(page.url()).searchParams.get('key'), last.data.hash)

  // Of one that has no calls it is the same.
  await console.open(`generations?key=${made.at(-2)!.data.hash}`)
  await chosen.filter({ hasText: 'Job 149' }).waitFor({ state: 'attached' })
  await page.getByText('No call was like that').waitFor()
  await page.getByLabel('Key', { exact: true }).selectOption('Job 1')
  await page.getByText('No call was like that').waitFor()
  t.equal(new URL(page.url()).searchParams.get('key'), made[0]!.data.hash)
  t.same(console.problems, [])
})

test('a long list in a dialog is drawn as the dialog is scrolled', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
  const members = Array.from({ length: 160 }, (_, n) => idOf(n))
  const put = await fetch(`${url}/api/v1/scim/groups/${idOf(999)}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ display_name: 'Many', members }),
  })
  t.equal(put.status, 200)
  const console = await browser.page(t, url)
  const { page } = console
  await console.open(`directory?group=${idOf(999)}`)
  await console.signIn()
  const dialog = page.locator('dialog[open]')
  await dialog.locator('tbody tr').nth(49).waitFor()
  const scrollTo = (place: string) =>
    dialog.evaluate((element, top) => element.scrollTo(0, Number(top)), place)
  // The next page comes when the end is in sight.
  for (let read = 0; read < 160; read = await dialog.locator('table').evaluate(rowsOf)) {
    await scrollTo('1e6')
    const more = dialog.getByRole('button', { name: 'Show more' })
    if (await more.isVisible()) await more.click()
  }
  await scrollTo('0')
  await dialog.locator('tr[aria-rowindex="2"]').waitFor()
  await scrollTo('1e6')
  await dialog.locator('tr[aria-rowindex="161"]').waitFor()
  t.ok((await dialog.locator('tbody tr').count()) < 100)
  t.same(console.problems, [])
})

/** The records of a table, drawn or not. */
function rowsOf(table: {
  ariaRowCount: string | null
  querySelectorAll(of: string): { length: number }
}): number {
  return table.ariaRowCount === null
    ? table.querySelectorAll('tbody tr').length
    : Number(table.ariaRowCount) - 1
}
