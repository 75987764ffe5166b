/**
 * How files look on the wire: in the shape of our own, which clients of the Anthropic format read as well, or in the
 * one that OpenAI's clients know. Those are recognised by how they call themselves.
 */
import type { z } from 'zod'
import type { Call } from '../../http/endpoint.js'
import type { FileList, FileRecord } from '../../store/file-store.js'
import type { DeletedFile, File, FileListAnswer, OpenAiFile } from './schema.js'

/** Headers that tell the shape. */
export const SHAPE_HEADERS = ['user-agent', 'anthropic-version'] as const

interface Shape {
  file(file: FileRecord): object
  list(list: FileList): object
  deleted(id: string): object
}

const OPENAI_AGENT = /^(?:Async)?(?:Azure)?OpenAI\//

export function shapeFor(call: Call): Shape {
  const isOpenAi = OPENAI_AGENT.test(call.header('user-agent')) && call.header('anthropic-version') === ''
  return isOpenAi ? OPENAI : NATIVE
}

const NATIVE: Shape = {
  file: nativeView,
  list: ({ files, more }): z.infer<typeof FileListAnswer> => ({
    data: files.map(nativeView),
    ...places(files, more),
    cursor: more ? (files.at(-1)?.id ?? null) : null,
  }),
  deleted: (id): z.infer<typeof DeletedFile> => ({ id, type: 'file_deleted' }),
}

const OPENAI: Shape = {
  file: openAiView,
  list: ({ files, more }): z.infer<typeof FileListAnswer> => ({
    object: 'list',
    data: files.map(openAiView),
    ...places(files, more),
  }),
  deleted: (id): z.infer<typeof DeletedFile> => ({ id, object: 'file', deleted: true }),
}

function nativeView(file: FileRecord): z.infer<typeof File> {
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

function openAiView(file: FileRecord): z.infer<typeof OpenAiFile> {
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

function places(files: readonly FileRecord[], more: boolean) {
  return { has_more: more, first_id: files[0]?.id ?? null, last_id: files.at(-1)?.id ?? null }
}
