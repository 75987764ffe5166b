import tap, { type Test, test } from 'tap'
import { API_KEY, KEYS, MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'
import { ask, listed } from './calls.js'
import { ConsoleBrowser, type ConsolePage, SKIP, WIDTHS } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

const HOSTILE = '<img src=x onerror=alert(1)>'

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
  await rows.nth(29).waitFor()
  t.equal(await rows.count(), 30, 'a page')
  await rows.nth(29).scrollIntoViewIfNeeded()
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
  const asked = page.getByRole('link', { name: 'sim/fast', exact: true })
  t.equal(await asked.getAttribute('href'), '/console/models/sim%2Ffast', 'to its prices')
  await page.getByRole('link', { name: HOSTILE }).press('Enter')
  await rows.first().getByRole('link').first().waitFor()
  t.equal(await rows.count(), 1, 'the calls of a session')

  await page.getByLabel('Model').fill('acme/none')
  await page.keyboard.press('Enter')
  await page.getByText('No call was like that').waitFor()
  await page.getByRole('link', { name: 'All', exact: true }).press('Enter')
  await rows.nth(29).waitFor()
  t.same(console.problems, [])

  t.equal((await ask(url, 'acme/none')).status, 404)
  t.same(await listed(url, '?model=acme/none'), [], 'a refusal leaves no row')
  await console.open(`generations?organization=${await ownOrganization(url)}&outcome=failed`)
  await page.getByText('No call was like that').waitFor()
  await page.getByRole('link', { name: 'All', exact: true }).press('Enter')
  await rows.nth(29).waitFor()
  t.match(page.url(), /generations\?organization=[^&]+$/, 'of the same organization')
})

async function ownOrganization(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/session`, {
    headers: { Authorization: `Bearer ${MANAGEMENT_KEY}` },
  })
  return ((await answer.json()) as { data: { organization: { id: string } } }).data.organization.id
}

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

    const spoken = await fetch(`${url}/api/v1/audio/speech`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${API_KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'sim/speech', voice: 'alba', input: 'Hello.' }),
    })
    await spoken.arrayBuffer()
    await console.open(`generations/${(await listed(url))[0]!.id}`)
    const again = page.locator('.code pre', { hasText: '/audio/speech' })
    t.match(await again.innerText(), /"response_format":"mp3".* -o answer\.mp3$/s, 'not to a terminal')
  },
)

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
