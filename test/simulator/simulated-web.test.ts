/** The web that is only here: what is found can be read, the same way each time, and nothing is dialled. */
// Runs in a process of its own: it looks at every address that the process dials.
import { test } from 'tap'
import { NEVER_ABORTED } from '../../src/base/cancellation.js'
import { systemClock } from '../../src/base/clock.js'
import { pooledDocumentReader } from '../../src/compose/document-reading.js'
import { CpuPool } from '../../src/cpu-pool/pool.js'
import { createPageReader } from '../../src/gateway/web/page-reader.js'
import type { SearchQuery, SearchResult } from '../../src/gateway/web/port.js'
import { MOVED, PAGES } from '../../src/simulator/web/pages.js'
import { simulatedSearch } from '../../src/simulator/web/search-index.js'
import { simulatedWeb } from '../../src/simulator/web/simulated-web.js'
import { dialledAddresses } from '../support/servers/dialled-addresses.js'

const CALL = {
  organizationId: 'org-1',
  signal: new AbortController().signal,
  deadlineAt: Number.POSITIVE_INFINITY,
}

async function found(text: string, more: Partial<SearchQuery> = {}): Promise<readonly SearchResult[]> {
  const query = { text, count: 5, maxCharacters: 4_000, allowed: [], excluded: [], ...more }
  const outcome = await simulatedSearch.search(query, CALL)
  if (!outcome.ok) throw new Error(outcome.error)
  return outcome.results
}

test('every page is found by words of its title, and names that no host has', async (t) => {
  for (const { url, title, published } of PAGES) {
    const [first] = await found(title)
    t.match(first, { url, title, pageAge: published })
    t.match(new URL(url).hostname, /\.example$/)
  }
  t.match(await found('eclipse'), [{ url: /night-sky/ }])
  t.match((await found('how do sluice gates work'))[0], { url: /sluice-gates/ })
  t.same(await found('zzzqqq'), [])
  t.same(await found('the of and'), [])
})

test('equal searches find equal pages, within their bounds', async (t) => {
  t.same(await found('gate three'), await found('gate three'))
  t.equal((await found('Port Aster', { count: 2 })).length, 2)
  for (const { content } of await found('Port Aster', { maxCharacters: 50 })) t.ok(content.length <= 50)
  const hosts = async (more: Partial<SearchQuery>) =>
    new Set((await found('gate', more)).map(({ url }) => new URL(url).hostname))
  t.same(await hosts({ allowed: ['gazette.example'] }), new Set(['gazette.example']))
  t.notOk((await hosts({ excluded: ['gazette.example'] })).has('gazette.example'))
  const begun = performance.now()
  await found('gate '.repeat(100_000))
  t.ok(performance.now() - begun < 1_000)
})

test('every page and PDF reads as it is written, without a dial', { timeout: 60_000 }, async (t) => {
  const dialled = dialledAddresses(t)
  const pool = new CpuPool({ threads: 0, maxQueuedCost: 0 })
  t.teardown(() => pool.close())
  const reader = createPageReader({
    fetchFile: async () => ({ ok: false, reason: 'the public web was asked', isBusy: false }),
    simulated: simulatedWeb,
    documents: pooledDocumentReader(pool),
    countTokens: async (texts) => ({ counts: texts.map(() => 0), areGuessed: true }),
    clock: systemClock,
    isOn: true,
    maxBytes: 1_000_000,
  })
  const read = (url: string, isSimulated = true) =>
    reader.read({ url, isSimulated, maxTokens: 10_000, refusal: () => null }, CALL)
  const plain = (text: string): string => text.replace(/[\s\\]+/g, ' ')
  for (const { url, title, paragraphs, kind } of PAGES) {
    const page = await read(url)
    t.match(page, { ok: true, url, title })
    if (page.ok) for (const text of paragraphs) t.ok(plain(page.text).includes(plain(text)), `${kind} ${url}`)
  }
  for (const from of Object.keys(MOVED)) t.match(await read(from), { ok: true, url: /(timetable|history)$/ })
  t.match(await read('http://harbour.example/ferry#top'), { ok: true, title: /Ferry/ })
  t.match(await read('https://harbour.example/none'), { ok: false, error: /status 404/ })
  t.match(await read('https://elsewhere.example/'), { ok: false, error: 'the public web was asked' })
  t.match(
    await read(PAGES[0]!.url, false),
    { ok: false, error: 'the public web was asked' },
    'for simulated models only',
  )
  t.same(dialled, [])
})

test('an address that may not be visited is refused at a redirect as well', async (t) => {
  const fetch = (url: string, refusal: (url: URL) => string | null, maxBytes = 100_000) =>
    simulatedWeb.fetchFile({
      ...{ url, refusal, maxBytes, timeoutMs: 1_000, organizationId: 'one', caller: NEVER_ABORTED },
      sink: { write: () => {} },
    })
  const refusal = ({ pathname }: URL) => (pathname.endsWith('history') ? 'not there' : null)
  t.match(await fetch('https://lighthouse.example/museum', refusal), { ok: false, reason: 'not there' })
  t.match(await fetch('https://lighthouse.example/visit', refusal), { ok: true, contentType: /html/ })
  t.match(await fetch('https://lighthouse.example/visit', () => null, 10), {
    ok: false,
    reason: /larger than 10/,
  })
})
