/** Files on the wire (contract/gateway 8.2). */
import { z } from 'zod'
import { nameSchema } from '../../http/json-schema.js'

export const File = nameSchema(
  'File',
  z.object({
    id: z.string(),
    type: z.literal('file'),
    filename: z.string(),
    mime_type: z.string().meta({ description: 'Told by the content.' }),
    size_bytes: z.int(),
    created_at: z.string(),
    downloadable: z
      .boolean()
      .meta({ description: 'Whether the server made it: no other file can be downloaded.' }),
  }),
)

export const OpenAiFile = nameSchema(
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
  z.object({ data: z.array(File), ...pageEnds, cursor: z.string().nullable() }),
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
      purpose: { type: 'string', maxLength: 64, description: 'What it is for; kept and shown.' },
    },
    required: ['file'],
  },
} as const
