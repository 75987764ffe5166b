/** From a JSON body or a form to the canonical transcription request (contract/gateway 6.1 and 6.2). */
import { Fault, ValidationIssue } from '../../base/fault.js'
import type { AudioSource, TranscriptionRequest } from '../../gateway/formats/audio.js'
import { parseJsonBody, readBySchema, readWholeBody } from '../../http/body.js'
import type { HttpCall } from '../../http/endpoint.js'
import { FORM_LIMITS, MultipartFields, readMultipart } from '../../http/multipart.js'
import type { Spool, SpooledBytes, SpoolWriter } from '../../store/spool.js'
import { formatMismatch, HEAD_BYTES } from './audio-kind.js'
import { decodeBase64 } from './base64.js'
import { type TranscriptionBody, TranscriptionIn } from './schema.js'
import { readFormFields } from './transcription-form.js'

/** A request and the bytes that were put aside for it. */
interface ReceivedTranscription {
  readonly request: TranscriptionRequest
  /** Gives the bytes' place back; once nobody reads them any more. */
  discard(): void
}

interface TranscriptionUploadPorts {
  readonly spool: Spool
  /** Most bytes of an uploaded file. */
  readonly fileBytes: number
}

/** Reads the whole body. Throws what is wrong with it; nothing is kept then. */
export async function receiveTranscription(
  call: HttpCall,
  sessionId: string,
  ports: TranscriptionUploadPorts,
): Promise<ReceivedTranscription> {
  const type = call.header('content-type')
  return /^\s*multipart\//i.test(type)
    ? receiveForm(call, type, sessionId, ports)
    : receiveJson(call, type, sessionId)
}

async function receiveJson(call: HttpCall, type: string, sessionId: string): Promise<ReceivedTranscription> {
  const json = parseJsonBody(await readWholeBody(call.incoming!), type)
  const body = json instanceof ValidationIssue ? failWithIssue(json) : validateBody(json)
  const { input_audio: audio } = body
  const source = 'data' in audio ? inlineSource(audio) : linkedSource(audio)
  return { request: transcriptionRequest(body, source, sessionId), discard: () => {} }
}

function validateBody(value: unknown): TranscriptionBody {
  const issues: ValidationIssue[] = []
  const body = readBySchema(TranscriptionIn, value, issues)
  if (issues.length > 0) throw new Fault('invalid-input', { issues })
  return body as TranscriptionBody
}

function inlineSource({ data, format }: { readonly data: string; readonly format: string }): AudioSource {
  const bytes = decodeBase64(data) ?? failField(['input_audio', 'data'], 'must be base64, not a data URL')
  requireFormat(format, bytes, ['input_audio', 'format'])
  return {
    kind: 'bytes',
    format,
    filename: `audio.${format}`,
    bytes: {
      size: bytes.byteLength,
      read: async function* () {
        yield bytes
      },
    },
  }
}

/** The end of the path names the format where the caller does not. */
function linkedSource({ url, format }: { readonly url: string; readonly format?: string }): AudioSource {
  const named = format ?? extensionOf(new URL(url).pathname)
  return {
    kind: 'url',
    url,
    format: named ?? failField(['input_audio', 'format'], 'is needed: the URL names no format'),
  }
}

const EXTENSION = /\.([A-Za-z0-9][A-Za-z0-9+_-]{0,15})$/

function extensionOf(name: string): string | null {
  return EXTENSION.exec(name)?.[1]?.toLowerCase() ?? null
}

async function receiveForm(
  call: HttpCall,
  type: string,
  sessionId: string,
  { spool, fileBytes }: TranscriptionUploadPorts,
): Promise<ReceivedTranscription> {
  const fields = new MultipartFields()
  let writing: SpoolWriter | null = null
  let filename = ''
  let mediaType = ''
  let head = Buffer.alloc(0)
  try {
    await readMultipart(
      call.incoming!,
      type,
      { ...FORM_LIMITS, parts: MOST_PARTS, fileBytes },
      {
        onField: (name, value) => fields.add(name, value),
        onFile: (header) => {
          if (header.name !== 'file') failField(['file'], 'must be the name of the part that holds a file')
          filename = header.filename ?? ''
          mediaType = header.contentType
          const begun = spool.beginWrite()
          writing = begun
          return {
            write: (piece) => {
              if (head.byteLength < HEAD_BYTES) head = Buffer.concat([head, piece.subarray(0, HEAD_BYTES)])
              return begun.write(piece)
            },
            end: () => {},
          }
        },
      },
    )
    const spooled = await (writing as SpoolWriter | null)?.finish()
    return requestFromForm(fields, spooled ?? null, { filename, mediaType, head }, sessionId)
  } catch (error) {
    ;(writing as SpoolWriter | null)?.abandon()
    throw error
  }
}

/** The file, the single fields, and each list's entries as parts of their own. */
const MOST_PARTS = 256

interface UploadedFileStart {
  readonly filename: string
  readonly mediaType: string
  /** Its first bytes. */
  readonly head: Uint8Array
}

function requestFromForm(
  fields: MultipartFields,
  spooled: SpooledBytes | null,
  file: UploadedFileStart,
  sessionId: string,
): ReceivedTranscription {
  try {
    const { body, sourceUrl } = readFormFields(fields)
    const source = spooled === null ? formUrlSource(sourceUrl) : uploadedSource(spooled, file, sourceUrl)
    const request = transcriptionRequest(body, source, sessionId)
    return { request, discard: () => spooled?.discard() }
  } catch (error) {
    spooled?.discard()
    throw error
  }
}

function formUrlSource(url: string | undefined): AudioSource {
  if (url === undefined)
    throw new Fault('invalid-input', { issues: [new ValidationIssue(['body', 'file'], 'missing')] })
  const format = extensionOf(new URL(url).pathname)
  return {
    kind: 'url',
    url,
    format: format ?? failField(['source_url'], 'must name a format at the end of its path'),
  }
}

function uploadedSource(
  spooled: SpooledBytes,
  { filename, mediaType, head }: UploadedFileStart,
  url: string | undefined,
): AudioSource {
  if (url !== undefined) failField(['source_url'], 'cannot go with a file')
  if (spooled.size === 0) failField(['file'], 'must not be empty')
  const format =
    extensionOf(filename) ??
    formatOf(mediaType) ??
    failField(['file'], 'must have a name that ends in its format')
  requireFormat(format, head, ['file'])
  return { kind: 'bytes', bytes: spooled, format, filename: filename === '' ? `audio.${format}` : filename }
}

function requireFormat(format: string, head: Uint8Array, loc: readonly string[]): void {
  const lie = formatMismatch(format, head)
  if (lie !== null) failField(loc, lie)
}

/** Media types whose second half is no file ending. */
const FORMATS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/x-wav': 'wav',
  'audio/vnd.wave': 'wav',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
}

function formatOf(mediaType: string): string | null {
  const known = FORMATS[mediaType]
  if (known !== undefined) return known
  const [kind, format = ''] = mediaType.split('/')
  return kind === 'audio' && EXTENSION.test(`.${format}`) ? format : null
}

// ── Rules that join fields ──────────────────────────────────────────────────

function transcriptionRequest(
  body: Omit<TranscriptionBody, 'input_audio'>,
  audio: AudioSource,
  sessionId: string,
): TranscriptionRequest {
  const { model, response_format: format = 'json', timestamp_granularities: granularities } = body
  if (body.diarize === true && format !== 'verbose_json') {
    failField(['diarize'], 'needs response_format verbose_json')
  }
  const session = body.session_id ?? (sessionId === '' ? undefined : sessionId)
  return {
    model,
    audio,
    response_format: format,
    ...optionalMember('language', body.language?.toLowerCase()),
    ...optionalMember('temperature', body.temperature),
    ...optionalMember('timestamp_granularities', granularities),
    ...optionalMember('diarize', body.diarize),
    ...optionalMember('keyterms', body.keyterms),
    ...optionalMember('provider', body.provider),
    ...optionalMember('user', body.user),
    ...optionalMember('trace', body.trace),
    ...optionalMember('session_id', session),
  } as TranscriptionRequest
}

function optionalMember(name: string, value: unknown): Record<string, unknown> {
  return value === undefined || value === null ? {} : { [name]: value }
}

function failField(loc: readonly string[], note: string): never {
  throw new Fault('invalid-input', {
    issues: [new ValidationIssue(['body', ...loc], 'other', undefined, note)],
  })
}

function failWithIssue(issue: ValidationIssue): never {
  throw new Fault('invalid-input', { issues: [issue] })
}
