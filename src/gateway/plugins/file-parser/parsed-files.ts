/** What a caller hands back of files that were read before, so that they are not read once more (contract/tools 4.2). */
import type { JsonObject } from '../../formats/json-values.js'
import type { ParsedFile } from '../../formats/tooling.js'

/** By which kind of reader a text was made: another one would have made another. */
export type Reader = 'text' | 'ocr'

/** Names bytes and reader. Made off the event loop: a file may have many megabytes. */
export async function hashOf(bytes: Buffer, reader: Reader): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', bytes as Buffer<ArrayBuffer>)
  return `${reader}-${Buffer.from(digest).toString('hex')}`
}

/** The annotation of an answer that says what was read (contract/gateway 3.2). */
export function fileAnnotation({ hash, name, text }: ParsedFile): JsonObject {
  return { type: 'file', file: { hash, name, content: [{ type: 'text', text }] } }
}
