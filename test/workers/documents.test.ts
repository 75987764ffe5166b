import { test } from 'tap'
import { NEVER_ABORTED } from '../../src/base/cancellation.js'
import type { DocumentReader } from '../../src/base/document-reader.js'
import { pooledDocumentReader } from '../../src/compose/document-reading.js'
import { CpuPool } from '../../src/cpu-pool/pool.js'
import { pdfBomb, pdfOf } from '../support/data/pdf.js'
import type { Lifetime } from '../support/data/temp-folder.js'

const READING = { organizationId: 'org-1', caller: NEVER_ABORTED }

function readerOf(t: Lifetime): DocumentReader {
  const pool = new CpuPool({ threads: 0, maxQueuedCost: 0 })
  t.after(() => pool.close())
  return pooledDocumentReader(pool)
}

const TOO_SLOW = 'takes more time or memory to read than a document may'
const MOST_TRIES = 6

/** Asks again where a busy machine has given the thread no turns within the five seconds of a document. */
async function patiently<T extends { readonly readable: boolean; readonly reason?: string }>(
  read: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const outcome = await read()
    if (outcome.reason !== TOO_SLOW || tries === MOST_TRIES) return outcome
  }
}

const page = (html: string | Uint8Array, charset: string | null = null) => ({
  bytes: typeof html === 'string' ? Buffer.from(html) : html,
  charset,
  url: 'https://news.example/2024/river',
  maxChars: 20_000,
})

const pdf = (bytes: Uint8Array, limits = {}) => ({ bytes, maxPages: 20, maxChars: 20_000, ...limits })

const PARAGRAPH = 'The river winds through the valley, slowly, and nobody counts its turns. '.repeat(8)
const ARTICLE = `<!doctype html><html><head><title>The river</title>
<meta property="article:published_time" content="2024-05-06"></head><body>
<nav><a href="/">Home</a> <a href="/sport">Sport</a></nav>
<article><h2>Its source</h2><p>${PARAGRAPH}</p><p>${PARAGRAPH} See <a href="map">the map</a>.</p>
<script>steal()</script><p>${PARAGRAPH}</p></article><footer>Imprint</footer></body></html>`

test('pages and PDFs', { timeout: 240_000 }, async (t) => {
  const hasty = readerOf(t)
  const reader: DocumentReader = {
    readPage: (asked, reading) => patiently(() => hasty.readPage(asked, reading)),
    readPdf: (asked, reading) => patiently(() => hasty.readPdf(asked, reading)),
  }

  t.test('the article of a page, its title and its date, without what stands around it', async (t) => {
    const read = await reader.readPage(page(ARTICLE), READING)
    t.match(read, { readable: true, title: 'The river', isCut: false, publishedAt: '2024-05-06' })
    const { text } = read as { text: string }
    t.match(text, /## Its source/)
    t.match(text, '[the map](https://news.example/2024/map)')
    t.notMatch(text, /Sport|steal|Imprint/)
  })

  t.test(
    'a page without an article is read as it stands, also without the tags that may be left out',
    async (t) => {
      const html =
        '<title>Shop</title><h1>Open</h1><p>daily <a href="/when">from nine</a><script>x()</script>'
      t.match(await reader.readPage(page(html), READING), {
        title: 'Shop',
        text: '# Open\n\ndaily [from nine](https://news.example/when)',
      })
    },
  )

  t.test('tables, lists and code are told in markdown, pictures by their text', async (t) => {
    const html =
      '<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><ul><li>one</li></ul><pre><code>x = 1</code></pre><img src="data:image/png;base64,AAAA" alt="a map">'
    const { text } = (await reader.readPage(page(html), READING)) as { text: string }
    t.match(text, '| a | b |')
    t.match(text, /- +one/)
    t.match(text, '```\nx = 1\n```')
    t.match(text, 'a map')
    t.notMatch(text, 'base64')
  })

  t.test('the encoding is that of the head, else that of the page, else UTF-8', async (t) => {
    const russian = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2])
    const said = Buffer.concat([Buffer.from('<meta charset="windows-1251"><p>'), russian])
    t.match(await reader.readPage(page(said), READING), { text: 'Привет' })
    t.match(await reader.readPage(page(russian, 'windows-1251'), READING), { text: 'Привет' })
    t.match(await reader.readPage(page('<p>Привет', 'no-such-charset'), READING), { text: 'Привет' })
  })

  t.test('a long text is cut, and says so', async (t) => {
    const read = await reader.readPage({ ...page('<p>😀😀😀'), maxChars: 3 }, READING)
    t.match(read, { text: '😀', isCut: true }, 'no half of a character')
  })

  const hostile: readonly [name: string, html: string, outcome: object][] = [
    [
      '100,000 nested elements',
      '<div>'.repeat(100_000),
      { readable: false, reason: /more than 30000 elements/ },
    ],
    ['1,000 nested elements', '<div>'.repeat(1000), { readable: false, reason: /nested more than 256 deep/ }],
    ['nothing', '', { readable: true, text: '' }],
    ['no page at all', '\0\x01<<>><a<b', { readable: true }],
    ['300,000 attributes', `<p ${'a=b '.repeat(300_000)}>`, { readable: true }],
    ['unclosed everything', '<table><tr><td><ul><li><b><a href="'.repeat(20), { readable: true }],
  ]
  for (const [name, html, outcome] of hostile)
    t.test(`a page of ${name} is answered`, async (t) => {
      t.match(await reader.readPage(page(html), READING), outcome)
    })

  t.test('the pages of a PDF', async (t) => {
    const read = await reader.readPdf(pdf(pdfOf('First page\nsecond line', 'Another')), READING)
    t.match(read, {
      readable: true,
      title: 'A small report',
      pages: ['First page\nsecond line', 'Another'],
      pageCount: 2,
      isCut: false,
    })
  })

  t.test('a PDF is cut by pages and by characters', async (t) => {
    const bytes = pdfOf('one', 'two', 'three')
    t.match(await reader.readPdf(pdf(bytes, { maxPages: 2 }), READING), {
      pages: ['one', 'two'],
      pageCount: 3,
      isCut: true,
    })
    t.match(await reader.readPdf(pdf(bytes, { maxChars: 4 }), READING), { pages: ['one', 't'], isCut: true })
  })

  for (const [name, bytes] of [
    ['nothing', Buffer.alloc(0)],
    ['a page', Buffer.from(ARTICLE)],
    ['the first half of one', pdfOf('a').subarray(0, 60)],
  ] as const)
    t.test(`what is no PDF is told: ${name}`, async (t) => {
      t.match(await reader.readPdf(pdf(bytes), READING), { readable: false, reason: 'is no PDF' })
    })

  t.test('broken PDFs are told or read, and their thread lives on', async (t) => {
    const whole = pdfOf('First page', 'Another', 'A third')
    const cuts = Array.from({ length: 40 }, (_, at) =>
      whole.subarray(0, Math.floor((whole.length * at) / 40)),
    )
    const dents = Array.from({ length: 80 }, (_, at) => {
      const dented = Buffer.from(whole)
      for (let byte = at; byte < dented.length; byte += 97) dented[byte] = (dented[byte]! * 7 + at) % 256
      return dented
    })
    for (const bytes of [...cuts, ...dents]) {
      const read = await reader.readPdf(pdf(bytes), READING)
      if (!read.readable) t.equal(read.reason, 'is no PDF')
    }
    t.match(await reader.readPdf(pdf(whole), READING), { pages: ['First page', 'Another', 'A third'] })
  })

  t.test('a page in which no article can be looked for is read as it stands', async (t) => {
    for (const html of [
      '<html',
      '<!--<html>',
      '<svg><html><title>',
      '</html><html><p',
      '<html><html><table><p>x',
    ])
      t.match(await reader.readPage(page(html), READING), { readable: true }, html)
  })

  t.test('what a page of a PDF unpacks to is bounded', async (t) => {
    const most = 16 * 1024 * 1024
    t.match(await reader.readPdf(pdf(pdfBomb(most / 16)), READING), { pages: ['end'] })
    const read = await hasty.readPdf(pdf(pdfBomb(2 * most)), READING)
    // On a machine that gives the thread no turns, the five seconds of a document are over before its bytes are.
    if (read.readable) t.same(read.pages, [''])
    else t.equal(read.reason, TOO_SLOW)
  })
})

test('a pool that is closed says that documents cannot be read now', async (t) => {
  const pool = new CpuPool({ threads: 0, maxQueuedCost: 0 })
  await pool.close()
  const read = await pooledDocumentReader(pool).readPage(page('<p>x'), READING)
  t.match(read, { readable: false, reason: /cannot be read now/ })
})
