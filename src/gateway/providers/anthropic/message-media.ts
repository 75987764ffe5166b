/** Media in the blocks of messages (contract/gateway 5.5). */
import { asObject, type JsonObject } from '../../formats/json-values.js'
import { type FetchedMedium, type MediaFormat, unusable } from '../http/linked-media.js'

const PICTURES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

export const MESSAGE_MEDIA: MediaFormat = {
  linkIn: ({ type, source }) => {
    if (type !== 'image' && type !== 'document') return null
    const from = asObject(source)
    if (from?.type !== 'url' || typeof from.url !== 'string') return null
    return { kind: type === 'image' ? 'image' : 'file', url: from.url }
  },
  inline: (block, medium, place) => ({ ...block, source: sourceOf(medium, place) }),
}

function sourceOf({ kind, mediaType, bytes }: FetchedMedium, place: string): JsonObject {
  if (kind === 'file' && mediaType === 'text/plain')
    return { type: 'text', media_type: mediaType, data: bytes.toString() }
  const isTaken = kind === 'image' ? PICTURES.has(mediaType) : mediaType === 'application/pdf'
  if (!isTaken)
    throw unusable(place, 'cannot be used: it is of a type that this provider does not take', kind)
  return { type: 'base64', media_type: mediaType, data: bytes.toString('base64') }
}
