/** From a JSON body or a form to the canonical transcription request (contract/gateway 6.1 and 6.2). */
import { Fault, invalidInput, throwFault, ValidationIssue } from '../../base/fault.js'
import type { AudioSource, TranscriptionRequest } from '../../gateway/formats/audio.js'
import { parseJsonBody, readWholeBody } from '../../http/body.js'
import type { HttpCall } from '../../http/endpoint.js'
import { type FormFile, readFileForm } from '../../http/multipart/file-form.js'
import type { Spool, SpooledBytes } from '../../store/spool.js'
import { decodeBase64, extensionOf, formatMismatch, formatOfMediaType } from './audio-file.js'
import { type TranscriptionBody, TranscriptionIn } from './schema.js'
import { readFormFields, readValid } from './transcription-form.js'

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

/** The file, the single fields, and each list's entries as parts of their own. */
const MOST_PARTS = 256

/** Reads the whole body. Throws what is wrong with it; nothing is kept then. */
export async function receiveTranscription(
  call: HttpCall,
  sessionId: string,
  ports: TranscriptionUploadPorts,
): Promise<ReceivedTranscription> {
  return /^\s*multipart\//i.test(call.header('content-type'))
    ? receiveForm(call, sessionId, ports)
    : receiveJson(call, sessionId)
}

async function receiveJson(call: HttpCall, sessionId: string): Promise<ReceivedTranscription> {
  const json = parseJsonBody(await readWholeBody(call.incoming!), call.header('content-type'))
  if (json instanceof ValidationIssue) throw new Fault('invalid-input', { issues: [json] })
  const body = readValid(TranscriptionIn, json)
  const { input_audio: audio } = body
  const source = 'data' in audio ? inlineSource(audio) : linkedSource(audio)
  return { request: transcriptionRequest(body, source, sessionId), discard: () => {} }
}

async function receiveForm(
  call: HttpCall,
  sessionId: string,
  { spool, fileBytes }: TranscriptionUploadPorts,
): Promise<ReceivedTranscription> {
  const limits = { parts: MOST_PARTS, fileBytes }
  const { fields, file } = await readFileForm(call, limits, () => spool.beginWrite())
  let spooled: SpooledBytes | undefined
  try {
    spooled = await file?.writer.finish()
    const { body, sourceUrl } = readFormFields(fields)
    const source = file === null ? formUrlSource(sourceUrl) : uploadedSource(spooled!, file, sourceUrl)
    const request = transcriptionRequest(body, source, sessionId)
    return { request, discard: () => spooled?.discard() }
  } catch (error) {
    file?.writer.abandon()
    spooled?.discard()
    throw error
  }
}

// ── Where the audio is ──────────────────────────────────────────────────────

function inlineSource({ data, format }: { readonly data: string; readonly format: string }): AudioSource {
  const bytes = decodeBase64(data) ?? failForField(['input_audio', 'data'], 'must be base64, not a data URL')
  requireFormat(format, bytes, ['input_audio', 'format'])
  const read = async function* () {
    yield bytes
  }
  return { kind: 'bytes', format, filename: `audio.${format}`, bytes: { size: bytes.byteLength, read } }
}

/** The end of the path names the format where the caller does not. */
function linkedSource({ url, format }: { readonly url: string; readonly format?: string }): AudioSource {
  const named = format ?? extensionOf(new URL(url).pathname)
  if (named === null) return failForField(['input_audio', 'format'], 'is needed: the URL names no format')
  return { kind: 'url', url, format: named }
}

const FILE_MISSING = new ValidationIssue(['body', 'file'], 'missing')

function formUrlSource(url: string | undefined): AudioSource {
  if (url === undefined) return throwFault('invalid-input', { issues: [FILE_MISSING] })
  const format = extensionOf(new URL(url).pathname)
  return {
    kind: 'url',
    url,
    format: format ?? failForField(['source_url'], 'must name a format at the end of its path'),
  }
}

function uploadedSource(
  bytes: SpooledBytes,
  { header, head }: FormFile<unknown>,
  url: string | undefined,
): AudioSource {
  if (url !== undefined) failForField(['source_url'], 'cannot go with a file')
  if (bytes.size === 0) failForField(['file'], 'must not be empty')
  const filename = header.filename ?? ''
  const format =
    extensionOf(filename) ??
    formatOfMediaType(header.contentType) ??
    failForField(['file'], 'must have a name that ends in its format')
  requireFormat(format, head, ['file'])
  return { kind: 'bytes', bytes, format, filename: filename === '' ? `audio.${format}` : filename }
}

function requireFormat(format: string, bytes: Uint8Array, loc: readonly string[]): void {
  const mismatch = formatMismatch(format, bytes)
  if (mismatch !== null) failForField(loc, mismatch)
}

// ── Rules that join fields ──────────────────────────────────────────────────

function transcriptionRequest(
  body: Omit<TranscriptionBody, 'input_audio'>,
  audio: AudioSource,
  sessionId: string,
): TranscriptionRequest {
  const { model, response_format = 'json' } = body
  if (body.diarize === true && response_format !== 'verbose_json') {
    failForField(['diarize'], 'needs response_format verbose_json')
  }
  const optional = {
    language: body.language?.toLowerCase(),
    temperature: body.temperature,
    timestamp_granularities: body.timestamp_granularities,
    diarize: body.diarize,
    keyterms: body.keyterms,
    provider: body.provider,
    user: body.user,
    trace: body.trace,
    session_id: body.session_id ?? (sessionId === '' ? undefined : sessionId),
  }
  const given = Object.entries(optional).filter(([, value]) => value !== undefined && value !== null)
  return { model, audio, response_format, ...Object.fromEntries(given) } as TranscriptionRequest
}

function failForField(loc: readonly string[], note: string): never {
  throw invalidInput(['body', ...loc], note)
}
