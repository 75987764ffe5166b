/** A web page to the text of its article, as markdown. The page is a stranger's: each step has a bound. */
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'
import type { ReadHtml, TaskInput, TaskOutcome, UnreadableDocument } from '../tasks.js'
import { boundedTitle, cutText } from './bounded-text.js'
import { decodePage } from './decode-page.js'

/** A page of so many takes about a second. */
const MOST_ELEMENTS = 30_000
/** What finds the article takes time by the square of the depth; browsers build no more than 512 (HTML, 13.2). */
const MOST_NESTING = 256

/** What is no text for a reader, where no article is found. */
const FURNITURE =
  'title, script, style, noscript, template, iframe, object, svg, nav, header, footer, aside, form, button, select'

/** What is used of the tree that linkedom builds. */
interface PageElement {
  readonly firstElementChild: PageElement | null
  readonly nextElementSibling: PageElement | null
  cloneNode(isDeep: boolean): PageElement
  querySelectorAll(selector: string): Iterable<PageElement>
  readonly textContent: string | null
  getAttribute(name: string): string | null
  remove(): void
}

interface PageDocument {
  readonly documentElement: PageElement
  readonly body: PageElement
  querySelector(selector: string): PageElement | null
}

const unreadable = (reason: string): UnreadableDocument => ({ readable: false, reason })

export function readHtml({
  bytes,
  charset,
  url,
  maxChars,
}: TaskInput<'read-html'>): TaskOutcome<'read-html'> {
  const html = decodePage(bytes, charset)
  if (hasManyTags(html)) return { ok: true, value: unreadable(`has more than ${MOST_ELEMENTS} elements`) }
  const document = parsePage(html)
  if (isDeep(document.documentElement))
    return { ok: true, value: unreadable(`has elements nested more than ${MOST_NESTING} deep`) }
  return { ok: true, value: articleOf(document, url, maxChars) }
}

/** Each element has a start tag, or is one of the three that may go without. */
function hasManyTags(html: string): boolean {
  let count = 0
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at + 1)) {
    const code = html.charCodeAt(at + 1) | 0x20
    if (code >= 0x61 && code <= 0x7a && ++count > MOST_ELEMENTS) return true
  }
  return false
}

/** The parser does not add the tags that a page may leave out; without them it finds neither body nor article. */
function parsePage(html: string): PageDocument {
  const whole = /<html[\s>]/i.test(html.slice(0, 10_000)) ? parse(html) : null
  return whole?.documentElement ? whole : parse(`<html><body>${html}</body></html>`)
}

function parse(html: string): PageDocument {
  return (parseHTML(html) as { readonly document: PageDocument }).document
}

function isDeep(root: PageElement): boolean {
  let level: PageElement[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_NESTING) return true
    level = level.flatMap(childrenOf)
  }
  return false
}

function childrenOf(node: PageElement): PageElement[] {
  const children: PageElement[] = []
  for (let child = node.firstElementChild; child !== null; child = child.nextElementSibling)
    children.push(child)
  return children
}

function articleOf(document: PageDocument, url: string, maxChars: number): ReadHtml {
  // Links go on from here; a `base` of the page is not asked.
  for (const name of ['baseURI', 'documentURI']) Object.defineProperty(document, name, { value: url })
  const title = document.querySelector('title')?.textContent
  const body = document.body.cloneNode(true)
  const article = findArticle(document)
  const root = article?.content ?? withoutFurniture(body)
  const text = toMarkdown()
    .turndown(root as Parameters<TurndownService['turndown']>[0])
    .trim()
  return {
    readable: true,
    title: boundedTitle(article?.title || title),
    text: cutText(text, maxChars),
    isCut: text.length > maxChars,
    publishedAt: article?.publishedTime?.slice(0, 60) ?? null,
  }
}

/** Null where there is none; also where the page is so broken that looking for one throws. */
function findArticle(document: PageDocument) {
  try {
    return new Readability(document, { serializer: (element) => element as PageElement }).parse()
  } catch {
    return null
  }
}

function withoutFurniture(body: PageElement): PageElement {
  for (const element of body.querySelectorAll(FURNITURE)) element.remove()
  return body
}

function toMarkdown(): TurndownService {
  const service = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
  })
  service.addRule('pictures', {
    filter: 'img',
    replacement: (_, node) => (node as unknown as PageElement).getAttribute('alt') ?? '',
  })
  service.addRule('cells', { filter: ['td', 'th'], replacement: (content) => `| ${content.trim()} ` })
  service.addRule('rows', { filter: 'tr', replacement: (content) => `${content}|\n` })
  return service
}
