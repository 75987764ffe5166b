/** Citations of what the gateway has found, in texts that go out and come back (contract/tools 1.8). */
import { type JsonObject, objectsIn } from '../../formats/json-values.js'
import type { ContentBlock } from '../../formats/messages.js'
import type { UrlCitation } from '../../tools/port/tool.js'

/** Most characters of a source that a citation repeats. */
const LONGEST_CITED = 150

/** Their index is empty, which no server of the format takes back. */
export function citationOf({ url, title, content = '' }: UrlCitation): ContentBlock {
  const cited_text = content.slice(0, LONGEST_CITED).toWellFormed()
  return { type: 'web_search_result_location', url, title, cited_text, encrypted_index: '' }
}

/** A text without what only we have cited. */
export function withoutOwnCitations(block: ContentBlock): ContentBlock {
  if (!citesOurs(block)) return block
  const { citations: all, ...rest } = block
  const citations = objectsIn(all).filter((each) => !isOwnCitation(each))
  return citations.length === 0 ? rest : { ...rest, citations }
}

export function citesOurs({ type, citations }: ContentBlock): boolean {
  return type === 'text' && Array.isArray(citations) && objectsIn(citations).some(isOwnCitation)
}

function isOwnCitation({ type, encrypted_index }: JsonObject): boolean {
  return type === 'web_search_result_location' && encrypted_index === ''
}
