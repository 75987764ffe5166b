/** How an answer of chat names a file that was made here (contract/gateway 3.2). */
import { asObject, type JsonObject } from '../formats/json-values.js'
import type { CreatedFile } from '../tools/port/tool.js'

export function fileAnnotation({ id, filename, mimeType, sizeBytes }: CreatedFile): JsonObject {
  return { type: 'file', file: { file_id: id, filename, mime_type: mimeType, size_bytes: sizeBytes } }
}

/** The files that annotations of an answer name. */
export function filesOf(annotations: readonly JsonObject[] = []): CreatedFile[] {
  return annotations.flatMap(({ type, file }) => {
    const { file_id: id, filename, mime_type: mimeType, size_bytes: sizeBytes } = asObject(file) ?? {}
    const isKept = type === 'file' && typeof id === 'string' && typeof sizeBytes === 'number'
    return isKept ? [{ id, filename: String(filename), mimeType: String(mimeType), sizeBytes }] : []
  })
}
