/** From the form of an upload to a stored file, without holding it in memory. */
import { Fault, ValidationIssue } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { HttpCall } from '../../http/endpoint.js'
import { FORM_LIMITS, MultipartFields, type PartHeader, readMultipart } from '../../http/multipart.js'
import type { FileRecord, FileStore, FileWriter } from '../../store/file-store.js'

const LONGEST_PURPOSE = 64
const DEFAULT_FILENAME = 'file'
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
  caller: Principal,
  workspaceId: string,
  { files, fileBytes }: UploadOptions,
): Promise<FileRecord> {
  const fields = new MultipartFields()
  const uploads: UploadInProgress[] = []
  let bytes = 0
  try {
    await readMultipart(
      call.incoming!,
      call.header('content-type'),
      { ...FORM_LIMITS, fileBytes },
      {
        onField: (name, value) => fields.add(name, value),
        onFile: async (header) => {
          const writing = await beginFile(header, files)
          uploads.push({ writing, filename: header.filename || DEFAULT_FILENAME })
          return {
            write: (piece) => {
              bytes += piece.byteLength
              return writing.write(piece)
            },
            end: () => {},
          }
        },
      },
    )
    const purpose = readPurpose(fields)
    const { writing, filename } = uploads[0] ?? throwFileMissing()
    if (bytes === 0) throw fieldFault('file', 'must not be empty')
    const { organizationId } = caller
    return await writing.commit({ organizationId, workspaceId, filename, origin: 'uploaded', purpose })
  } finally {
    await uploads[0]?.writing.abandon()
  }
}

/** The reader lets one file through. */
interface UploadInProgress {
  readonly writing: FileWriter
  readonly filename: string
}

function beginFile({ name }: PartHeader, files: FileStore): Promise<FileWriter> {
  if (name !== 'file') throw fieldFault('file', 'must be the name of the part that holds a file')
  return files.beginFile()
}

function readPurpose(fields: MultipartFields): string | null {
  if (fields.names.includes('file')) throw fieldFault('file', 'must be a file')
  if (fields.names.some((name) => UNSUPPORTED.test(name)))
    throw fieldFault('expires_after', 'is not supported')
  const purpose = fields.single('purpose') ?? null
  if (purpose !== null && (purpose === '' || purpose.length > LONGEST_PURPOSE)) {
    throw fieldFault('purpose', `must have 1 to ${LONGEST_PURPOSE} characters`)
  }
  return purpose
}

function fieldFault(field: string, note: string): Fault {
  return new Fault('invalid-input', {
    issues: [new ValidationIssue(['body', field], 'other', undefined, note)],
  })
}

function throwFileMissing(): never {
  throw new Fault('invalid-input', { issues: [new ValidationIssue(['body', 'file'], 'missing')] })
}
