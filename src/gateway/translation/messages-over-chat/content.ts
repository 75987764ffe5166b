/** Blocks of the messages format as content parts of chat (contract/gateway 5.5 and 2.3). */
import type { CacheControl, ContentPart } from '../../formats/canonical.js'
import { asObject, nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock } from '../../formats/messages.js'
import { formatDataUrl } from '../data-url.js'
import { type Translation, withoutUndefined } from '../translation.js'

/** The text itself, or its blocks as parts. */
export function toChatContent(
  content: unknown,
  path: string,
  translation: Translation,
): string | readonly ContentPart[] {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? toContentParts(content as readonly ContentBlock[], path, translation) : ''
}

export function toContentParts(
  blocks: readonly ContentBlock[],
  path: string,
  translation: Translation,
): ContentPart[] {
  return blocks.map((block, at) => toContentPart(block, `${path}.${at}`, translation))
}

export function toContentPart(block: ContentBlock, path: string, translation: Translation): ContentPart {
  switch (block.type) {
    case 'text':
      return toTextPart(block, translation)
    case 'image':
      return toImagePart(block, path, translation)
    case 'document':
      return toFilePart(block, path, translation)
    default:
      return translation.refuse(path, 'is of a kind that this provider cannot read')
  }
}

function toTextPart({ text, citations, cache_control }: ContentBlock, translation: Translation): ContentPart {
  if (Array.isArray(citations) && citations.length > 0) translation.drop('messages.citations')
  return withCacheControl({ type: 'text', text: String(text ?? '') }, cache_control)
}

function toImagePart(
  { source, cache_control }: ContentBlock,
  path: string,
  translation: Translation,
): ContentPart {
  const { type, url, media_type, data } = asObject(source) ?? {}
  if (type === 'url' && typeof url === 'string') {
    return withCacheControl({ type: 'image_url', image_url: { url } }, cache_control)
  }
  if (type !== 'base64') translation.refuse(`${path}.source`, 'means nothing to this provider')
  const inline = formatDataUrl({ mediaType: String(media_type), data: String(data) })
  return withCacheControl({ type: 'image_url', image_url: { url: inline } }, cache_control)
}

function toFilePart(block: ContentBlock, path: string, translation: Translation): ContentPart {
  const { source, title, context, citations, cache_control } = block
  if (asObject(citations)?.enabled === true) translation.refuse(`${path}.citations`)
  if (nonEmptyText(context) !== undefined) translation.refuse(`${path}.context`)
  const file = withoutUndefined({
    file_data: toFileData(source, path, translation),
    filename: nonEmptyText(title),
  })
  return withCacheControl({ type: 'file', file }, cache_control)
}

function toFileData(source: unknown, path: string, translation: Translation): string {
  const { type, url, media_type, data } = asObject(source) ?? {}
  if (type === 'url' && typeof url === 'string') return url
  if (type === 'base64') return formatDataUrl({ mediaType: String(media_type), data: String(data) })
  if (type === 'text') {
    return formatDataUrl({ mediaType: 'text/plain', data: Buffer.from(String(data)).toString('base64') })
  }
  return translation.refuse(`${path}.source`, 'means nothing to this provider')
}

type CacheablePart = Extract<ContentPart, { readonly cache_control?: CacheControl }>

function withCacheControl(made: CacheablePart, cacheControl: unknown): ContentPart {
  return asObject(cacheControl) === null ? made : { ...made, cache_control: cacheControl as CacheControl }
}
