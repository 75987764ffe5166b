/** From the form of an upload to a stored file, without holding it in memory. */
import { Fault, invalidInput, ValidationIssue } from '../../base/fault.js'
import type { HttpCall } from '../../http/endpoint.js'
import { type FormFile, type MultipartFields, readFileForm } from '../../http/multipart.js'
import type { FileRecord, FileStore } from '../../store/file-store.js'

const LONGEST_PURPOSE = 64
const DEFAULT_FILENAME = 'file'
const FILE_MISSING = new ValidationIssue(['body', 'file'], 'missing')
/** Files stay until they are deleted. */
const UNSUPPORTED = /^expires_after(?:\[|$)/

interface UploadOptions {
  readonly files: FileStore
  /** Most bytes of a file. */
  readonly fileBytes: number
}

/**
 * Reads the form while it comes and keeps its one file. Nothing is left behind when the form is broken, its file
 * empty or too large, or its sender gone: it is stored when all of it has been read and found good.
 */
export async function receiveUpload(
  call: HttpCall,
  organizationId: string,
  workspaceId: string,
  { files, fileBytes }: UploadOptions,
): Promise<FileRecord> {
  const asked = files.requireRoom(organizationId)
  if (asked instanceof Promise) await asked
  const form = await readFileForm(call, { fileBytes }, () => files.beginFile(organizationId))
  try {
    const { file, filename, purpose } = requireUpload(form)
    return await file.writer.commit({ organizationId, workspaceId, filename, origin: 'uploaded', purpose })
  } finally {
    await form.file?.writer.abandon()
  }
}

interface UploadForm<Writer> {
  readonly fields: MultipartFields
  readonly file: FormFile<Writer> | null
}

/** What a form says of its file. Throws what is wrong with it. */
export function requireUpload<Writer>({ fields, file }: UploadForm<Writer>) {
  const purpose = readPurpose(fields)
  if (file === null) throw new Fault('invalid-input', { issues: [FILE_MISSING] })
  if (file.size === 0) throw invalidInput(['body', 'file'], 'must not be empty')
  return { file, filename: file.header.filename || DEFAULT_FILENAME, purpose }
}

function readPurpose(fields: MultipartFields): string | null {
  if (fields.names.some((name) => UNSUPPORTED.test(name))) {
    throw invalidInput(['body', 'expires_after'], 'is not supported')
  }
  const purpose = fields.single('purpose') ?? null
  if (purpose !== null && (purpose === '' || purpose.length > LONGEST_PURPOSE)) {
    throw invalidInput(['body', 'purpose'], `must have 1 to ${LONGEST_PURPOSE} characters`)
  }
  return purpose
}
