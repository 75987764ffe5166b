import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { mockUpstream } from '../support/providers/mock-upstream.js'
import { mockChunk } from '../support/servers/chat-bench.js'
import type { Json } from '../support/servers/gateway-server.js'
import { API_KEY, KEYS, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'
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
    await page.locator('summary', { hasText: 'Tools and plugins' }).click()
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
    await console.open('playground?model=sim/agent')
    await page.getByText(/first event after \d+ ms/).waitFor()
    await console.open('playground?model=acme/none')
    await page.getByText('there is no such model').waitFor()
    await page.getByLabel('Your message').fill('hello')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'Model acme/none does not exist' }).waitFor()
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
    await console.forgiveMoves()
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

test(
  'in either format files that a tool has made can be had, by a session that may read them',
  SKIP,
  async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const console = await browser.page(t, url)
    const { page } = console
    await console.open('playground?model=sim/agent')
    await console.signIn()
    await page.getByLabel('Paid by').selectOption('key')
    await page.getByLabel('Key', { exact: true }).fill(API_KEY)
    await page.locator('summary', { hasText: 'Tools and plugins' }).click()
    await page.getByLabel('files', { exact: true }).check()
    for (const [n, format] of ['chat', 'messages'].entries()) {
      await page.getByLabel('Format').selectOption(format)
      const write = { command: 'write', filename: `oats-${n}.txt`, content: 'Oats.' }
      await page.getByLabel('Your message').fill(`call service:files ${JSON.stringify(write)}\nanswer done`)
      await page.keyboard.press('Enter')
      const made = page.locator('.turn.assistant').nth(n).getByRole('link', { name: write.filename })
      const [download] = await Promise.all([page.waitForEvent('download'), made.click()])
      t.equal(download.suggestedFilename(), write.filename)
      const stream = await download.createReadStream()
      t.equal(Buffer.concat(await stream.toArray()).toString(), 'Oats.', format)
    }
    await console.forgiveMoves()
    await console.judge(t, 'files of tools')
  },
)

const CITED = { url: 'https://example.test/manners', title: 'Manners' }

test(
  'a model is asked to speak; what it says is read and heard, and what it cites stands below',
  SKIP,
  async (t) => {
    const upstream = await mockUpstream(t, (peer) => {
      const audio = { id: 'audio_1', data: Buffer.alloc(24_000).toString('base64') }
      peer.stream([
        mockChunk({ audio: { id: audio.id, transcript: 'Good ' } }),
        mockChunk({ audio: { ...audio, transcript: 'evening' } }),
        mockChunk({ annotations: [{ type: 'url_citation', url_citation: CITED }] }),
        mockChunk({}, 'stop'),
      ])
    })
    const config = join(tempFolder(t), 'sluice.json')
    const model = { input_modalities: ['text', 'audio'], output_modalities: ['text', 'audio'] }
    writeFileSync(
      config,
      JSON.stringify({
        providers: { open: { kind: 'openai', base_url: `${upstream.origin}/v1` } },
        models: { 'acme/voice': { ...model, endpoints: [{ provider: 'open' }], supported_voices: ['ash'] } },
      }),
    )
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1', SLUICE_CONFIG: config })
    const console = await browser.page(t, url)
    const { page } = console
    await console.open('playground?model=acme/voice')
    await console.signIn()
    await page.getByLabel('Voice').waitFor()
    await page
      .getByLabel('Files', { exact: true })
      .setInputFiles({ name: 'question.wav', mimeType: 'audio/wav', buffer: Buffer.from('RIFF') })
    await page.getByLabel('Your message').fill('Answer this.')
    await page.keyboard.press('Enter')
    const answer = page.locator('.turn.assistant')
    await answer.getByRole('link', { name: 'audio.wav' }).waitFor()
    t.equal(await answer.locator('.said').innerText(), 'Good evening')
    const seconds = (): Promise<number> =>
      answer.locator('audio').evaluate((player) => (player as unknown as { duration: number }).duration)
    t.ok(await eventually(async () => (await seconds()) > 0))
    t.equal(await seconds(), 0.5, '24,000 bytes of 16-bit samples, 24,000 of them a second')
    const source = answer.getByRole('list', { name: 'Sources' }).getByRole('link', { name: CITED.title })
    const names = ['href', 'target', 'rel']
    const attributes = await Promise.all(names.map((name) => source.getAttribute(name)))
    t.same(attributes, [CITED.url, '_blank', 'noreferrer'])
    await console.forgiveMoves()
    await console.judge(t, 'a spoken answer with a source')
    await console.picture('playground-spoken')
    const sent = JSON.parse(upstream.requests.at(-1)!.body) as Json
    t.match(sent, { modalities: ['text', 'audio'], audio: { voice: 'ash', format: 'pcm16' } })
    t.match(sent.messages.at(-1).content[1], {
      type: 'input_audio',
      input_audio: { data: Buffer.from('RIFF').toString('base64'), format: 'wav' },
    })
    t.same(console.problems, [])
  },
)
