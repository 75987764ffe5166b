/** Files of an account as OpenAI's format says them. */
import { invalidInput } from '../../../base/fault.js'
import { asCount, type JsonObject, nonEmptyText } from '../../formats/json-values.js'
import type { FilesWire } from '../http/account-files.js'
import type { AccountFile } from '../port/account-files.js'

/** Purposes whose content may be read again; of all others the provider refuses it. */
const READABLE: ReadonlySet<string> = new Set([
  ...['assistants_output', 'batch', 'batch_output', 'fine-tune', 'fine-tune-results'],
])
/** Beyond it a number of seconds is no date. */
const LAST_SECOND = 8.64e12

export const OPENAI_FILES: FilesWire = {
  path: '/files',
  headers: [],
  pageQuery: ({ newestFirst, after, before, limit }) => {
    if (before !== null) throw invalidInput(['query', 'before_id'], 'is not known to this provider')
    return {
      limit: String(limit),
      order: newestFirst ? 'desc' : 'asc',
      ...(after !== null && { after }),
    }
  },
  formFields: (purpose) => [['purpose', purpose ?? 'user_data']],
  parseFile: parseOpenAiFile,
  isRemoval: ({ deleted }) => deleted === true,
}

function parseOpenAiFile(body: JsonObject): AccountFile | null {
  const [id, filename] = [nonEmptyText(body.id), nonEmptyText(body.filename)]
  const [size, seconds] = [asCount(body.bytes), asCount(body.created_at)]
  if (id === undefined || size === undefined || seconds === undefined || seconds > LAST_SECOND) return null
  const purpose = nonEmptyText(body.purpose) ?? null
  return {
    ...{ id, purpose, sizeBytes: size, createdAt: seconds * 1000 },
    filename: filename ?? 'file',
    // It is not told.
    mimeType: 'application/octet-stream',
    origin: purpose !== null && READABLE.has(purpose) ? 'created' : 'uploaded',
  }
}
