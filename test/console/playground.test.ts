import tap, { test } from 'tap'
import { API_KEY, KEYS, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

test(
  'in either format tools are shown as they run, thinking apart and events as they came',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const console = await browser.page(t, url)
    const { page } = console
    await console.open('playground?model=sim/agent')
    await console.signIn()
    await page.getByLabel('Paid by').selectOption('key')
    await page.getByLabel('Key', { exact: true }).fill(API_KEY)
    await console.forgiveMoves()
    await page.getByLabel('Thinking').selectOption('low')
    await page.getByText('Tools and plugins').last().click()
    await page.getByLabel('datetime').check()
    for (const [n, format] of ['chat', 'messages'].entries()) {
      await page.getByLabel('Format').selectOption(format)
      await page.getByLabel('Your message').fill('call service:datetime\nanswer <b>It is late.</b>')
      await page.keyboard.press('Enter')
      const answer = page.locator('.turn.assistant').nth(n)
      await answer.getByRole('link', { name: 'Its row' }).waitFor()
      t.equal(await answer.locator('.said').last().innerText(), '<b>It is late.</b>', format)
      t.match(await answer.getByRole('list', { name: 'Tools' }).innerText(), /datetime\s+done/)
      t.match(await answer.locator('.took').innerText(), /in, [\d]+ out[\s\S]*\$/)
      await answer.getByText('Thinking').click()
      t.match(await answer.locator('.said').first().innerText(), /\w/)
      await answer.locator('.events summary').click()
      const wanted = format === 'chat' ? '"service_tool"' : '"type":"server_tool_use"'
      t.match(await answer.getByRole('region', { name: 'Events' }).innerText(), wanted)
    }
    await console.forgiveMoves()
    await console.judge(t, 'two answers')
    await page.locator('.events summary').last().click()
    await page.locator('.turn').first().scrollIntoViewIfNeeded()
    await console.picture('playground-answers')
  },
)

test(
  'pictures of an answer are shown, files go where the model takes them, and code names them',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const console = await browser.page(t, url, { theme: 'dark', width: 360 })
    const { page } = console
    await console.open('playground?model=sim/painter')
    await console.signIn()
    await page.getByLabel('Paid by').selectOption('key')
    await page.getByLabel('Key', { exact: true }).fill(API_KEY)
    await page.getByText('This model takes text alone.').waitFor()
    t.ok(await page.getByLabel('Files', { exact: true }).isDisabled())
    const say = async (text: string): Promise<void> => {
      await page.getByLabel('Your message').fill(text)
      await page.getByRole('button', { name: 'Send' }).click()
    }
    await say('a fox')
    await page.locator('.turn.assistant img').waitFor()
    await page.getByRole('button', { name: 'Begin anew' }).click()
    await page.getByLabel('Model', { exact: true }).selectOption('sim/filemaker')
    await page.getByText('They go with your message.').waitFor()
    await console.forgiveMoves()
    const buffer = Buffer.from('the gate opens at nine')
    await page
      .getByLabel('Files', { exact: true })
      .setInputFiles({ name: "gate's.txt", mimeType: 'text/plain', buffer })
    await say('what does it say?')
    await page.locator('.turn.assistant').getByRole('link', { name: 'Its row' }).waitFor()
    t.equal(await page.locator('.turn.user .attached').innerText(), "gate's.txt")
    const code = page.locator('.code pre')
    t.match(await code.innerText(), "BASE64_OF_gate'\\''s.txt")
    for (const [as, wanted] of [
      ['openai-python', 'api_key=os.environ["API_KEY"]'],
      ['openai-node', 'process.env.API_KEY'],
      ['anthropic-python', 'with client.messages.stream('],
      ['anthropic-typescript', '.finalMessage()'],
    ] as const) {
      await page.getByLabel('Language').selectOption(as)
      await code.filter({ hasText: wanted }).waitFor()
      t.notMatch(await code.innerText(), buffer.toString('base64'), as)
    }
    t.notOk((await page.content()).includes(API_KEY), 'the key is nowhere on the page')
    await console.judge(t, 'a file')
    await console.picture('playground-file')
  },
)
