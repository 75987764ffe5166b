/** The built guide as files: complete, without a dead link, and fit for the server's policy. */
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseHTML } from 'linkedom'
import { test } from 'tap'
import { VERSION } from '../../src/base/version.js'
import { textsBelow, textsOf } from '../documents/tree.js'

const SITE = fileURLToPath(new URL(`../../guide/${VERSION}/`, import.meta.url))
const files = new Set(readdirSync(SITE, { recursive: true, encoding: 'utf8' }))
const UNKNOWN = '404.html'
const pages = new Map(
  [...files]
    .filter((path) => path.endsWith('.html') && path !== UNKNOWN)
    .map((path) => [path, parseHTML(readFileSync(SITE + path, 'utf8')).document]),
)
/** Pages of the server beside the guide. */
const SERVED = ['../../../docs', '../../../console']
/** Files of the repository that are pages beside those of `docs`. */
const ALSO = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'bench/RESULTS.md',
  'examples/README.md',
]

test('every page of the documents is there, with its title, and reached from the first page', async (t) => {
  const sources = { ...textsBelow(['docs'], /\.md$/), ...textsOf(ALSO) }
  const titles = [...pages.values()].map((page) => page.querySelector('h1')?.textContent)
  for (const [path, text] of Object.entries(sources)) {
    const [, title = ''] = /^# (.+)$/m.exec(text) ?? []
    t.ok(titles.includes(title.replaceAll('`', '')), `${path}: ${title}`)
  }
  const reached = new Set(['index.html'])
  for (const path of reached) for (const { to } of linksOf(path)) if (pages.has(to)) reached.add(to)
  t.same(
    [...pages.keys()].filter((path) => !reached.has(path)),
    [],
  )
})

test('every link within leads to a file that is there and to something of its page', async (t) => {
  const links = [...pages.keys()].flatMap((path) => linksOf(path).map((link) => ({ path, ...link })))
  const dead = links.filter(({ to, anchor }) => {
    const target = pages.get(to)
    return !(target || files.has(to)) || (anchor !== '' && !target?.getElementById(anchor))
  })
  t.same(dead, [])
  t.ok(links.length > 5000, `${links.length} links`)
})

interface Link {
  readonly href: string
  /** Path of the file that is meant. */
  readonly to: string
  readonly anchor: string
}

/** What a page links to or loads within the site. */
function linksOf(path: string): Link[] {
  return [...pages.get(path)!.querySelectorAll('[href], [src]')]
    .map((element) => element.getAttribute('href') ?? element.getAttribute('src')!)
    .filter((href) => !/^[a-z]+:/.test(href))
    .flatMap((href) => {
      const [file = '', anchor = ''] = href.split('#')
      const to = file === '' ? path : posix.join(posix.dirname(path), file)
      return SERVED.includes(to) ? [] : [{ href, to, anchor: decodeURIComponent(anchor) }]
    })
}

test('pages go on to each other in one line from the first to the last', async (t) => {
  const line = ['index.html']
  for (let at: string | undefined = line[0]; at !== undefined; ) {
    const next = pages.get(at)!.querySelector('a[rel="next"]')?.getAttribute('href')
    const to: string | undefined = next && posix.join(posix.dirname(at), next)
    if (to !== undefined) {
      line.push(to)
      const back = pages.get(to)!.querySelector('a[rel="prev"]')!.getAttribute('href')!
      t.equal(posix.join(posix.dirname(to), back), at, `${to} leads back`)
    }
    at = to
  }
  t.equal(line.length, pages.size)
  t.equal(new Set(line).size, pages.size)
})

test('a page names its version, describes itself, and has nothing inline and nothing from elsewhere', async (t) => {
  for (const [path, page] of pages) {
    t.match(page.querySelector('title')?.textContent, VERSION, path)
    t.ok(page.querySelector('meta[name="description"]')?.getAttribute('content'), path)
    t.equal(page.querySelectorAll('h1').length, 1, path)
    t.equal(page.querySelectorAll('img:not([width][height])').length, 0, `${path}: pictures have their place`)
    t.equal(page.querySelectorAll('style, [style], script:not([src]), iframe, object').length, 0, path)
    const loaded = [...page.querySelectorAll('[src], link[href]')].map(
      (each) => each.getAttribute('src') ?? each.getAttribute('href')!,
    )
    t.same(
      loaded.filter((url) => /^(\/|https?:)/.test(url)),
      [],
      path,
    )
  }
})

test('commands are told from what they print, and citations of the contract are links', async (t) => {
  const start = pages.get('start.html')!
  const [session] = [...start.querySelectorAll('.code')].filter((code) => code.querySelector('.prompt'))
  t.match(session?.textContent, /^\$ curl /)
  t.match(session?.querySelector('.printed')?.textContent, /^\{"name":"Lamp"/)
  const cited = [...pages.values()]
    .flatMap((page) => [...page.querySelectorAll('main a')])
    .filter((link) => /^contract\//.test(link.textContent))
  t.ok(cited.length > 0)
  for (const link of cited) t.match(link.getAttribute('href'), /(?:^|\/)[a-z]+\.html#\d/)
})
