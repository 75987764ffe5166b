/** Where the words of an answer come from: citations of the messages format, annotations of chat. */
import { asList, asObject, type JsonObject, nonEmptyText } from '../formats/json-values.js'
import type { ContentBlock } from '../formats/messages.js'

/** Of the answer's text, in UTF-16 units. */
interface TextRange {
  readonly start: number
  readonly end: number
}

/** The annotation that a citation is in chat; null for one of a document, which has no address there. */
export function toAnnotation(citation: unknown, range: TextRange): JsonObject | null {
  const { type, url, source, title, cited_text } = asObject(citation) ?? {}
  const address =
    type === 'web_search_result_location' ? url : type === 'search_result_location' ? source : null
  if (typeof address !== 'string' || !/^https?:\/\//i.test(address)) return null
  return urlCitation(address, title, range, nonEmptyText(cited_text))
}

/** What a search has found, as annotations of the place in the text where it stands; and files that came with it. */
export function resultAnnotations(block: ContentBlock, at: number): JsonObject[] {
  const { type, content } = block
  if (type === 'container_upload') return fileAnnotations([block])
  if (type.endsWith('code_execution_tool_result')) return fileAnnotations(asList(asObject(content)?.content))
  if (type !== 'web_search_tool_result') return []
  return asList(content).flatMap((result) => {
    const { url, title } = asObject(result) ?? {}
    return typeof url === 'string' ? [urlCitation(url, title, { start: at, end: at })] : []
  })
}

/** Of those that were kept here: an answer says nothing else of them. */
function fileAnnotations(outputs: readonly unknown[]): JsonObject[] {
  return outputs.flatMap((output) => {
    const { file_id, filename, mime_type, size_bytes } = asObject(output) ?? {}
    return typeof file_id === 'string'
      ? [{ type: 'file', file: { file_id, filename, mime_type, size_bytes } }]
      : []
  })
}

function urlCitation(url: string, title: unknown, { start, end }: TextRange, content?: string): JsonObject {
  const told = { url, title: nonEmptyText(title) ?? url, start_index: start, end_index: end }
  return { type: 'url_citation', url_citation: content === undefined ? told : { ...told, content } }
}

/** The citation that an annotation is; null for one that is of no address. */
export function toCitation(annotation: JsonObject): JsonObject | null {
  const { url, title, content } = asObject(annotation.url_citation) ?? {}
  if (annotation.type !== 'url_citation' || typeof url !== 'string') return null
  return {
    type: 'web_search_result_location',
    url,
    title: nonEmptyText(title) ?? url,
    cited_text: nonEmptyText(content) ?? '',
    encrypted_index: '',
  }
}

/** Whether a citation was made here: no messages server knows its index. */
export function isForeignCitation(citation: unknown): boolean {
  const { type, encrypted_index } = asObject(citation) ?? {}
  return type === 'web_search_result_location' && encrypted_index === ''
}
