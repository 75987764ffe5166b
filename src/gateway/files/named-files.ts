/** Files of the caller's workspace that a request names: checked before anything is sent, and put in when it is. */
import { Fault } from '../../base/fault.js'
import { type MaybePromise, mapMaybe } from '../../base/maybe-promise.js'
import type { NamedFile, RoutedRequest } from '../formats/canonical.js'
import { asObject, type JsonObject, objectsIn } from '../formats/json-values.js'
import { unusable } from '../providers/http/linked-media.js'
import type { CreatedFile, ToolFiles } from '../tools/port/tool.js'
import { type FileReference, mapFileParts, namesFiles } from './file-references.js'

/** Most files of a request, each as often as it is named. */
const MOST_FILES = 32

const PICTURES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])
/** Formats of `input_audio` by media type. */
const SOUNDS: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp4', 'm4a'],
  ['audio/ogg', 'ogg'],
  ['audio/flac', 'flac'],
  ['audio/aac', 'aac'],
])

/**
 * The request with what is known of the files that it names; the same where it names none. Throws `item-not-found` for
 * a file that is not the workspace's, in the same words as for one that does not exist, and `bad-request` for a kind
 * that no part can hold and for more than `maxBytes` in all.
 */
export function withNamedFiles<R extends RoutedRequest>(
  request: R,
  filesOf: () => Pick<ToolFiles, 'find'>,
  maxBytes: number,
): MaybePromise<R> {
  if (!namesFiles(request)) return request
  const mentions = mentionsIn(request)
  const ids = new Set(mentions.slice(0, MOST_FILES).map(({ reference }) => reference.id))
  return mapMaybe(findAll([...ids], filesOf()), (found) => {
    requireUsable(mentions, found, maxBytes)
    return { ...request, files: [...found.values()] }
  })
}

/** A file that a request names, and where. */
interface Mention {
  readonly reference: FileReference
  readonly place: string
}

/** In the order of the request, each file as often as it is named. */
function mentionsIn(request: RoutedRequest): readonly Mention[] {
  const mentions: Mention[] = []
  mapFileParts(request, {
    reference: (part, reference, place) => {
      mentions.push({ reference, place })
      return part
    },
    told: (part) => part,
  })
  return mentions
}

type FoundFiles = ReadonlyMap<string, NamedFile>

/** At once where the store is at hand. */
function findAll(ids: readonly string[], files: Pick<ToolFiles, 'find'>): MaybePromise<FoundFiles> {
  const found = ids.map((id) => files.find(id))
  const byId = (all: readonly (CreatedFile | null)[]): FoundFiles =>
    new Map(all.flatMap((file) => (file === null ? [] : [[file.id, file] as const])))
  return found.some((file) => file instanceof Promise)
    ? Promise.all(found).then(byId)
    : byId(found as readonly (CreatedFile | null)[])
}

function requireUsable(mentions: readonly Mention[], found: FoundFiles, maxBytes: number): void {
  let bytes = 0
  for (const [at, { reference, place }] of mentions.entries()) {
    if (at >= MOST_FILES) throw unusable('messages', `name more than ${MOST_FILES} files`)
    const file = found.get(reference.id)
    if (file === undefined) throw unknownFile(place)
    if (kindOf(file, reference) === null) {
      throw unusable(place, `cannot be used: a file of type ${file.mimeType} cannot stand there`)
    }
    bytes += file.sizeBytes
    if (bytes > maxBytes)
      throw unusable(place, `cannot be used: files are larger than ${maxBytes} bytes together`)
  }
}

/** The fault of a file that the caller does not have, whoever has it. */
export function unknownFile(place: string): Fault {
  return new Fault('item-not-found', {
    note: `${place} names no file of this workspace`,
    metadata: { error_type: 'not_found' },
  })
}

/** What the parts of a request are to be told of a file's content. */
type ReadFile = (id: string, place: string) => NamedFile & { readonly bytes: Buffer }

/** The request with contents in the place of names. */
export function inlineNamedFiles<R extends RoutedRequest>(request: R, read: ReadFile): R {
  const { files: _, ...rest } = mapFileParts(request, {
    reference: (part, reference, place) => contentPart(part, reference, read(reference.id, place), place),
    told: withoutFiles,
  })
  return rest as unknown as R
}

/** Ids in the order in which they are named, each as often as it is. */
export function fileIdsIn(request: RoutedRequest): readonly (readonly [id: string, place: string])[] {
  return mentionsIn(request).map(({ reference, place }) => [reference.id, place])
}

type Kind = 'picture' | 'sound' | 'video' | 'pdf' | 'text'

/** As what a file goes into a part; null where it cannot stand there. */
function kindOf({ mimeType }: Pick<NamedFile, 'mimeType'>, { as }: FileReference): Kind | null {
  if (PICTURES.has(mimeType)) return as === 'document' ? null : 'picture'
  if (as === 'picture') return null
  if (mimeType === 'application/pdf') return 'pdf'
  if (mimeType.startsWith('text/')) return 'text'
  if (as === 'document') return null
  if (SOUNDS.has(mimeType)) return 'sound'
  return mimeType.startsWith('video/') ? 'video' : null
}

function contentPart(
  part: JsonObject,
  reference: FileReference,
  { bytes, ...file }: NamedFile & { readonly bytes: Buffer },
  place: string,
): JsonObject {
  const kind = kindOf(file, reference)
  if (kind === null) throw unusable(place, 'cannot be used: its file is of another kind now')
  const name = reference.title ?? file.filename
  return part.type === 'file'
    ? chatPart(part, kind, file, name, bytes)
    : messagesBlock(part, kind, file, name, bytes, place)
}

/** Servers of chat read PDFs as files, and everything else in a part of its own kind. */
function chatPart(
  part: JsonObject,
  kind: Kind,
  { mimeType }: NamedFile,
  name: string,
  bytes: Buffer,
): JsonObject {
  const { type: _, file: __, ...marks } = part
  if (kind === 'text')
    return { ...marks, type: 'text', text: `File ${JSON.stringify(name)}:\n\n${bytes.toString()}` }
  const data = bytes.toString('base64')
  const url = `data:${mimeType};base64,${data}`
  switch (kind) {
    case 'picture':
      return { ...marks, type: 'image_url', image_url: { url } }
    case 'sound':
      return { ...marks, type: 'input_audio', input_audio: { data, format: SOUNDS.get(mimeType)! } }
    case 'video':
      return { ...marks, type: 'video_url', video_url: { url } }
    case 'pdf':
      return { ...marks, type: 'file', file: { filename: name, file_data: url } }
  }
}

function messagesBlock(
  block: JsonObject,
  kind: Kind,
  { mimeType }: NamedFile,
  name: string,
  bytes: Buffer,
  place: string,
): JsonObject {
  const { type: _, file_id: __, source: ___, ...rest } = block
  const inline = { type: 'base64', media_type: mimeType }
  switch (kind) {
    case 'picture':
      return { ...rest, type: 'image', source: { ...inline, data: bytes.toString('base64') } }
    case 'pdf':
      return { title: name, ...rest, type: 'document', source: { ...inline, data: bytes.toString('base64') } }
    case 'text': {
      const source = { type: 'text', media_type: 'text/plain', data: bytes.toString() }
      return { title: name, ...rest, type: 'document', source }
    }
    default:
      throw unusable(place, 'cannot be used: no block of messages holds sound or video')
  }
}

/**
 * What an earlier answer said of files, in words: they were kept for the caller, and their ids mean nothing to whoever
 * serves now.
 */
function withoutFiles(part: JsonObject): JsonObject {
  if (part.type === 'container_upload') return { type: 'text', text: `[file ${String(part.file_id)}]` }
  const content = asObject(part.content)
  return {
    ...part,
    content: {
      ...content,
      content: objectsIn(content?.content).filter(({ file_id }) => file_id === undefined),
    },
  }
}
