/** Media in the parts of chat messages (contract/gateway 2.3). */
import { asObject, nonEmptyText } from '../../formats/json-values.js'
import type { FetchedMedium, MediaFormat, MediaKind } from '../http/linked-media.js'

interface MediaMember {
  readonly kind: MediaKind
  /** The member of a part, and the member of that which holds an address or the data. */
  readonly name: string
  readonly inside: string
}

const MEMBERS: ReadonlyMap<unknown, MediaMember> = new Map([
  ['image_url', { kind: 'image', name: 'image_url', inside: 'url' }],
  ['video_url', { kind: 'video', name: 'video_url', inside: 'url' }],
  ['input_video', { kind: 'video', name: 'video_url', inside: 'url' }],
  ['input_audio', { kind: 'audio', name: 'input_audio', inside: 'data' }],
  ['file', { kind: 'file', name: 'file', inside: 'file_data' }],
])

export const CHAT_MEDIA: MediaFormat = {
  linkIn: (part) => {
    const member = MEMBERS.get(part.type)
    if (member === undefined) return null
    const url = asObject(part[member.name])?.[member.inside]
    return typeof url === 'string' && /^https?:/i.test(url) ? { kind: member.kind, url } : null
  },
  inline: (part, medium) => {
    const { name, inside } = MEMBERS.get(part.type)!
    const held = asObject(part[name])!
    const named = medium.kind === 'file' && nonEmptyText(held.filename) === undefined
    return {
      ...part,
      [name]: { ...held, ...(named && { filename: fileName(medium.url) }), [inside]: dataOf(medium) },
    }
  },
}

/** Sound comes as its bytes alone, all else as a data URL. */
function dataOf({ kind, mediaType, bytes }: FetchedMedium): string {
  const data = bytes.toString('base64')
  return kind === 'audio' ? data : `data:${mediaType};base64,${data}`
}

/** Servers want a name for a file; its address ends with one as a rule. */
function fileName(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? ''
  return /^[\w.%~+-]{1,128}$/.test(last) ? last : 'file'
}
