import { test } from 'tap'
import { anchorsOf, brokenLinks, countLinks } from './documents/links.js'
import { isThere, textsBelow, textsOf } from './documents/tree.js'

const pages = {
  ...textsOf(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']),
  ...textsBelow(['docs'], /\.md$/),
}

test('every link within the documents leads to a file that is there, and to one of its headings', async (t) => {
  t.ok(countLinks(pages) > 10, 'links are found')
  t.strictSame(brokenLinks(pages, isThere), [])
})

const OTHER = '# Other\n\n## What `tools` do, and when\n\n## Twice\n\n## Twice\n\n<a id="here"></a>\n'

function linksOf(text: string): string[] {
  const known = { 'docs/page.md': text, 'docs/guide/other.md': OTHER, 'README.md': '# Sluice' }
  return brokenLinks(known, (path) => path in known || path === 'docs/guide' || path === 'docs/map.png')
}

test('links that lead somewhere are taken, and those to other sites are not followed', async (t) => {
  for (const text of [
    '[other](guide/other.md), [itself](#page)\n# Page',
    '[tools](guide/other.md#what-tools-do-and-when) and [two](./guide/other.md#twice-1 "again")',
    '[up](../README.md#sluice) ![map](map.png) [folder](guide/) <a href="guide/other.md#here">here</a>',
    '[site](https://example.com/nothing.md#x) <mailto:a@example.com>',
    '```md\n[code](nothing.md)\n```\nand `[code](nothing.md)`',
    '[by name][x]\n\n[x]: guide/other.md#twice',
  ]) {
    t.strictSame(linksOf(text), [], text)
  }
})

test('links that lead nowhere are told with their file and line', async (t) => {
  for (const [text, told] of [
    ['# Page\n\n[a](gone.md)', 'docs/page.md:3: gone.md: there is no docs/gone.md'],
    ['[a](#gone)', 'docs/page.md:1: #gone: docs/page.md has no such heading'],
    [
      '[a](guide/other.md#twice-2)',
      'docs/page.md:1: guide/other.md#twice-2: docs/guide/other.md has no such heading',
    ],
    ['![a](gone.png)', 'docs/page.md:1: gone.png: there is no docs/gone.png'],
    ['[a](../../out.md)', 'docs/page.md:1: ../../out.md: leads out of the project'],
    ['<img src="gone.png">', 'docs/page.md:1: gone.png: there is no docs/gone.png'],
    ['[x]: gone.md', 'docs/page.md:1: gone.md: there is no docs/gone.md'],
  ] as const) {
    t.strictSame(linksOf(text), [told])
  }
})

test('anchors are those of the headings, code and repetitions included', async (t) => {
  const page = '# A B\n## 2.1 Top-level members\n## a b\n```\n# no heading\n```\n## Größe & „Maß“ — x_y #'
  t.strictSame([...anchorsOf(page)], ['a-b', '21-top-level-members', 'a-b-1', 'größe--maß--x_y'])
})
