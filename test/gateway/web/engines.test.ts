/** Each search engine against a server that takes its documented wire alone. */
import tap, { test } from 'tap'
import { engineAsker } from '../../../src/gateway/web/engines/ask-engine.js'
import { configuredEngines } from '../../../src/gateway/web/engines/engines.js'
import type { SearchEngine, SearchOutcome, SearchQuery, SearchResult } from '../../../src/gateway/web/port.js'
import { jsonCaller } from '../../../src/upstream/call-json.js'
import { createUpstreamClient } from '../../../src/upstream/client.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { ENGINES, type Found, playEngine, SEARCH_KEY } from '../../support/providers/strict-search.js'

const mock = await mockUpstream(tap)
const client = createUpstreamClient()
tap.teardown(() => client.close())

const account = { baseUrl: mock.origin, key: SEARCH_KEY }
const engines = configuredEngines(engineAsker(jsonCaller(client)), {
  searxng: { baseUrl: mock.origin },
  brave: account,
  tavily: account,
  exa: account,
  preferred: 'tavily',
})

const ask = (engine: SearchEngine, query: Partial<SearchQuery> = {}, signal = new AbortController().signal) =>
  engine.search(
    { text: 'tidal power', count: 5, maxCharacters: 1_000, allowed: [], excluded: [], ...query },
    { organizationId: 'org-1', signal, deadlineAt: performance.now() + 5_000 },
  )

const resultsOf = (outcome: SearchOutcome) => (outcome.ok ? outcome.results : [outcome.error])

const FOUND: readonly Found[] = [
  { url: 'https://a.example/one', title: 'One', text: 'First words.', date: '2026-01-02' },
  { url: 'https://b.example/two', title: 'Two\n  lines', text: 'Second words.' },
]

test('the preferred engine is the one for auto', async (t) => {
  t.same([...engines.keys()][0], 'tavily')
  t.same([...engines.keys()].sort(), ['brave', 'exa', 'searxng', 'tavily'])
})

for (const name of Object.keys(ENGINES) as (keyof typeof ENGINES)[]) {
  const engine = engines.get(name)!

  test(`${name}: what it finds, as results`, async (t) => {
    mock.script = playEngine(name, FOUND)
    t.match(resultsOf(await ask(engine)), [
      { url: 'https://a.example/one', title: 'One', content: /^First words\./, pageAge: '2026-01-02' },
      { url: 'https://b.example/two', title: 'Two lines', content: /^Second words\./, pageAge: null },
    ])
    mock.script = playEngine(name, [])
    t.same(await ask(engine), { ok: true, results: [] }, 'nothing is found')
  })

  test(`${name}: domains, places, modes and long questions are asked for as it documents them`, async (t) => {
    mock.script = playEngine(name, FOUND)
    const location = {
      type: 'approximate',
      country: 'de',
      city: 'Köln',
      region: 'NRW',
      timezone: 'Europe/Berlin',
    }
    for (const query of [
      { allowed: ['a.example'] },
      { allowed: ['a.example', 'b.example'], mode: 'deep' },
      { excluded: ['c.example', 'd.example'], mode: 'turbo' },
      { location, count: 20, mode: 'advanced' },
      { text: `${'word '.repeat(190)}end`, excluded: ['c.example'] },
      { text: '"quoted" & <odd> #? \u{1f30a}', location: { country: 'Germany' } },
    ])
      t.match(await ask(engine, query), { ok: true }, JSON.stringify(query).slice(0, 80))
  })

  test(`${name}: results are bounded, none is told twice, and addresses are of the web`, async (t) => {
    const odd: Found[] = [
      { url: 'https://a.example/x', title: '', text: 'x'.repeat(5_000) },
      { url: 'https://a.example/x', title: 'again', text: '' },
      { url: 'javascript:alert(1)', title: 'no', text: '' },
      { url: 'not an address', title: 'no', text: '' },
      { url: `https://a.example/${'x'.repeat(3_000)}`, title: 'no', text: '' },
    ]
    mock.script = playEngine(name, odd)
    const results = resultsOf(await ask(engine, { maxCharacters: 100 })) as readonly SearchResult[]
    t.match(results, { length: 1 })
    t.ok(results[0]!.content.length <= 100)
    t.equal(results[0]!.title, 'https://a.example/x', 'what has no title is called by its address')
    mock.script = playEngine(
      name,
      Array.from({ length: 20 }, (_, n) => ({ url: `https://a.example/${n}`, title: 't', text: '' })),
    )
    t.match(resultsOf(await ask(engine, { count: 3 })), { length: 3 })
  })

  test(`${name}: what goes wrong is an error that says so, without the key`, async (t) => {
    for (const [status, body] of [
      [401, '{"error":"no"}'],
      [429, '{}'],
      [500, '<html>'],
      [302, ''],
    ] as const) {
      mock.script = (peer) => peer.answer(status, body, { location: 'http://127.0.0.1/' })
      const outcome = await ask(engine)
      t.match(outcome, { ok: false, error: new RegExp(`^${name} answers with status ${status}`) })
      t.notMatch(outcome, { error: SEARCH_KEY })
    }
    for (const body of ['', 'no json', '[', '"']) {
      mock.script = (peer) => peer.answer(200, body)
      t.match(await ask(engine), { ok: false, error: `${name} sends no JSON` })
    }
    mock.script = (peer) => peer.answer(200, `"${'x'.repeat(3_000_000)}"`)
    t.match(await ask(engine), { ok: false, error: /too large/ })
    mock.script = (peer) => peer.reset()
    t.match(await ask(engine), { ok: false, error: new RegExp(`^${name} gives no answer`) })
    for (const strange of ['null', '[]', '{"results":7,"web":[]}', '{"results":[null,1,{"url":1}]}']) {
      mock.script = (peer) => peer.answer(200, strange)
      const outcome = await ask(engine)
      t.same(outcome.ok ? outcome.results : [], [], strange)
    }
  })

  test(`${name}: a search that nobody waits for ends`, async (t) => {
    const abort = new AbortController()
    mock.script = () => abort.abort()
    t.match(await ask(engine, {}, abort.signal), { ok: false })
  })
}

test('searxng: 403 says which setting is missing', async (t) => {
  mock.script = (peer) => peer.answer(403, 'Forbidden')
  t.match(await ask(engines.get('searxng')!), { ok: false, error: /403; its settings have to list json/ })
})

test('searxng: no word of a question chooses engines, languages or times', async (t) => {
  let asked: string | null = null
  mock.script = (peer, request) => {
    asked = new URL(request.path, 'http://engine').searchParams.get('q')
    playEngine('searxng', FOUND)(peer, request)
  }
  const text = '!ddg ferry !!g\u00a0:de <3\x1f!images <!:wp a!b C: x<y !!'
  await ask(engines.get('searxng')!, { text, allowed: ['a.example'] })
  t.equal(asked, 'ddg ferry g\u00a0de 3\x1fimages wp a!b C: x<y  site:a.example')
})

test('searxng: engines that are blocked are no sign that nothing is to be found', async (t) => {
  const silent = [['google', 'CAPTCHA'], ['bing', 'timeout'], 'odd', [7]]
  mock.script = (peer) => peer.json({ results: [], unresponsive_engines: silent })
  t.match(await ask(engines.get('searxng')!), {
    ok: false,
    error: /did not answer: google \(CAPTCHA\), bing \(timeout\), odd, 7/,
  })
  mock.script = (peer) =>
    peer.json({ results: [{ url: 'https://a.example/', title: 'A' }], unresponsive_engines: silent })
  t.match(
    await ask(engines.get('searxng')!),
    { ok: true, results: { length: 1 } },
    'some results are results',
  )
})
