import tap, { type Test, test } from 'tap'
import { API_KEY, KEYS, MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, type ConsolePage, SKIP, WIDTHS } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

const HOSTILE = '<img src=x onerror=alert(1)>'

async function ask(url: string, model: string, session?: string, key = API_KEY): Promise<Response> {
  const answer = await fetch(`${url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      ...{ model, max_tokens: 4, messages: [{ role: 'user', content: 'hello' }] },
      ...(session && { session_id: session }),
    }),
  })
  await answer.arrayBuffer()
  return answer
}

async function listed(url: string, query = ''): Promise<readonly { id: string; model: string }[]> {
  const answer = await fetch(`${url}/api/v1/generations${query}`, {
    headers: { Authorization: `Bearer ${MANAGEMENT_KEY}` },
  })
  return ((await answer.json()) as { data: { id: string; model: string }[] }).data
}

/** The day of the first call, as the API has it. */
async function usedDay(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/usage?by=day`, {
    headers: { Authorization: `Bearer ${MANAGEMENT_KEY}` },
  })
  return ((await answer.json()) as { data: { day: string }[] }).data[0]!.day
}

test('calls are listed, filtered by what stands in the address, and read one by one', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('generations')
  await console.signIn()
  await page.getByText('No calls yet').waitFor()

  for (let n = 0; n < 60; n++)
    t.equal((await ask(url, 'sim/fast', n === 0 ? HOSTILE : undefined)).status, 200)
  await page.getByRole('button', { name: 'Look again' }).click()
  const rows = page.locator('tbody tr')
  await rows.nth(49).waitFor()
  t.equal(await rows.count(), 50, 'a page')
  await rows.nth(49).scrollIntoViewIfNeeded()
  await rows.nth(59).waitFor()
  t.equal(await rows.count(), 60, 'and the next one')

  await page.getByLabel('Session').fill(HOSTILE)
  await page.keyboard.press('Enter')
  await rows.nth(1).waitFor({ state: 'detached' })
  t.equal(await rows.count(), 1)
  t.equal(new URL(page.url()).searchParams.get('session'), HOSTILE)
  await page.reload()
  await rows.first().getByRole('link').first().waitFor()
  t.equal(await rows.count(), 1, 'an address is a view')

  const [call] = await listed(url, `?session=${encodeURIComponent(HOSTILE)}`)
  await rows.first().getByRole('link').first().press('Enter')
  await page.getByRole('heading', { level: 1, name: call!.model }).waitFor()
  t.ok(page.url().endsWith(`/generations/${call!.id}`))
  await page.locator('.waterfall li', { hasText: 'Admission' }).waitFor()
  t.ok((await page.locator('.waterfall li').count()) >= 2, 'admission and who has answered')
  await page.getByRole('link', { name: HOSTILE }).press('Enter')
  await rows.first().getByRole('link').first().waitFor()
  t.equal(await rows.count(), 1, 'the calls of a session')

  await page.getByLabel('Model').fill('acme/none')
  await page.keyboard.press('Enter')
  await page.getByText('No call was like that').waitFor()
  await page.getByRole('link', { name: 'All', exact: true }).press('Enter')
  await rows.nth(49).waitFor()
  t.same(console.problems, [])
})

test(
  'of a long list only what is near the window is drawn, and every row is met once on the way',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const calls = 420
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
        await page.waitForFunction(isRowInSight)
        const drawn = await meet()
        t.ok(drawn <= 300, `${drawn} rows are drawn`)
      }
    }
    await turnTo(calls + 1, 700)
    t.equal(await page.locator('table').getAttribute('aria-rowcount'), String(calls + 1))
    t.ok((await meet()) <= 160, 'a part is drawn')
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

test(
  'of a loop each attempt is told with its turn, and the money of all is what the call cost',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const asked = await fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${API_KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        model: 'sim/agent',
        messages: [{ role: 'user', content: 'call service:datetime\nanswer late' }],
        tools: [{ type: 'service:datetime' }],
      }),
    })
    const { id } = (await asked.json()) as { id: string }
    const console = await browser.page(t, url)
    const { page } = console
    await console.open(`generations/${id}`)
    await console.signIn()
    const attempts = page.getByRole('region', { name: 'Attempts' }).locator('tbody tr')
    await attempts.nth(1).waitFor()
    t.same(await attempts.locator('td:first-child').allInnerTexts(), ['turn\u00a01', 'turn\u00a02'])
    for (const row of await attempts.all()) {
      t.match(await row.innerText(), /sim\/agent[\s\S]*200[\s\S]*ms/)
      t.match(await row.locator('td').last().innerText(), /^\$0\.0*[1-9]/, 'what was charged')
    }
    await console.judge(t, 'a loop')
    await console.picture('generation-loop')
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

/**
 * What of a page is on paper: which parts that only a screen needs, and which texts that are not dark on white, with
 * the luminances of both; no ground at all is the paper.
 */
const ON_PAPER = `(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number)
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour).map((each) => (each / 255) ** 2.2)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const groundOf = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      if (numbers(backgroundColor)[3] !== 0) return luminance(backgroundColor)
    }
    return getComputedStyle(document.documentElement).colorScheme === 'light' ? 1 : 0
  }
  const texts = [...document.querySelectorAll('main *')].filter((element) =>
    element.checkVisibility() && [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim()))
  return {
    texts: texts.length,
    notDarkOnWhite: texts
      .map((element) => [element.innerText, luminance(getComputedStyle(element).color), groundOf(element)])
      .filter(([, ink, ground]) => !(ink < 0.2 && ground > 0.75)),
    screenOnly: ['.bar', '.side', '.filters', '.actions', '.up', '.copy'].filter((part) =>
      document.querySelector(part)?.checkVisibility()),
  }
})()`

/** Prints the page from each theme, as the system has it and as somebody has chosen it. */
async function printed(t: Test, { page }: ConsolePage, name: string): Promise<void> {
  for (const [colorScheme, chosen] of [
    ['light', 'system'],
    ['dark', 'system'],
    ['light', 'dark'],
  ] as const) {
    await page.emulateMedia({ media: 'print', colorScheme })
    await page.evaluate(`document.documentElement.dataset.theme = '${chosen}'`)
    const { texts, ...rest } = await page.evaluate<Record<string, unknown>>(ON_PAPER)
    t.ok((texts as number) > 10, `${name}: what it says is on paper`)
    t.same(
      rest,
      { notDarkOnWhite: [], screenOnly: [] },
      `${name}, ${chosen} where the system is ${colorScheme}`,
    )
  }
  await page.emulateMedia({ media: 'screen' })
}

test(
  'calls and their sums are whole in both themes, from narrow to wide, and dark on white on paper',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    for (let n = 0; n < 12; n++) await ask(url, ['sim/fast', 'sim/reasoner', 'sim/fault-error'][n % 3]!)
    const [call] = await listed(url)
    for (const width of WIDTHS) {
      const page = await browser.page(t, url, { width })
      await page.open()
      await page.signIn()
      const places = [
        ['generations', 'Generations', 'list'],
        [`generations/${call!.id}`, call!.model, 'generation'],
        ['usage', 'Usage', 'usage'],
        ['usage?period=24h&show=calls', 'Usage', 'usage-hours'],
      ] as const
      for (const [place, title, name] of places) {
        await page.settle(place, title)
        await page.judgeThemes(t, `calls-${name}-${width}`)
        if (width === 1280 && place.startsWith('generations')) await printed(t, page, name)
      }
    }
  },
)
