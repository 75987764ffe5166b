/** What a caller hands back of files that were read before, so that they are not read once more (contract/tools 4.2). */
import { Fault, type GatewayErrorType } from '../../../base/fault.js'
import { asObject, type JsonObject, objectsIn } from '../../formats/json-values.js'
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

/** The files among annotations that a caller hands back; what is no such annotation is passed over. */
export function readFileAnnotations(annotations: readonly unknown[]): readonly ParsedFile[] {
  return objectsIn(annotations).flatMap(({ type, file }) => {
    const { hash, name, content } = asObject(file) ?? {}
    if (type !== 'file' || typeof hash !== 'string' || typeof name !== 'string') return []
    const texts = objectsIn(content).filter((part) => part.type === 'text' && typeof part.text === 'string')
    return texts.length === 0 ? [] : [{ hash, name, text: texts.map(({ text }) => text).join('\n') }]
  })
}

/** The failure with what had been read before it, so that it need not be read again (contract/gateway 1.5). */
export function withFileAnnotations(fault: Fault, annotations: readonly JsonObject[]): Fault {
  const ofFiles = annotations.filter(({ type }) => type === 'file')
  if (ofFiles.length === 0) return fault
  const metadata = { error_type: errorTypeOf(fault), ...fault.metadata, file_annotations: ofFiles }
  const copy = new Fault(fault.kind, { ...fault, metadata })
  copy.generation = fault.generation
  return copy
}

function errorTypeOf({ kind }: Fault): GatewayErrorType {
  return kind === 'invalid-input' ? 'invalid_request' : 'unmapped'
}
