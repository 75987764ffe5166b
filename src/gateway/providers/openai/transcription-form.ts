/** A transcription request as multipart/form-data (RFC 7578), its file read while it is sent. */
import { randomBytes } from 'node:crypto'
import type { StreamedRequestBody } from '../../../upstream/port.js'
import type { TranscriptionRequest } from '../../formats/audio.js'
import type { ProviderCall } from '../port/provider.js'

interface TranscriptionForm {
  readonly contentType: string
  /** Of the whole body, in bytes. */
  readonly length: number
  readonly body: StreamedRequestBody
}

export function transcriptionForm(call: ProviderCall<TranscriptionRequest>): TranscriptionForm {
  const boundary = `sluice-${randomBytes(18).toString('base64url')}`
  const { audio } = call.request
  const fields = formFields(call).map(([name, value]) => formField(boundary, name, value))
  const end = `--${boundary}--\r\n`
  if (audio.kind === 'url') {
    const text = Buffer.from(fields.join('') + formField(boundary, 'source_url', audio.url) + end)
    return createForm(boundary, text.byteLength, async function* () {
      yield text
    })
  }
  const { bytes, filename } = audio
  const before = Buffer.from(fields.join('') + filePartHead(boundary, filename))
  const after = Buffer.from(`\r\n${end}`)
  return createForm(boundary, before.byteLength + bytes.size + after.byteLength, async function* () {
    yield before
    yield* bytes.read()
    yield after
  })
}

function createForm(
  boundary: string,
  length: number,
  read: () => AsyncIterable<Uint8Array>,
): TranscriptionForm {
  return { contentType: `multipart/form-data; boundary=${boundary}`, length, body: { read } }
}

function formFields({ request, endpoint }: ProviderCall<TranscriptionRequest>): [string, string][] {
  const { language, temperature, timestamp_granularities: granularities, diarize, keyterms } = request
  const fields: [string, string][] = [
    ['model', endpoint.upstreamModel],
    ['response_format', request.response_format],
  ]
  if (language !== undefined) fields.push(['language', language])
  if (temperature !== undefined) fields.push(['temperature', String(temperature)])
  // Without effect otherwise, and some servers refuse them then (contract/gateway 6.1).
  const timed = request.response_format === 'verbose_json' ? (granularities ?? []) : []
  for (const each of timed) fields.push(['timestamp_granularities[]', each])
  if (diarize === true) fields.push(['diarize', 'true'])
  for (const each of keyterms ?? []) fields.push(['keyterms[]', each])
  return fields
}

function formField(boundary: string, name: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
}

function filePartHead(boundary: string, filename: string): string {
  const disposition = `form-data; name="file"; filename="${escapeFilename(filename)}"`
  return `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: application/octet-stream\r\n\r\n`
}

/** As browsers write names: what would end the name or the line is percent-encoded. */
function escapeFilename(name: string): string {
  return name.replace(
    /[\r\n"]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
