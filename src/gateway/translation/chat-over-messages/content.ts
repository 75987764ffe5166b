/** Content parts of chat as blocks of the messages format (contract/gateway 2.3 and 5.5). */
import type { ContentPart, TextPart } from '../../formats/canonical.js'
import type { ContentBlock } from '../../formats/messages.js'
import { parseDataUrl } from '../data-url.js'
import { type Translation, withoutUndefined } from '../translation.js'

/** The text itself, or its parts as blocks. */
export function toMessagesContent(
  content: string | readonly ContentPart[],
  path: string,
  translation: Translation,
): string | ContentBlock[] {
  return typeof content === 'string' ? content : toBlocks(content, path, translation)
}

/** Blocks of a text that has to stand among others; none for an empty one, which the format does not take. */
export function toBlocks(
  content: string | readonly ContentPart[],
  path: string,
  translation: Translation,
): ContentBlock[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return content.flatMap((part, at) => toBlock(part, `${path}.${at}`, translation) ?? [])
}

function toBlock(part: ContentPart, path: string, translation: Translation): ContentBlock | null {
  switch (part.type) {
    case 'text':
      return part.text === '' ? null : toTextBlock(part, translation)
    case 'image_url':
      return toImageBlock(part, path, translation)
    case 'file':
      return toDocumentBlock(part, path, translation)
    default:
      return translation.refuse(path, 'is of a kind that this provider cannot read')
  }
}

function toTextBlock(part: TextPart, translation: Translation): ContentBlock {
  const { text, cache_control, prompt_cache_breakpoint: breakpoint } = part
  if (breakpoint !== undefined && breakpoint !== null) translation.drop('messages.prompt_cache_breakpoint')
  return withoutUndefined({ type: 'text', text, cache_control })
}

const PICTURES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

function toImageBlock(
  { image_url: { url, detail = 'auto' }, cache_control }: ContentPart & { readonly type: 'image_url' },
  path: string,
  translation: Translation,
): ContentBlock {
  if (detail !== 'auto') translation.drop('messages.image_url.detail')
  const media = parseDataUrl(url)
  if (media === null) return withoutUndefined({ type: 'image', source: { type: 'url', url }, cache_control })
  const mediaType = media.mediaType === 'image/jpg' ? 'image/jpeg' : media.mediaType
  if (!PICTURES.has(mediaType)) {
    translation.refuse(`${path}.image_url`, 'must be a JPEG, PNG, GIF or WebP picture for this provider')
  }
  const source = { type: 'base64', media_type: mediaType, data: media.data }
  return withoutUndefined({ type: 'image', source, cache_control })
}

function toDocumentBlock(
  { file, cache_control }: ContentPart & { readonly type: 'file' },
  path: string,
  translation: Translation,
): ContentBlock {
  const { file_data: url, file_id: id, filename: title } = file
  // An id means something to whoever gave it, and that was not this provider.
  if (url === undefined || id !== undefined)
    translation.refuse(`${path}.file.file_id`, 'means nothing to this provider')
  return withoutUndefined({
    type: 'document',
    source: toDocumentSource(url, path, translation),
    title,
    cache_control,
  })
}

function toDocumentSource(
  url: string,
  path: string,
  translation: Translation,
): Readonly<Record<string, string>> {
  const media = parseDataUrl(url)
  if (media === null) return { type: 'url', url }
  const { mediaType, data } = media
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data }
  if (mediaType === 'text/plain') {
    return { type: 'text', media_type: mediaType, data: Buffer.from(data, 'base64').toString() }
  }
  return translation.refuse(`${path}.file.file_data`, 'must be a PDF or plain text for this provider')
}
