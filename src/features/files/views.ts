/**
 * How files look on the wire: in the shape of our own, which clients of the Anthropic format read as well, or in the
 * one that OpenAI's clients know. Those are recognised by how they call themselves.
 */
import type { z } from 'zod'
import type { HttpCall } from '../../http/endpoint.js'
import type { FileListPage, FileRecord } from '../../store/file-store.js'
import type { DeletedFile, File, FileListAnswer, OpenAiFile } from './schema.js'

/** Headers that tell the shape. */
export const ENCODING_HEADERS = ['user-agent', 'anthropic-version'] as const

interface FileEncoding {
  file(file: FileRecord): object
  list(list: FileListPage): object
  deleted(id: string): object
}

const OPENAI_AGENT = /^(?:Async)?(?:Azure)?OpenAI\//

export function fileEncodingFor(call: HttpCall): FileEncoding {
  const isOpenAi = OPENAI_AGENT.test(call.header('user-agent')) && call.header('anthropic-version') === ''
  return isOpenAi ? OPENAI : NATIVE
}

const NATIVE: FileEncoding = {
  file: encodeNativeFile,
  list: ({ files, hasMore: more }): z.infer<typeof FileListAnswer> => ({
    data: files.map(encodeNativeFile),
    ...pageEnds(files, more),
    cursor: more ? (files.at(-1)?.id ?? null) : null,
  }),
  deleted: (id): z.infer<typeof DeletedFile> => ({ id, type: 'file_deleted' }),
}

const OPENAI: FileEncoding = {
  file: encodeOpenAiFile,
  list: ({ files, hasMore: more }): z.infer<typeof FileListAnswer> => ({
    object: 'list',
    data: files.map(encodeOpenAiFile),
    ...pageEnds(files, more),
  }),
  deleted: (id): z.infer<typeof DeletedFile> => ({ id, object: 'file', deleted: true }),
}

function encodeNativeFile(file: FileRecord): z.infer<typeof File> {
  return {
    id: file.id,
    type: 'file',
    filename: file.filename,
    mime_type: file.mimeType,
    size_bytes: file.sizeBytes,
    created_at: new Date(file.createdAt).toISOString(),
    downloadable: file.origin === 'created',
  }
}

function encodeOpenAiFile(file: FileRecord): z.infer<typeof OpenAiFile> {
  return {
    id: file.id,
    object: 'file',
    bytes: file.sizeBytes,
    created_at: Math.floor(file.createdAt / 1000),
    filename: file.filename,
    purpose: file.purpose ?? (file.origin === 'created' ? 'assistants_output' : 'user_data'),
    status: 'processed',
  }
}

function pageEnds(files: readonly FileRecord[], more: boolean) {
  return { has_more: more, first_id: files[0]?.id ?? null, last_id: files.at(-1)?.id ?? null }
}
