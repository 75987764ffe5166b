/** Links of Markdown pages, found and followed as far as the project reaches. */
import type { Texts } from './citations.js'

const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/
const FENCE = /^ {0,3}(`{3,}|~{3,})/
/** The target of an inline link or picture, with or without angle brackets, and perhaps a title. */
const INLINE = /\]\(\s*(?:<([^>\n]*)>|((?:[^\s()]|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/g
const REFERENCE = /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?/
const TAG = /<(?:a|img)\b[^>]*?\s(?:href|src)="([^"]*)"/gi
const ANCHOR = /<a\b[^>]*?\s(?:id|name)="([^"]+)"/gi
const ELSEWHERE = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i

interface Line {
  readonly number: number
  readonly text: string
}

/** The lines of a page that are no code. */
function proseOf(page: string): Line[] {
  const lines: Line[] = []
  let fence: string | null = null
  for (const [at, text] of page.split(/\r?\n/).entries()) {
    const mark = FENCE.exec(text)?.[1]
    if (fence === null && mark === undefined) lines.push({ number: at + 1, text })
    else if (fence === null) fence = mark!
    else if (mark?.startsWith(fence) === true && text.trim() === mark) fence = null
  }
  return lines
}

/** The text without its spans of code, which hold no links. */
function withoutCode(text: string): string {
  return text.replace(/(`+)(?!`).*?(?<!`)\1(?!`)/g, '')
}

/**
 * The anchors of a page: of its headings by the rule of GitHub (lower case; letters, digits, hyphens and underscores
 * stay; blanks become hyphens; a number behind a repetition), and those that are written as tags.
 */
export function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  const seen = new Map<string, number>()
  for (const { text } of proseOf(page)) {
    for (const [, name = ''] of text.matchAll(ANCHOR)) anchors.add(name)
    const words = HEADING.exec(text)?.[2]
    if (words === undefined) continue
    const slug = slugOf(words)
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    anchors.add(times === 0 ? slug : `${slug}-${times}`)
  }
  return anchors
}

function slugOf(heading: string): string {
  const words = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/<[^>]+>/g, '')
  return words
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replace(/ /g, '-')
}

/**
 * One sentence for each link of a page that leads nowhere in the project, with file and line. `isThere` tells of any
 * path, `pages` has the texts in which anchors are looked up. Links to other sites are not followed.
 */
export function brokenLinks(pages: Texts, isThere: (path: string) => boolean): string[] {
  return Object.entries(pages).flatMap(([path, page]) =>
    proseOf(page).flatMap(({ number, text }) =>
      targetsOf(text).flatMap((target) => {
        const fault = faultOf(target, path, pages, isThere)
        return fault === null ? [] : [`${path}:${number}: ${target}: ${fault}`]
      }),
    ),
  )
}

/** How many links lead to somewhere in the project. */
export function countLinks(pages: Texts): number {
  const lines = Object.values(pages).flatMap(proseOf)
  return lines.flatMap(({ text }) => targetsOf(text)).filter((target) => !ELSEWHERE.test(target)).length
}

function targetsOf(line: string): string[] {
  const text = withoutCode(line)
  return [
    ...[...text.matchAll(INLINE)].map(({ 1: bracketed, 2: plain }) => bracketed ?? plain ?? ''),
    ...[...text.matchAll(TAG)].map(([, target = '']) => target),
    ...(REFERENCE.exec(text)?.slice(1) ?? []),
  ]
}

function faultOf(
  target: string,
  from: string,
  pages: Texts,
  isThere: (path: string) => boolean,
): string | null {
  if (ELSEWHERE.test(target)) return null
  const [place = '', anchor] = target.split('#')
  const path = place === '' ? from : resolved(from, decodeURIComponent(place))
  if (path === null) return 'leads out of the project'
  if (!isThere(path)) return `there is no ${path}`
  if (anchor === undefined || !path.endsWith('.md')) return null
  const page = pages[path]
  if (page === undefined) return `${path} is none of the pages whose anchors are known`
  return anchorsOf(page).has(decodeURIComponent(anchor)) ? null : `${path} has no such heading`
}

/** The path of a link from the root of the project; null when it leads out. */
function resolved(from: string, place: string): string | null {
  const parts = place.startsWith('/') ? [] : from.split('/').slice(0, -1)
  for (const part of place.split('/')) {
    if (part === '..' && parts.pop() === undefined) return null
    if (part !== '..' && part !== '.' && part !== '') parts.push(part)
  }
  return parts.join('/')
}
