/** Blocks of the messages format as content parts of chat (contract/gateway 5.5 and 2.3). */
import type { CacheControl, ContentPart } from '../../formats/canonical.js'
import type { Block } from '../../formats/messages.js'
import { objectOf, textOf } from '../../formats/shape.js'
import { type Crossing, compact } from '../crossing.js'
import { dataUrl } from '../media.js'

/** The text itself, or its blocks as parts. */
export function contentOf(
  content: unknown,
  path: string,
  crossing: Crossing,
): string | readonly ContentPart[] {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? partsOf(content as readonly Block[], path, crossing) : ''
}

export function partsOf(blocks: readonly Block[], path: string, crossing: Crossing): ContentPart[] {
  return blocks.map((block, at) => partOf(block, `${path}.${at}`, crossing))
}

export function partOf(block: Block, path: string, crossing: Crossing): ContentPart {
  switch (block.type) {
    case 'text':
      return textPart(block, crossing)
    case 'image':
      return imagePart(block, path, crossing)
    case 'document':
      return filePart(block, path, crossing)
    default:
      return crossing.refuse(path, 'is of a kind that this provider cannot read')
  }
}

function textPart({ text, citations, cache_control }: Block, crossing: Crossing): ContentPart {
  if (Array.isArray(citations) && citations.length > 0) crossing.lose('messages.citations')
  return part({ type: 'text', text: String(text ?? '') }, cache_control)
}

function imagePart({ source, cache_control }: Block, path: string, crossing: Crossing): ContentPart {
  const { type, url, media_type, data } = objectOf(source) ?? {}
  if (type === 'url' && typeof url === 'string') {
    return part({ type: 'image_url', image_url: { url } }, cache_control)
  }
  if (type !== 'base64') crossing.refuse(`${path}.source`, 'means nothing to this provider')
  const inline = dataUrl({ mediaType: String(media_type), data: String(data) })
  return part({ type: 'image_url', image_url: { url: inline } }, cache_control)
}

function filePart(block: Block, path: string, crossing: Crossing): ContentPart {
  const { source, title, context, citations, cache_control } = block
  if (objectOf(citations)?.enabled === true) crossing.refuse(`${path}.citations`)
  if (textOf(context) !== undefined) crossing.refuse(`${path}.context`)
  const file = compact({ file_data: fileData(source, path, crossing), filename: textOf(title) })
  return part({ type: 'file', file }, cache_control)
}

function fileData(source: unknown, path: string, crossing: Crossing): string {
  const { type, url, media_type, data } = objectOf(source) ?? {}
  if (type === 'url' && typeof url === 'string') return url
  if (type === 'base64') return dataUrl({ mediaType: String(media_type), data: String(data) })
  if (type === 'text') {
    return dataUrl({ mediaType: 'text/plain', data: Buffer.from(String(data)).toString('base64') })
  }
  return crossing.refuse(`${path}.source`, 'means nothing to this provider')
}

type Cacheable = Extract<ContentPart, { readonly cache_control?: CacheControl }>

function part(made: Cacheable, cacheControl: unknown): ContentPart {
  return objectOf(cacheControl) === null ? made : { ...made, cache_control: cacheControl as CacheControl }
}
