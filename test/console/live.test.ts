import tap, { test } from 'tap'
import { API_KEY, KEYS, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

const HOSTILE = '<img src=x onerror="document.title=`run`">'

test('the overview shows a call as soon as it has ended, and leads to its row', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open()
  await console.signIn()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await page.getByText('live', { exact: true }).waitFor()
  await page.getByText('No calls yet').waitFor()
  const answer = await fetch(`${url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      model: 'sim/fast',
      max_tokens: 3,
      messages: [{ role: 'user', content: 'hello' }],
    }),
  })
  t.equal(answer.status, 200)
  await answer.arrayBuffer()
  const row = page.getByRole('region', { name: 'Latest calls' }).locator('tbody tr')
  await row.getByText('answered').waitFor()
  await row.getByRole('link').press('Enter')
  await page.getByRole('heading', { level: 1, name: 'sim/fast' }).waitFor()
  t.same(console.problems, [])
})

test(
  'the playground streams an answer, tells its price and its row, and shows markup as text',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const console = await browser.page(t, url)
    const { page } = console
    await console.open('playground')
    await console.signIn()
    await page.getByLabel('Model', { exact: true }).selectOption('sim/fast')
    await page.getByLabel('Paid by').selectOption('key')
    await page.getByLabel('Key', { exact: true }).fill(API_KEY)
    await console.forgiveMoves()
    await page.getByLabel('Your message').fill(HOSTILE)
    await page.keyboard.press('Enter')
    const answer = page.locator('.turn.assistant')
    await answer.getByRole('link', { name: 'Its row' }).waitFor()
    await console.forgiveMoves()
    t.match(await answer.locator('.said').innerText(), /\w/)
    t.equal(await page.locator('.turn.user .said').innerText(), HOSTILE, 'what was said is text')
    t.match(await answer.locator('.took').innerText(), /in, [\d]+ out[\s\S]*\$/)
    t.equal(await page.locator('.conversation img').count(), 0)
    t.match(await page.locator('.code pre').innerText(), 'Bearer $API_KEY')
    t.notOk((await page.content()).includes(API_KEY), 'the key is nowhere on the page')
    await console.judge(t, 'an answer')
    await answer.getByRole('link', { name: 'Its row' }).press('Enter')
    await page.getByRole('heading', { level: 1, name: 'sim/fast' }).waitFor()
    t.same(console.problems, [])
  },
)

test('the session of a manager pays, or a key where one is named, and faults are told', SKIP, async (t) => {
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
  const console = await browser.page(t, url)
  const { page } = console
  await console.open('playground?model=sim/fast')
  await console.signIn()
  const say = async (text: string): Promise<void> => {
    await page.getByLabel('Your message').fill(text)
    await page.keyboard.press('Enter')
  }
  await page.getByLabel('Paid by').selectOption('key')
  await page.getByLabel('Key', { exact: true }).fill('sk-of-nobody')
  await say('hello')
  await page.locator('.turn.assistant').getByRole('alert').waitFor()
  t.match(await page.getByRole('alert').innerText(), /credentials/i)
  t.equal(await page.getByRole('heading', { level: 1, name: 'Playground' }).count(), 1, 'still signed in')
  await page.getByLabel('Paid by').selectOption('session')
  await say('hello')
  await page.locator('.turn.assistant').nth(1).getByRole('link', { name: 'Its row' }).waitFor()
  await page.getByRole('button', { name: 'Begin anew' }).press('Enter')
  t.equal(await page.locator('.turn').count(), 0)
})
