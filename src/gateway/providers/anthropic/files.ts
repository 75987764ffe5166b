/** Files of an account as Anthropic's format says them. */
import { invalidInput } from '../../../base/fault.js'
import { asCount, type JsonObject, nonEmptyText } from '../../formats/json-values.js'
import type { FilesWire } from '../http/account-files.js'
import type { AccountFile } from '../port/account-files.js'
import { FILES_BETA } from './created-files.js'

/** What files are for where nobody says it, and so no loss. */
const USUAL_PURPOSE = 'user_data'

export const ANTHROPIC_FILES: FilesWire = {
  path: '/v1/files',
  headers: FILES_BETA,
  pageQuery: ({ newestFirst, after, before, limit }) => {
    if (!newestFirst) throw invalidInput(['query', 'order'], 'must be desc: this provider knows no other')
    return {
      limit: String(limit),
      ...(after !== null && { after_id: after }),
      ...(before !== null && { before_id: before }),
    }
  },
  formFields: (purpose) => {
    if (purpose === null || purpose === USUAL_PURPOSE) return []
    throw invalidInput(['body', 'purpose'], `must be ${USUAL_PURPOSE} or absent: this provider knows none`)
  },
  parseFile: parseAnthropicFile,
  isRemoval: ({ type }) => type === 'file_deleted',
}

function parseAnthropicFile(body: JsonObject): AccountFile | null {
  const [id, filename] = [nonEmptyText(body.id), nonEmptyText(body.filename)]
  const [size, createdAt] = [asCount(body.size_bytes), Date.parse(nonEmptyText(body.created_at) ?? '')]
  if (id === undefined || size === undefined || Number.isNaN(createdAt)) return null
  return {
    ...{ id, createdAt, purpose: null, sizeBytes: size },
    filename: filename ?? 'file',
    mimeType: nonEmptyText(body.mime_type) ?? 'application/octet-stream',
    origin: body.downloadable === true ? 'created' : 'uploaded',
  }
}
