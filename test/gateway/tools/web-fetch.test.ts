import { test } from 'tap'
import type { JsonObject } from '../../../src/gateway/formats/json-values.js'
import type { PreparedTool, ToolOutcome, ToolRun } from '../../../src/gateway/tools/port/tool.js'
import { createWebFetchTool } from '../../../src/gateway/tools/web-fetch/web-fetch.js'
import { ScriptedReader, webPage } from '../../support/tools/scripted-web.js'
import { prepared, refusalOf, toolRun } from '../../support/tools/tool-call.js'

function fetching({ isOn = true, knownOnly = false } = {}) {
  const reader = new ScriptedReader(isOn)
  const tool = createWebFetchTool({ reader: () => reader, knownOnly: () => knownOnly, price: () => 7_000 })
  return { reader, tool }
}

const run = (ready: PreparedTool, url: unknown, more: Partial<ToolRun> = {}): Promise<ToolOutcome> =>
  ready.run({ id: 'call_1', function: 'web_fetch', arguments: { url } as JsonObject }, toolRun(more))

test('a page as the contract has it', async (t) => {
  const { reader, tool } = fetching()
  reader.answer = ({ url }) => webPage(`${url}found`, 'words '.repeat(200), { pageAge: '2025-02-03' })
  const outcome = await run(await prepared(tool), 'https://a.example/')
  t.match(outcome, {
    content: {
      url: 'https://a.example/found',
      title: 'Page https://a.example/found',
      content: /^words words/,
      status: 'completed',
      retrieved_at: '2026-01-01T00:00:00.000Z',
    },
    isError: false,
    executed: true,
    charged: 7_000,
    units: { web_fetches: 1 },
    reached: ['a.example'],
    citations: [{ url: 'https://a.example/found', pageAge: '2025-02-03', content: /^.{500}$/ }],
  })
  reader.answer = ({ url }) => webPage(url, 'half', { isCut: true })
  t.match(await run(await prepared(tool), 'https://a.example/'), {
    content: { content: /half\n\n\[cut here/ },
  })
})

test('what goes wrong is a result that says so', async (t) => {
  const { reader, tool } = fetching()
  reader.answer = () => ({ ok: false, error: 'its server answers with status 404' })
  t.match(await run(await prepared(tool), 'https://a.example/'), {
    content: { status: 'failed', error: 'its server answers with status 404' },
    isError: true,
    executed: true,
    charged: 7_000,
    reached: ['a.example'],
  })
  const nothing = { content: { status: 'failed' }, isError: true, executed: false, charged: 0 }
  for (const url of [undefined, '', 7, {}]) t.match(await run(await prepared(tool), url), nothing)
  const elsewhere = await prepared(tool, { allowed_domains: ['b.example'] })
  t.match(await run(elsewhere, 'https://a.example/'), nothing, 'whoever is not asked is not paid')
})

test('it is on by one setting, and always for pages of the simulated web', async (t) => {
  const { tool } = fetching({ isOn: false })
  t.match(await refusalOf(tool, {}), { refused: 'is not enabled: set tools.web_fetch.enabled to true' })
  t.equal((await prepared(tool, {}, { isSimulated: true })).backend, 'simulated')
  const { tool: open, reader } = fetching()
  t.equal((await prepared(open)).backend, 'fetch')
  for (const engine of ['auto', 'service', 'openrouter']) t.ok(await prepared(open, { engine }))
  for (const engine of ['native', 'exa', 'firecrawl', 'parallel'])
    t.match(await refusalOf(open, { engine }), {
      refused: new RegExp(`^${engine}`),
      member: ['parameters', 'engine'],
    })
  await run(await prepared(open, {}, { isSimulated: true }), 'https://a.example/')
  t.match(reader.asked, [{ isSimulated: true }])
})

test('without max_content_tokens a page gets a quarter of the context', async (t) => {
  const { reader, tool } = fetching()
  await run(await prepared(tool, {}, { contextLength: 8_000 }), 'https://a.example/')
  await run(await prepared(tool, { max_content_tokens: 77 }), 'https://a.example/')
  t.match(reader.asked, [{ maxTokens: 2_000 }, { maxTokens: 77 }])
})

test('max_uses, and never more than fifty', async (t) => {
  const { tool } = fetching()
  for (const [max, ran] of [
    [2, 2],
    [1_000, 50],
    [undefined, 50],
  ] as const) {
    const ready = await prepared(tool, max === undefined ? {} : { max_uses: max })
    const outcomes = await Promise.all(
      Array.from({ length: 52 }, (_, n) => run(ready, `https://a.example/${n}`)),
    )
    t.equal(outcomes.filter(({ executed }) => executed).length, ran)
    t.match(outcomes.at(-1), { content: { error: /max_uses/ }, isError: true, charged: 0 })
  }
})

test('domains', async (t) => {
  const { tool } = fetching()
  const ready = await prepared(tool, { allowed_domains: ['a.example'], blocked_domains: ['x.a.example'] })
  t.match(await run(ready, 'https://www.a.example/'), { isError: false })
  for (const url of ['https://x.a.example/', 'https://b.example/'])
    t.match(await run(ready, url), { content: { error: 'its domain is not allowed' } })
  t.match(await refusalOf(tool, { allowed_domains: ['a.example'], blocked_domains: ['a.example'] }), {
    refused: /other list denies/,
    member: ['parameters', 'allowed_domains', 0],
  })
  t.match(await refusalOf(tool, { blocked_domains: ['?'] }), { member: ['parameters', 'blocked_domains', 0] })
})

test('where the operator wants it, only addresses of the conversation or of results are read', async (t) => {
  const { reader, tool } = fetching({ knownOnly: true })
  const ready = await prepared(
    tool,
    {},
    { conversationTexts: () => ['See https://a.example/page#part, or (https://b.example/x_(y)).'] },
  )
  const asked = (url: string, messages: readonly object[] = []) =>
    run(ready, url, { request: { model: 'm', messages } as never })
  for (const url of ['https://a.example/page', 'HTTPS://A.EXAMPLE/page', 'https://b.example/x_(y)'])
    t.match(await asked(url), { isError: false }, url)
  const secret = 'https://a.example/page?stolen=secret'
  const refused = await asked(secret)
  t.match(refused, { executed: false, charged: 0, content: { error: /only addresses that stand/ } })
  t.notMatch(JSON.stringify(refused.content), 'stolen', 'what is refused does not become known by that')
  const said = { role: 'assistant', content: `I will read ${secret}` }
  t.match(await asked(secret, [said]), { executed: false })
  const result = { role: 'tool', tool_call_id: 'c', content: `{"results":[{"url":"${secret}"}]}` }
  t.match(await asked(secret, [said, result]), { isError: false }, 'a result has named it')
  t.equal(reader.asked.length, 4)
})
