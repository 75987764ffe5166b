/**
 * Files on the wire (contract/gateway 8.2): in a shape of our own, which clients of the Anthropic format read as well,
 * or in the one that OpenAI's clients know. Those are recognised by how they call themselves.
 */
import { z } from 'zod'
import { recordEncoder } from '../../http/answers.js'
import type { HttpCall } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import type { ToldFile, ToldFilePage } from './place.js'

const File = nameSchema(
  'File',
  z.object({
    id: z.string(),
    type: z.literal('file'),
    filename: z.string(),
    mime_type: z.string().meta({ description: 'Told by the content, of a file at a provider by that.' }),
    size_bytes: z.int(),
    created_at: z.string(),
    downloadable: z.boolean().meta({
      description: 'Whether the server made it, or its provider hands it out: no other can be downloaded.',
    }),
  }),
)

const OpenAiFile = nameSchema(
  'OpenAiFile',
  z.object({
    id: z.string(),
    object: z.literal('file'),
    bytes: z.int(),
    created_at: z.int(),
    filename: z.string(),
    purpose: z.string(),
    status: z.literal('processed'),
  }),
)

const pageEnds = { has_more: z.boolean(), first_id: z.string().nullable(), last_id: z.string().nullable() }

export const FileAnswer = z.union([File, OpenAiFile])
export const FileListAnswer = z.union([
  z.object({
    data: z.array(File),
    ...pageEnds,
    cursor: z.string().nullable(),
    next_page: z.string().nullable().meta({ description: 'The same as `cursor`.' }),
  }),
  z.object({ object: z.literal('list'), data: z.array(OpenAiFile), ...pageEnds }),
])
export const DeletedFile = z.union([
  z.object({ id: z.string(), type: z.literal('file_deleted') }),
  z.object({ id: z.string(), object: z.literal('file'), deleted: z.literal(true) }),
])

/** The form of an upload, for the document. */
export const UPLOAD_FORM = {
  mediaType: 'multipart/form-data',
  schema: {
    type: 'object',
    properties: {
      file: {
        type: 'string',
        contentMediaType: 'application/octet-stream',
        description: 'The file; not empty.',
      },
      purpose: {
        type: 'string',
        maxLength: 64,
        description: 'What it is for; kept and shown. At a provider one that it knows.',
      },
    },
    required: ['file'],
  },
  example: { purpose: 'user_data' },
} as const

// ── Records as answers ──────────────────────────────────────────────────────

/** Headers that tell the shape. */
export const ENCODING_HEADERS = ['user-agent', 'anthropic-version'] as const

interface FileEncoding {
  file(file: ToldFile): object
  list(list: ToldFilePage): object
  deleted(id: string): object
}

const encodeFileRecord = recordEncoder(File)
const OPENAI_AGENT = /^(?:Async)?(?:Azure)?OpenAI\//

export function fileEncodingFor(call: HttpCall): FileEncoding {
  const isOpenAi = OPENAI_AGENT.test(call.header('user-agent')) && call.header('anthropic-version') === ''
  return isOpenAi ? OPENAI : NATIVE
}

const NATIVE: FileEncoding = {
  file: encodeNativeFile,
  list: ({ files, hasMore }): z.infer<typeof FileListAnswer> => {
    const next = hasMore ? (files.at(-1)?.id ?? null) : null
    const ends = encodePageEnds(files, hasMore)
    // Clients of different age look for the next page in different members.
    return { data: files.map(encodeNativeFile), ...ends, cursor: next, next_page: next }
  },
  deleted: (id): z.infer<typeof DeletedFile> => ({ id, type: 'file_deleted' }),
}

const OPENAI: FileEncoding = {
  file: encodeOpenAiFile,
  list: ({ files, hasMore }): z.infer<typeof FileListAnswer> => ({
    object: 'list',
    data: files.map(encodeOpenAiFile),
    ...encodePageEnds(files, hasMore),
  }),
  deleted: (id): z.infer<typeof DeletedFile> => ({ id, object: 'file', deleted: true }),
}

function encodeNativeFile(file: ToldFile): z.infer<typeof File> {
  return encodeFileRecord({ ...file, type: 'file', downloadable: file.origin === 'created' })
}

function encodeOpenAiFile(file: ToldFile): z.infer<typeof OpenAiFile> {
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

function encodePageEnds(files: readonly ToldFile[], hasMore: boolean) {
  return { has_more: hasMore, first_id: files[0]?.id ?? null, last_id: files.at(-1)?.id ?? null }
}
