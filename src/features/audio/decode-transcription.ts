/** From a JSON body or a form to the canonical transcription request (contract/gateway 6.1 and 6.2). */
import type { z } from 'zod'
import { Fault, invalidInput, throwFault, ValidationIssue } from '../../base/fault.js'
import type { FetchFile } from '../../base/file-fetch.js'
import type { Principal } from '../../base/principal.js'
import type { AudioSource, TranscriptionRequest } from '../../gateway/formats/audio.js'
import type { HttpCall } from '../../http/endpoint.js'
import { parseJsonBody, readBySchema, readWholeBody } from '../../http/input.js'
import { type FormFile, type MultipartFields, readFileForm } from '../../http/multipart.js'
import { routingContradiction } from '../../inference-http/request-members.js'
import { memberNames, sortMembers } from '../../inference-http/sort-members.js'
import type { Spool, SpooledBytes } from '../../store/spool.js'
import { decodeBase64, extensionOf, formatMismatch, formatOfBytes, formatOfMediaType } from './audio-file.js'
import { FetchedAudio } from './fetched-audio.js'
import { audioUrl, TranscriptionIn } from './schema.js'

/** A request and the bytes that were put aside for it. */
interface ReceivedTranscription {
  readonly request: TranscriptionRequest
  /** Gives the bytes' place back; once no provider reads them any more. */
  discard(): void
}

interface AudioFilePorts {
  readonly spool: Spool
  /** Most bytes of a file that is uploaded or fetched. */
  readonly fileBytes: number
  readonly fetchFile: FetchFile
  /** Most milliseconds for a file that is fetched. */
  readonly deadlineMs: number
}

/** The file, the single fields, and each list's entries as parts of their own. */
const MOST_PARTS = 256

interface TranscriptionArrival {
  readonly call: HttpCall
  readonly caller: Principal
  readonly sessionId: string
  readonly ports: AudioFilePorts
}

/** Reads the whole body. Throws what is wrong with it; nothing is kept then. */
export async function receiveTranscription({
  call,
  sessionId,
  caller,
  ports,
}: TranscriptionArrival): Promise<ReceivedTranscription> {
  return /^\s*multipart\//i.test(call.header('content-type'))
    ? receiveForm({ call, sessionId, caller, ports })
    : receiveJson({ call, sessionId, caller, ports })
}

async function receiveJson(arrival: TranscriptionArrival): Promise<ReceivedTranscription> {
  const { call } = arrival
  const json = parseJsonBody(await readWholeBody(call.incoming!), call.header('content-type'))
  if (json instanceof ValidationIssue) throw new Fault('invalid-input', { issues: [json] })
  const { input_audio: audio, ...body } = readValid(TranscriptionIn, json)
  const source = 'data' in audio ? inlineSource(audio) : linkedSource(audio, arrival)
  const request = transcriptionRequest(body, source, arrival.sessionId)
  return { request, discard: () => discardFetched(source) }
}

function discardFetched(source: AudioSource): void {
  if (source instanceof FetchedAudio) source.discard()
}

async function receiveForm(arrival: TranscriptionArrival): Promise<ReceivedTranscription> {
  const { call, sessionId, ports } = arrival
  const { spool, fileBytes } = ports
  const limits = { parts: MOST_PARTS, fileBytes }
  const { fields, file } = await readFileForm(call, limits, () => spool.beginWrite())
  let spooled: SpooledBytes | undefined
  try {
    spooled = await file?.writer.finish()
    const { body, sourceUrl } = readFormFields(fields)
    const source =
      file === null ? formUrlSource(sourceUrl, arrival) : uploadedSource(spooled!, file, sourceUrl)
    const request = transcriptionRequest(body, source, sessionId)
    return {
      request,
      discard: () => {
        spooled?.discard()
        discardFetched(source)
      },
    }
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
function linkedSource(
  { url, format }: { readonly url: string; readonly format?: string },
  arrival: TranscriptionArrival,
): AudioSource {
  const named = format ?? extensionOf(new URL(url).pathname)
  if (named === null) return failForField(['input_audio', 'format'], 'is needed: the URL names no format')
  return fetchedAudio(url, named, ['input_audio', 'url'], arrival)
}

function fetchedAudio(
  url: string,
  format: string,
  field: readonly string[],
  { call, caller, ports }: TranscriptionArrival,
): FetchedAudio {
  const deadlineAt = call.arrivedAt + ports.deadlineMs
  return new FetchedAudio({ url, format, field, caller, cancellation: call, deadlineAt, ports })
}

const FILE_MISSING = new ValidationIssue(['body', 'file'], 'missing')

function formUrlSource(url: string | undefined, arrival: TranscriptionArrival): AudioSource {
  if (url === undefined) return throwFault('invalid-input', { issues: [FILE_MISSING] })
  const format = extensionOf(new URL(url).pathname)
  const named = format ?? failForField(['source_url'], 'must name a format at the end of its path')
  return fetchedAudio(url, named, ['source_url'], arrival)
}

function uploadedSource(
  bytes: SpooledBytes,
  { header, head }: FormFile<unknown>,
  url: string | undefined,
): AudioSource {
  if (url !== undefined) failForField(['source_url'], 'cannot go with a file')
  if (bytes.size === 0) failForField(['file'], 'must not be empty')
  const filename = header.filename ?? ''
  const ending = extensionOf(filename)
  // A blob of a file, as the documentation of a public client has it, has neither a name nor a type.
  const format =
    ending ??
    formatOfMediaType(header.contentType) ??
    formatOfBytes(head) ??
    failForField(['file'], 'must have a name that ends in its format')
  requireFormat(format, head, ['file'])
  return {
    kind: 'bytes',
    bytes,
    format,
    filename: ending === null ? `${filename || 'audio'}.${format}` : filename,
  }
}

function requireFormat(format: string, bytes: Uint8Array, loc: readonly string[]): void {
  const mismatch = formatMismatch(format, bytes)
  if (mismatch !== null) failForField(loc, mismatch)
}

// ── The fields of a form, as the body that JSON would have ──────────────────

/** The value of a field; undefined when the form has none. Throws what is wrong with it. */
type FieldReader = (fields: MultipartFields, name: string) => unknown

/** A field that comes once. `parse` returns undefined for what the note does not allow. */
function singleField(parse: (text: string) => unknown, note = ''): FieldReader {
  return (fields, name) => {
    const text = fields.single(name)
    if (text === undefined) return undefined
    const value = parse(text)
    if (value === undefined) throw invalidInput(['body', name], note)
    return value
  }
}

const DECIMAL = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

const text = singleField((value) => value)
const number = singleField((value) => (DECIMAL.test(value) ? Number(value) : undefined), 'must be a number')
const flag = singleField(
  (value) => (value === 'true' || value === 'false' ? value === 'true' : undefined),
  'must be true or false',
)
/** An object in JSON, or a word. */
const objectOrText = singleField((value) => parseObject(value) ?? value)
const object = singleField(parseObject, 'must be a JSON object')

/** An empty list that was named is one without entries, which is for the schema to refuse. */
const list: FieldReader = (fields, name) =>
  fields.names.includes(name) || fields.names.includes(`${name}[]`) ? fields.list(name) : undefined

const FIELD_READERS: Readonly<Record<string, FieldReader>> = {
  model: text,
  language: text,
  response_format: text,
  session_id: text,
  user: text,
  temperature: number,
  diarize: flag,
  timestamp_granularities: list,
  keyterms: list,
  prompt: text,
  chunking_strategy: objectOrText,
  stream: flag,
  provider: object,
  providers: object,
  trace: object,
}

const FormSchema = TranscriptionIn.omit({ input_audio: true })

/** Throws `invalid-input` for the first field that is wrong. */
function readFormFields(fields: MultipartFields) {
  const values = Object.entries(FIELD_READERS).map(([name, read]) => [name, read(fields, name)] as const)
  const sourceUrl = fields.single('source_url')
  if (sourceUrl !== undefined && !audioUrl.safeParse(sourceUrl).success) {
    throw invalidInput(['body', 'source_url'], 'must be an http or https URL of at most 8000 characters')
  }
  const given = values.filter(([, value]) => value !== undefined)
  const body = readValid(FormSchema, Object.fromEntries([...furtherFields(fields), ...given]))
  return { body, sourceUrl }
}

/** The fields that nobody here knows: texts, and lists of them where they repeat or carry brackets. */
function furtherFields(fields: MultipartFields): (readonly [string, string | readonly string[]])[] {
  const names = new Set(fields.names.map((name) => name.replace(/\[\]$/, '')))
  const further = [...names].filter((name) => name !== 'source_url' && !Object.hasOwn(FIELD_READERS, name))
  return further.map((name) => {
    const marked = fields.all(`${name}[]`)
    const all = [...fields.all(name), ...marked]
    return [name, marked.length > 0 || all.length > 1 ? all : all[0]!]
  })
}

/** The value of a schema. Throws all that the input breaks. */
function readValid<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const issues: ValidationIssue[] = []
  const value = readBySchema(schema, input, issues)
  if (issues.length > 0) throw new Fault('invalid-input', { issues })
  return value as z.output<Schema>
}

function parseObject(value: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : undefined
  } catch {
    return undefined // refused without the text
  }
}

// ── Rules that join fields ──────────────────────────────────────────────────

const NAMES = memberNames(FormSchema, ['stream'])

function transcriptionRequest(
  body: z.output<typeof FormSchema>,
  audio: AudioSource,
  sessionId: string,
): TranscriptionRequest {
  const { provider, providers, diarize, language, session_id, response_format = 'json' } = body
  const issue = routingContradiction({ provider: provider ?? null, providers: providers ?? null })
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  if (diarize === true && response_format !== 'verbose_json')
    failForField(['diarize'], 'needs response_format verbose_json')
  const members = {
    ...sortMembers(body, NAMES),
    response_format,
    language: language?.toLowerCase(),
    session_id: session_id ?? (sessionId === '' ? undefined : sessionId),
  }
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null)
  return { ...Object.fromEntries(given), audio, is_session_loose: true } as unknown as TranscriptionRequest
}

function failForField(loc: readonly string[], note: string): never {
  throw invalidInput(['body', ...loc], note)
}
