/** Citations of what a request brought along and wants cited (contract/gateway 5.7). */
import type { ContentBlock, MessagesRequest } from '../../gateway/formats/messages.js'

/** Most characters of a passage. */
const PASSAGE = 80

/** One citation, of the first source that asks for it; none when none does. */
export function planCitations({ messages }: MessagesRequest): readonly ContentBlock[] {
  let documents = 0
  let results = 0
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const block of content) {
      const wanted = (block.citations as { readonly enabled?: boolean } | null | undefined)?.enabled === true
      if (block.type === 'document') {
        if (wanted) return [citeDocument(block, documents)]
        documents++
      } else if (block.type === 'search_result') {
        if (wanted) return [citeSearchResult(block, results)]
        results++
      }
    }
  }
  return []
}

function citeDocument({ source, title }: ContentBlock, index: number): ContentBlock {
  const { type, data, content } = source as {
    readonly type: string
    readonly data?: string
    readonly content?: unknown
  }
  const place = { document_index: index, document_title: title ?? null, file_id: null }
  if (type === 'text') {
    const cited_text = citedPassage(data ?? '')
    return {
      type: 'char_location',
      cited_text,
      ...place,
      start_char_index: 0,
      end_char_index: [...cited_text].length,
    }
  }
  if (type === 'content') {
    const cited_text = citedPassage(
      typeof content === 'string' ? content : firstText(content as readonly ContentBlock[]),
    )
    return { type: 'content_block_location', cited_text, ...place, start_block_index: 0, end_block_index: 1 }
  }
  // Nobody here looks into a PDF.
  return { type: 'page_location', cited_text: 'Page 1', ...place, start_page_number: 1, end_page_number: 2 }
}

function citeSearchResult({ source, title, content }: ContentBlock, index: number): ContentBlock {
  return {
    type: 'search_result_location',
    cited_text: citedPassage(firstText(content as readonly ContentBlock[])),
    source,
    title,
    search_result_index: index,
    start_block_index: 0,
    end_block_index: 1,
  }
}

function firstText(blocks: readonly ContentBlock[]): string {
  return (blocks.find(({ type }) => type === 'text')?.text ?? '') as string
}

/** The beginning of a text; never half of a surrogate pair. */
function citedPassage(text: string): string {
  const end = text.length > PASSAGE && isHighSurrogate(text.charCodeAt(PASSAGE - 1)) ? PASSAGE - 1 : PASSAGE
  return text.slice(0, end)
}

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800
}
