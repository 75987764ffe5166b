/** Content parts of chat as blocks of the messages format (contract/gateway 2.3 and 5.5). */
import type { ContentPart, TextPart } from '../../formats/canonical.js'
import type { Block } from '../../formats/messages.js'
import { type Crossing, compact } from '../crossing.js'
import { mediaIn } from '../media.js'

/** The text itself, or its parts as blocks. */
export function contentOf(
  content: string | readonly ContentPart[],
  path: string,
  crossing: Crossing,
): string | Block[] {
  return typeof content === 'string' ? content : blocksOf(content, path, crossing)
}

/** Blocks of a text that has to stand among others; none for an empty one, which the format does not take. */
export function blocksOf(
  content: string | readonly ContentPart[],
  path: string,
  crossing: Crossing,
): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return content.flatMap((part, at) => blockOf(part, `${path}.${at}`, crossing) ?? [])
}

function blockOf(part: ContentPart, path: string, crossing: Crossing): Block | null {
  switch (part.type) {
    case 'text':
      return part.text === '' ? null : textBlock(part, crossing)
    case 'image_url':
      return imageBlock(part, path, crossing)
    case 'file':
      return documentBlock(part, path, crossing)
    default:
      return crossing.refuse(path, 'is of a kind that this provider cannot read')
  }
}

function textBlock(part: TextPart, crossing: Crossing): Block {
  const { text, cache_control, prompt_cache_breakpoint: breakpoint } = part
  if (breakpoint !== undefined && breakpoint !== null) crossing.lose('messages.prompt_cache_breakpoint')
  return compact({ type: 'text', text, cache_control })
}

const PICTURES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

function imageBlock(
  { image_url: { url, detail = 'auto' }, cache_control }: ContentPart & { readonly type: 'image_url' },
  path: string,
  crossing: Crossing,
): Block {
  if (detail !== 'auto') crossing.lose('messages.image_url.detail')
  const media = mediaIn(url)
  if (media === null) return compact({ type: 'image', source: { type: 'url', url }, cache_control })
  const mediaType = media.mediaType === 'image/jpg' ? 'image/jpeg' : media.mediaType
  if (!PICTURES.has(mediaType)) {
    crossing.refuse(`${path}.image_url`, 'must be a JPEG, PNG, GIF or WebP picture for this provider')
  }
  const source = { type: 'base64', media_type: mediaType, data: media.data }
  return compact({ type: 'image', source, cache_control })
}

function documentBlock(
  { file, cache_control }: ContentPart & { readonly type: 'file' },
  path: string,
  crossing: Crossing,
): Block {
  const { file_data: url, file_id: id, filename: title } = file
  // An id means something to whoever gave it, and that was not this provider.
  if (url === undefined || id !== undefined)
    crossing.refuse(`${path}.file.file_id`, 'means nothing to this provider')
  return compact({ type: 'document', source: sourceOf(url, path, crossing), title, cache_control })
}

function sourceOf(url: string, path: string, crossing: Crossing): Readonly<Record<string, string>> {
  const media = mediaIn(url)
  if (media === null) return { type: 'url', url }
  const { mediaType, data } = media
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data }
  if (mediaType === 'text/plain') {
    return { type: 'text', media_type: mediaType, data: Buffer.from(data, 'base64').toString() }
  }
  return crossing.refuse(`${path}.file.file_data`, 'must be a PDF or plain text for this provider')
}
