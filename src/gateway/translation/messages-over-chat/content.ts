/** Blocks of a messages request as parts of chat (contract/gateway 5.5 and 2.3). */
import type { CacheControl, ContentPart } from '../../formats/canonical.js'
import { contentText } from '../../formats/content-parts.js'
import { asList, asObject, nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock } from '../../formats/messages.js'
import { formatDataUrl } from '../data-url.js'
import { type Translation, withoutUndefined } from '../translation.js'

/** The text itself, or its blocks as parts. */
export function toChatContent(content: unknown, translation: Translation): string | readonly ContentPart[] {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? toContentParts(content as readonly ContentBlock[], translation) : ''
}

export function toContentParts(blocks: readonly ContentBlock[], translation: Translation): ContentPart[] {
  return blocks.flatMap((block, at) => toParts(block, translation.at(at)))
}

/** The parts of one block, the last of them marked where the block is. */
export function toParts(block: ContentBlock, translation: Translation): readonly ContentPart[] {
  return markAtEnd(toPlainParts(block, translation), block.cache_control)
}

function toPlainParts(block: ContentBlock, translation: Translation): readonly ContentPart[] {
  switch (block.type) {
    case 'text':
      dropCitations(block, translation)
      return [text(block.text)]
    case 'image':
      return [toImagePart(block, translation)]
    case 'document':
      return toDocumentParts(block, translation)
    case 'search_result':
      if (asObject(block.citations)?.enabled === true) translation.drop('messages.search_result.citations')
      return [text(`${block.title}\n${block.source}\n\n${contentText(block.content)}`)]
    // Here every tool is loaded from the begin: the name is all there is to tell.
    case 'tool_reference':
      return [text(block.tool_name)]
    case 'compaction':
      if (nonEmptyText(block.encrypted_content)) translation.drop('messages.compaction.encrypted_content')
      return nonEmptyText(block.content) === undefined ? [] : [text(block.content)]
    default:
      return toWords(block, translation)
  }
}

/** In chat a mark stands on a part. */
export function markAtEnd(parts: readonly ContentPart[], mark: unknown): readonly ContentPart[] {
  if (asObject(mark) === null) return parts
  const cache_control = mark as CacheControl
  return parts.map((part, at) => (at === parts.length - 1 ? { ...part, cache_control } : part))
}

function text(words: unknown): ContentPart {
  return { type: 'text', text: nonEmptyText(words) ?? '' }
}

function dropCitations({ citations }: ContentBlock, translation: Translation): void {
  if (Array.isArray(citations) && citations.length > 0) translation.drop('messages.citations')
}

// ── Tools that the server ran, and kinds nobody here knows ──────────────────────

/**
 * What a call or a result of another server's tools says in words, which is all that a server of chat can read of it;
 * what else it held is named. So is a kind that has no words. Refuses it where the caller says it: it is of the
 * question.
 */
function toWords(block: ContentBlock, translation: Translation): readonly ContentPart[] {
  const words = wordsOf(block)
  if (words === '' && !/_tool_(use|result)$/.test(block.type))
    translation.refuse('', 'is of a kind that this provider cannot read')
  translation.dropKind('messages', block)
  return words === '' ? [] : [text(words)]
}

function wordsOf({ type, name, input, content, ...rest }: ContentBlock): string {
  if (type.endsWith('tool_use')) return `[${nonEmptyText(name) ?? ''}] ${JSON.stringify(input ?? {})}`
  if (!type.endsWith('_tool_result')) return contentText([{ type, content, ...rest }])
  const results = Array.isArray(content) ? content : [content]
  return results
    .map(resultWords)
    .filter((line) => line !== '')
    .join('\n')
}

/** The members of a result that mean something to whoever reads it. */
function resultWords(result: unknown): string {
  const members = asObject(result)
  if (members === null) return typeof result === 'string' ? result : ''
  const { title, url, stdout, stderr, error_code, content } = members
  const own = [title, url, stdout, stderr, error_code].filter((value) => nonEmptyText(value) !== undefined)
  return [...own, ...innerWords(content), ...innerWords([members])].join('\n')
}

function innerWords(content: unknown): string[] {
  const { source } = asObject(content) ?? {}
  const data = asObject(source)?.type === 'text' ? nonEmptyText(asObject(source)?.data) : undefined
  const words = asList(content).length > 0 || typeof content === 'string' ? contentText(content) : ''
  return [words, data ?? ''].filter((line) => line.trim() !== '')
}

// ── Pictures and documents ──────────────────────────────────────────────────

function toImagePart({ source }: ContentBlock, translation: Translation): ContentPart {
  const { type, url, media_type, data } = asObject(source) ?? {}
  if (type === 'url' && typeof url === 'string') return { type: 'image_url', image_url: { url } }
  if (type !== 'base64') translation.refuse('source', 'means nothing to this provider')
  const inline = formatDataUrl({ mediaType: String(media_type), data: String(data) })
  return { type: 'image_url', image_url: { url: inline } }
}

/** What chat has no member for stands before the document in words. */
function toDocumentParts(block: ContentBlock, translation: Translation): readonly ContentPart[] {
  const { source, title, context, citations } = block
  if (asObject(citations)?.enabled === true) translation.drop('messages.document.citations')
  const filename = nonEmptyText(title)
  const about = nonEmptyText(context) === undefined ? [] : [text(context)]
  const { type, content } = asObject(source) ?? {}
  if (type !== 'content') {
    const file = withoutUndefined({ file_data: toFileData(source, translation), filename })
    return [...about, { type: 'file', file }]
  }
  const inside = toChatContent(content, translation.at('source.content'))
  return [
    ...(filename === undefined ? [] : [text(filename)]),
    ...about,
    ...(typeof inside === 'string' ? [text(inside)] : inside),
  ]
}

function toFileData(source: unknown, translation: Translation): string {
  const { type, url, media_type, data } = asObject(source) ?? {}
  if (type === 'url' && typeof url === 'string') return url
  if (type === 'base64') return formatDataUrl({ mediaType: String(media_type), data: String(data) })
  if (type === 'text') {
    return formatDataUrl({ mediaType: 'text/plain', data: Buffer.from(String(data)).toString('base64') })
  }
  return translation.refuse('source', 'means nothing to this provider')
}
