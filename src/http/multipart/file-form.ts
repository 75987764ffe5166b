import { invalidInput } from '../../base/fault.js'
import type { HttpCall } from '../endpoint.js'
import {
  MultipartFields,
  type MultipartLimits,
  type PartHeader,
  readMultipart,
  type UploadSink,
} from '../multipart.js'

/** Where the bytes of a file go while its form is read. */
interface FormFileWriter {
  /** As for a sink of `readMultipart`. */
  write(piece: Uint8Array): void | Promise<void>
  /** Gives up what was written. */
  abandon(): void | Promise<void>
}

/** The file of a form. */
export interface FormFile<Writer> {
  readonly header: PartHeader
  /** Has taken all bytes; now the caller's, to finish or to abandon. */
  readonly writer: Writer
  /** Bytes in all. */
  size: number
  /** Its first bytes. */
  head: Buffer
}

const HEAD_BYTES = 16

/**
 * Reads a form of fields and at most one file, in a part named `file`, while it comes. Fails as `readMultipart` does,
 * and with `invalid-input` when `file` is the name of something else; the file is abandoned then.
 */
export async function readFileForm<Writer extends FormFileWriter>(
  call: HttpCall,
  limits: MultipartLimits,
  begin: () => Writer | Promise<Writer>,
): Promise<{ readonly fields: MultipartFields; readonly file: FormFile<Writer> | null }> {
  const fields = new MultipartFields()
  // The reader lets one file through.
  const files: FormFile<Writer>[] = []
  try {
    await readMultipart(call.incoming!, call.header('content-type'), limits, {
      onField: (name, value) => fields.add(name, value),
      onFile: (header) => {
        if (header.name !== 'file') {
          throw invalidInput(['body', 'file'], 'must be the name of the part that holds a file')
        }
        const take = (writer: Writer): UploadSink => {
          const file = { header, writer, size: 0, head: Buffer.alloc(0) }
          files.push(file)
          return sinkOf(file)
        }
        const begun = begin()
        return begun instanceof Promise ? begun.then(take) : take(begun)
      },
    })
    if (fields.names.includes('file')) throw invalidInput(['body', 'file'], 'must be a file')
    return { fields, file: files[0] ?? null }
  } catch (error) {
    await files[0]?.writer.abandon()
    throw error
  }
}

function sinkOf(file: FormFile<FormFileWriter>): UploadSink {
  return {
    write: (piece) => {
      if (file.size < HEAD_BYTES) {
        file.head = Buffer.concat([file.head, piece.subarray(0, HEAD_BYTES)]).subarray(0, HEAD_BYTES)
      }
      file.size += piece.byteLength
      return file.writer.write(piece)
    },
    end: () => {},
  }
}
