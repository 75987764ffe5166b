import { test } from 'tap'
import type { JsonObject } from '../../../src/gateway/formats/json-values.js'
import type { PreparedTool, ToolOutcome } from '../../../src/gateway/tools/port/tool.js'
import { createWebSearchTool } from '../../../src/gateway/tools/web-search/web-search.js'
import { enginesOf, found, ScriptedEngine } from '../../support/tools/scripted-web.js'
import { prepared, refusalOf, toolRun } from '../../support/tools/tool-call.js'

function searching(...names: readonly string[]) {
  const engines = names.map((name) => new ScriptedEngine(name, `${name}.test`))
  const [engine] = engines
  return {
    engine: engine!,
    tool: createWebSearchTool({ engines: () => enginesOf(...engines), price: () => 5_000 }),
  }
}

const run = (ready: PreparedTool, query: unknown = 'tidal power'): Promise<ToolOutcome> =>
  ready.run({ id: 'call_1', function: 'web_search', arguments: { query } as JsonObject }, toolRun())

const errorOf = ({ content }: ToolOutcome) => (content as { error?: string }).error

test('results, citations, units and what was reached', async (t) => {
  const { engine, tool } = searching('brave')
  engine.outcome = { ok: true, results: [found('https://a.example/x', { pageAge: '2026-01-02' })] }
  const ready = await prepared(tool)
  t.equal(ready.backend, 'brave')
  t.equal(ready.fee({ id: '', function: '', arguments: {} }), 5_000)
  t.same(await run(ready), {
    content: {
      results: [
        {
          url: 'https://a.example/x',
          title: 'About https://a.example/x',
          content: 'some words',
          page_age: '2026-01-02',
        },
      ],
    },
    isError: false,
    executed: true,
    charged: 5_000,
    units: { web_searches: 1, search_results: 1 },
    reached: ['brave.test'],
    citations: [
      {
        url: 'https://a.example/x',
        title: 'About https://a.example/x',
        content: 'some words',
        pageAge: '2026-01-02',
      },
    ],
  })
  t.match(engine.asked, [{ text: 'tidal power', count: 5, maxCharacters: 4_000, allowed: [], excluded: [] }])
})

test('which engine searches', async (t) => {
  const { tool } = searching('exa', 'brave')
  t.equal((await prepared(tool)).backend, 'exa', 'the configured one')
  t.equal(
    (await prepared(tool, { engine: 'auto' }, { isSimulated: true })).backend,
    'exa',
    'also for simulated models',
  )
  t.equal((await prepared(tool, { engine: 'brave' })).backend, 'brave')
  const of = { member: ['parameters', 'engine'] }
  t.match(await refusalOf(tool, { engine: 'tavily' }), {
    ...of,
    refused: 'tavily is not configured: set tools.web_search.tavily',
  })
  t.match(await refusalOf(tool, { engine: 'perplexity' }), { ...of, refused: /perplexity is not configured/ })
  t.match(await refusalOf(tool, { engine: 'native' }), { ...of, refused: /native: the provider/ })
  const { tool: bare } = searching()
  t.match(await refusalOf(bare, {}), { refused: /set tools\.web_search/ })
  t.match(await refusalOf(tool, { x_search: { from_date: '2026-01-01' } }), {
    refused: /search posts themselves/,
    member: ['parameters', 'x_search'],
  })
  t.equal((await prepared(bare, {}, { isSimulated: true })).backend, 'simulated')
  t.match(await refusalOf(bare, { engine: 'exa' }, { isSimulated: true }), {
    refused: /exa is not configured/,
  })
})

test('what the request says reaches the engine', async (t) => {
  const { engine, tool } = searching('exa')
  const location = { type: 'approximate', country: 'DE' }
  const parameters = {
    ...{ max_results: 7, max_characters: 123, mode: 'deep', user_location: location },
    search_context_size: 'high',
  }
  await run(await prepared(tool, parameters), `  ${'x'.repeat(2_000)}`)
  t.match(engine.asked, [{ count: 7, maxCharacters: 123, mode: 'deep', location, text: /^x{1000}$/ }])
  for (const [size, characters] of [
    ['low', 5_000],
    ['medium', 15_000],
    ['high', 30_000],
  ] as const) {
    await run(await prepared(tool, { search_context_size: size, max_results: 1_000 }))
    t.match(engine.asked.at(-1), { maxCharacters: characters, count: 20 })
  }
})

test('domains are filtered again, whatever the engine gives', async (t) => {
  const { engine, tool } = searching('searxng')
  engine.outcome = {
    ok: true,
    results: ['a.example', 'www.a.example', 'nota.example', 'b.example'].map((host) =>
      found(`https://${host}/`),
    ),
  }
  const hosts = async (parameters: JsonObject) => {
    const { citations = [] } = await run(await prepared(tool, parameters))
    return citations.map(({ url }) => new URL(url).hostname)
  }
  t.same(await hosts({ allowed_domains: ['a.example'] }), ['a.example', 'www.a.example'])
  t.match(engine.asked.at(-1), { allowed: ['a.example'], count: 20 }, 'more is asked for than is wanted')
  t.same(await hosts({ excluded_domains: ['A.EXAMPLE'] }), ['nota.example', 'b.example'])
  t.same(await hosts({ blocked_domains: ['b.example'], max_results: 2 }), ['a.example', 'www.a.example'])
  t.match(await refusalOf(tool, { allowed_domains: ['ok.example', 'a b'] }), {
    refused: /must be a domain/,
    member: ['parameters', 'allowed_domains', 1],
  })
  t.match(await refusalOf(tool, { allowed_domains: ['a.example'], blocked_domains: ['a.example'] }), {
    refused: /other list denies/,
    member: ['parameters', 'allowed_domains', 0],
  })
})

test('limits of a request: what is refused is not executed and pays nothing', async (t) => {
  const { engine, tool } = searching('exa')
  const unpaid = { isError: true, executed: false, charged: 0 }
  const twice = await prepared(tool, { max_uses: 2 })
  const [one, two, three] = await Promise.all([run(twice), run(twice), run(twice)])
  t.match([one, two], [{ executed: true }, { executed: true }], 'also of calls at the same time')
  t.match(three, unpaid)
  t.match(errorOf(three!), /allows 2 searches \(max_uses\)/)
  const total = await prepared(tool, { max_total_results: 3 })
  t.match((await run(total)).units, { search_results: 2 })
  t.match((await run(total)).units, { search_results: 1 }, 'the rest')
  const none = await run(total)
  t.match(none, unpaid)
  t.match(errorOf(none), /max_total_results/)
  const before = engine.asked.length
  for (const query of [null, '', '   ', 7, ['x']]) t.match(await run(await prepared(tool), query), unpaid)
  t.equal(engine.asked.length, before)
})

test('an engine that fails was asked: the call counts and pays, and its error is the result', async (t) => {
  const { engine, tool } = searching('exa')
  engine.outcome = { ok: false, error: 'exa answers with status 500' }
  const outcome = await run(await prepared(tool))
  t.match(outcome, { isError: true, executed: true, charged: 5_000, units: { web_searches: 1 } })
  t.equal(errorOf(outcome), 'exa answers with status 500')
})
