/** What a test can know about the documents: links lead somewhere, and the lists of pages are complete. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'tap'

const ROOTS = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'bench/RESULTS.md']

function markdownBelow(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.md')).map((name) => join(folder, name))
}

const DOCUMENTS = [...ROOTS, ...markdownBelow('docs')]

/** The text without fenced code, whose brackets are no links and whose comments are no headings. */
function prose(document: string): string {
  return readFileSync(document, 'utf8').replace(/^ *```[\s\S]*?^ *```$/gm, '')
}

/** The anchors of a page as code hosts make them: lower case, punctuation dropped, spaces as hyphens, repeats counted. */
function anchorsOf(document: string): Set<string> {
  const anchors = new Set<string>()
  const seen = new Map<string, number>()
  for (const [, heading = ''] of prose(document).matchAll(/^#{1,6} +(.+)$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const slug = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

/** Why a link of that document leads nowhere; null when it leads somewhere, or out of the repository. */
function problemOf(document: string, target: string): string | null {
  if (/^[a-z]+:/.test(target)) return null
  const [path = '', anchor = ''] = target.split('#')
  const place = path === '' ? document : normalize(join(dirname(document), path))
  if (!existsSync(place)) return `${place} does not exist`
  if (anchor === '') return null
  if (statSync(place).isDirectory() || !place.endsWith('.md')) return `${place} has no headings`
  return anchorsOf(place).has(anchor) ? null : `${place} has no heading #${anchor}`
}

test('every link between documents leads to a file and a heading that exist', async (t) => {
  let links = 0
  for (const document of DOCUMENTS) {
    const text = prose(document).replace(/`[^`\n]*`/g, '')
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      links++
      t.equal(problemOf(document, target), null, `${document}: ${target}`)
    }
  }
  t.ok(links > 80, `${links} links were followed`)
})

test('a link to a missing file or heading would be noticed', async (t) => {
  t.match(problemOf('README.md', 'docs/guide/nowhere.md'), /does not exist/)
  t.match(problemOf('README.md', 'docs/guide/keys.md#nowhere'), /no heading #nowhere/)
  t.equal(problemOf('docs/guide/drill.md', 'keys.md#the-first-start'), null)
})

for (const folder of ['docs/guide', 'docs/decisions']) {
  test(`the list of ${folder} names every page in its table`, async (t) => {
    const rows = readFileSync(`${folder}/README.md`, 'utf8').match(/^\| .*$/gm) ?? []
    for (const page of readdirSync(folder)) {
      if (page !== 'README.md') t.ok(rows.join('\n').includes(`(${page})`), page)
    }
  })
}

test('the list of decisions has number, date and title of each page', async (t) => {
  const list = readFileSync('docs/decisions/README.md', 'utf8')
  const pages = readdirSync('docs/decisions').filter((page) => page !== 'README.md')
  for (const [index, page] of pages.sort().entries()) {
    const [heading = '', , state = ''] = readFileSync(`docs/decisions/${page}`, 'utf8').split('\n')
    const number = String(index + 1).padStart(4, '0')
    const [date = ''] = state.split(' · ')
    t.ok(page.startsWith(`${number}-`) && heading.startsWith(`# ${number} `), `${page}: ${heading}`)
    const title = heading.replace(/^# \d+ /, '')
    t.ok(list.includes(`| [${number}](${page}) | ${date} | ${title} |`), `${number} ${date} ${title}`)
  }
})
