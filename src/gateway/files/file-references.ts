/**
 * Where a request names files by their ids (contract/gateway 2.3 and 5.5): a `file` part of chat, an `image` or a
 * `document` of messages, and `container_upload`.
 */
import type { RoutedRequest } from '../formats/canonical.js'
import { asObject, type JsonObject, objectsIn } from '../formats/json-values.js'

export interface FileReference {
  readonly id: string
  /** What the part may be given as: whatever the file is, a picture, or a document. */
  readonly as: 'any' | 'picture' | 'document'
  readonly title: string | undefined
  /** Of the part, where the id stands. */
  readonly member: string
}

/** What becomes of a part that refers to a file, or tells of one that an answer came with. */
interface FileVisitor {
  /** `place` is that of the id. */
  reference(part: JsonObject, reference: FileReference, place: string): JsonObject
  /** A part of an earlier answer that names files, which were for the caller and are nothing to a provider. */
  told(part: JsonObject, place: string): JsonObject
}

/** Whether a request names any. Hot: asked of every inference, most of which have no parts at all. */
export function namesFiles(request: RoutedRequest): boolean {
  const { messages } = request as { readonly messages?: readonly Message[] }
  if (messages === undefined) return false
  for (const { content, role } of messages) {
    if (Array.isArray(content) && hasReference(content, role)) return true
  }
  return false
}

interface Message {
  readonly role?: unknown
  readonly content?: unknown
}

function hasReference(parts: readonly unknown[], role: unknown): boolean {
  for (const value of parts) {
    const part = value as JsonObject | null
    if (typeof part !== 'object' || part === null) continue
    if (part.type === 'text') continue
    if ((role === 'assistant' && tellsOfFile(part)) || referenceIn(part) !== null) return true
    if (Array.isArray(part.content) && hasReference(part.content, role)) return true
    const inside = asObject(part.source)?.content
    if (Array.isArray(inside) && hasReference(inside, role)) return true
  }
  return false
}

/** The request with each such part as the visitor gives it. */
export function mapFileParts<R extends RoutedRequest>(request: R, visitor: FileVisitor): R {
  const { messages = [] } = request as { readonly messages?: readonly Message[] }
  const mapped = messages.map((message, at) => {
    const { content, role } = message
    if (!Array.isArray(content) || !hasReference(content, role)) return message
    return { ...message, content: mapParts(content, role, visitor, `messages.${at}.content`) }
  })
  return { ...request, messages: mapped }
}

function mapParts(
  parts: readonly unknown[],
  role: unknown,
  visitor: FileVisitor,
  place: string,
): readonly unknown[] {
  return parts.map((value, at) => {
    const part = asObject(value)
    if (part === null) return value
    const here = `${place}.${at}`
    if (role === 'assistant' && tellsOfFile(part)) return visitor.told(part, here)
    const reference = referenceIn(part)
    if (reference !== null) return visitor.reference(part, reference, `${here}.${reference.member}`)
    const source = asObject(part.source)
    const within = (inside: unknown, name: string): unknown =>
      Array.isArray(inside) ? mapParts(inside, role, visitor, `${here}.${name}`) : inside
    if (Array.isArray(part.content)) return { ...part, content: within(part.content, 'content') }
    if (source === null || !Array.isArray(source.content)) return part
    return { ...part, source: { ...source, content: within(source.content, 'source.content') } }
  })
}

/** The file that a part of the caller's names; null when it names none. */
function referenceIn(part: JsonObject): FileReference | null {
  switch (part.type) {
    case 'file': {
      const file = asObject(part.file)
      return typeof file?.file_id === 'string'
        ? referenceTo(file.file_id, 'any', 'file.file_id', file.filename)
        : null
    }
    case 'image':
    case 'document': {
      const source = asObject(part.source)
      if (source?.type !== 'file' || typeof source.file_id !== 'string') return null
      const as = part.type === 'image' ? 'picture' : 'document'
      return referenceTo(source.file_id, as, 'source.file_id', part.title)
    }
    case 'container_upload':
      return typeof part.file_id === 'string' ? referenceTo(part.file_id, 'any', 'file_id', undefined) : null
    default:
      return null
  }
}

function referenceTo(id: string, as: FileReference['as'], member: string, title: unknown): FileReference {
  return { id, as, member, title: typeof title === 'string' && title !== '' ? title : undefined }
}

/** Whether a part of an answer names a file that came with it. */
function tellsOfFile(part: JsonObject): boolean {
  if (part.type === 'container_upload') return true
  if (typeof part.type !== 'string' || !part.type.endsWith('code_execution_tool_result')) return false
  return objectsIn(asObject(part.content)?.content).some(({ file_id }) => file_id !== undefined)
}
