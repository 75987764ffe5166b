/** A request as multipart/form-data (RFC 7578), its file read while it is sent. */
import { randomBytes } from 'node:crypto'
import type { StreamedRequestBody } from '../../../upstream/port.js'

export type FormFields = readonly (readonly [name: string, value: string])[]

/** A file to send. */
interface SentFile {
  readonly filename: string
  /** Bytes without a type of their own when absent. */
  readonly mediaType?: string
  readonly bytes: StreamedRequestBody & { readonly size: number }
}

interface FormBody {
  readonly contentType: string
  /** Of the whole body, in bytes. */
  readonly length: number
  readonly body: StreamedRequestBody
}

/** Fields in their order, and behind them the file, if there is one, in a part named `file`. */
export function formBody(fields: FormFields, file: SentFile | null): FormBody {
  const boundary = `sluice-${randomBytes(18).toString('base64url')}`
  const parts = fields.map(([name, value]) => formField(boundary, name, value))
  const before = Buffer.from(parts.join('') + (file === null ? '' : filePartHead(boundary, file)))
  const after = Buffer.from(`${file === null ? '' : '\r\n'}--${boundary}--\r\n`)
  async function* read(): AsyncIterable<Uint8Array> {
    yield before
    if (file !== null) yield* file.bytes.read()
    yield after
  }
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: before.byteLength + (file?.bytes.size ?? 0) + after.byteLength,
    body: { read },
  }
}

function formField(boundary: string, name: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"\r\n\r\n${value}\r\n`
}

function filePartHead(
  boundary: string,
  { filename, mediaType = 'application/octet-stream' }: SentFile,
): string {
  const disposition = `form-data; name="file"; filename="${escapeName(filename)}"`
  return `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${mediaType}\r\n\r\n`
}

/** As browsers write names: what would end the name or the line is percent-encoded. */
function escapeName(name: string): string {
  return name.replace(
    /[\r\n"]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
