/** What engines say, as results. */
import { type JsonObject, nonEmptyText, objectsIn } from '../../formats/json-values.js'
import type { SearchQuery, SearchResult } from '../port.js'

const MOST_URL = 2_048
const MOST_TITLE = 300

/**
 * The results among `entries`, at most `query.count` of them and none twice. What has no address of the web is left out.
 * @param contentOf texts of an entry, the best first; as many as fit are joined
 */
export function searchResults(
  entries: unknown,
  query: SearchQuery,
  contentOf: (entry: JsonObject) => readonly unknown[],
  ageOf: (entry: JsonObject) => unknown,
): readonly SearchResult[] {
  const results = new Map<string, SearchResult>()
  for (const entry of objectsIn(entries)) {
    const url = webAddress(entry.url)
    if (url === null || results.has(url)) continue
    const texts = contentOf(entry).map((text) => nonEmptyText(text) ?? '')
    const content = texts.filter((text) => text !== '').join('\n')
    results.set(url, {
      url,
      title: oneLine(nonEmptyText(entry.title) ?? url),
      content: cut(content, query.maxCharacters),
      pageAge: nonEmptyText(ageOf(entry))?.slice(0, 60) ?? null,
    })
    if (results.size === query.count) break
  }
  return [...results.values()]
}

function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MOST_URL || !URL.canParse(value)) return null
  const { protocol, href } = new URL(value)
  return protocol === 'http:' || protocol === 'https:' ? href : null
}

function oneLine(text: string): string {
  return cut(text.replace(/\s+/g, ' ').trim(), MOST_TITLE)
}

/** Without half a character at the end. */
export function cut(text: string, max: number): string {
  return text.length <= max
    ? text
    : text
        .slice(0, max)
        .toWellFormed()
        .replace(/\uFFFD$/, '')
}
