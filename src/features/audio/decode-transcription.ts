/** From a JSON body or a form to the canonical transcription request (contract/gateway 6.1 and 6.2). */
import { Fault, Issue } from '../../base/fault.js'
import type { AudioSource, TranscriptionRequest } from '../../gateway/formats/audio.js'
import { readJson } from '../../http/body.js'
import type { Call } from '../../http/endpoint.js'
import { FORM_LIMITS, FormFields, readMultipart } from '../../http/multipart.js'
import { validate } from '../../http/validate.js'
import { wholeOf } from '../../http/whole-body.js'
import type { Spool, Spooled, SpoolWriting } from '../../store/spool.js'
import { HEAD_BYTES, lieOf } from './audio-kind.js'
import { bytesOf } from './base64.js'
import { type TranscriptionBody, TranscriptionIn } from './schema.js'
import { formBody } from './transcription-form.js'

/** A request and the bytes that were put aside for it. */
interface Received {
  readonly request: TranscriptionRequest
  /** Gives the bytes' place back; once nobody reads them any more. */
  discard(): void
}

interface ReceivePorts {
  readonly spool: Spool
  /** Most bytes of an uploaded file. */
  readonly fileBytes: number
}

/** Reads the whole body. Throws what is wrong with it; nothing is kept then. */
export async function receiveTranscription(
  call: Call,
  sessionId: string,
  ports: ReceivePorts,
): Promise<Received> {
  const type = call.header('content-type')
  return /^\s*multipart\//i.test(type)
    ? fromForm(call, type, sessionId, ports)
    : fromJson(call, type, sessionId)
}

async function fromJson(call: Call, type: string, sessionId: string): Promise<Received> {
  const json = readJson(await wholeOf(call.incoming!), type)
  const body = json instanceof Issue ? wrong(json) : checked(json)
  const { input_audio: audio } = body
  const source = 'data' in audio ? inline(audio) : linked(audio)
  return { request: requestOf(body, source, sessionId), discard: () => {} }
}

function checked(value: unknown): TranscriptionBody {
  const issues: Issue[] = []
  const body = validate(TranscriptionIn, value, issues)
  if (issues.length > 0) throw new Fault('invalid-input', { issues })
  return body as TranscriptionBody
}

function inline({ data, format }: { readonly data: string; readonly format: string }): AudioSource {
  const bytes = bytesOf(data) ?? bad(['input_audio', 'data'], 'must be base64, not a data URL')
  mustBe(format, bytes, ['input_audio', 'format'])
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
function linked({ url, format }: { readonly url: string; readonly format?: string }): AudioSource {
  const named = format ?? extensionOf(new URL(url).pathname)
  return {
    kind: 'url',
    url,
    format: named ?? bad(['input_audio', 'format'], 'is needed: the URL names no format'),
  }
}

const EXTENSION = /\.([A-Za-z0-9][A-Za-z0-9+_-]{0,15})$/

function extensionOf(name: string): string | null {
  return EXTENSION.exec(name)?.[1]?.toLowerCase() ?? null
}

async function fromForm(
  call: Call,
  type: string,
  sessionId: string,
  { spool, fileBytes }: ReceivePorts,
): Promise<Received> {
  const fields = new FormFields()
  let writing: SpoolWriting | null = null
  let filename = ''
  let mediaType = ''
  let head = Buffer.alloc(0)
  try {
    await readMultipart(
      call.incoming!,
      type,
      { ...FORM_LIMITS, parts: MOST_PARTS, fileBytes },
      {
        field: (name, value) => fields.add(name, value),
        file: (header) => {
          if (header.name !== 'file') bad(['file'], 'must be the name of the part that holds a file')
          filename = header.filename ?? ''
          mediaType = header.contentType
          const begun = spool.begin()
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
    const spooled = await (writing as SpoolWriting | null)?.finish()
    return fromFields(fields, spooled ?? null, { filename, mediaType, head }, sessionId)
  } catch (error) {
    ;(writing as SpoolWriting | null)?.abandon()
    throw error
  }
}

/** The file, the single fields, and each list's entries as parts of their own. */
const MOST_PARTS = 256

interface NamedFile {
  readonly filename: string
  readonly mediaType: string
  /** Its first bytes. */
  readonly head: Uint8Array
}

function fromFields(
  fields: FormFields,
  spooled: Spooled | null,
  file: NamedFile,
  sessionId: string,
): Received {
  try {
    const { body, sourceUrl } = formBody(fields)
    const source = spooled === null ? fromUrl(sourceUrl) : uploaded(spooled, file, sourceUrl)
    const request = requestOf(body, source, sessionId)
    return { request, discard: () => spooled?.discard() }
  } catch (error) {
    spooled?.discard()
    throw error
  }
}

function fromUrl(url: string | undefined): AudioSource {
  if (url === undefined)
    throw new Fault('invalid-input', { issues: [new Issue(['body', 'file'], 'missing')] })
  const format = extensionOf(new URL(url).pathname)
  return {
    kind: 'url',
    url,
    format: format ?? bad(['source_url'], 'must name a format at the end of its path'),
  }
}

function uploaded(
  spooled: Spooled,
  { filename, mediaType, head }: NamedFile,
  url: string | undefined,
): AudioSource {
  if (url !== undefined) bad(['source_url'], 'cannot go with a file')
  if (spooled.size === 0) bad(['file'], 'must not be empty')
  const format =
    extensionOf(filename) ?? formatOf(mediaType) ?? bad(['file'], 'must have a name that ends in its format')
  mustBe(format, head, ['file'])
  return { kind: 'bytes', bytes: spooled, format, filename: filename === '' ? `audio.${format}` : filename }
}

function mustBe(format: string, head: Uint8Array, loc: readonly string[]): void {
  const lie = lieOf(format, head)
  if (lie !== null) bad(loc, lie)
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

function requestOf(
  body: Omit<TranscriptionBody, 'input_audio'>,
  audio: AudioSource,
  sessionId: string,
): TranscriptionRequest {
  const { model, response_format: format = 'json', timestamp_granularities: granularities } = body
  if (body.diarize === true && format !== 'verbose_json') {
    bad(['diarize'], 'needs response_format verbose_json')
  }
  const session = body.session_id ?? (sessionId === '' ? undefined : sessionId)
  return {
    model,
    audio,
    response_format: format,
    ...given('language', body.language?.toLowerCase()),
    ...given('temperature', body.temperature),
    ...given('timestamp_granularities', granularities),
    ...given('diarize', body.diarize),
    ...given('keyterms', body.keyterms),
    ...given('provider', body.provider),
    ...given('user', body.user),
    ...given('trace', body.trace),
    ...given('session_id', session),
  } as TranscriptionRequest
}

function given(name: string, value: unknown): Record<string, unknown> {
  return value === undefined || value === null ? {} : { [name]: value }
}

function bad(loc: readonly string[], note: string): never {
  throw new Fault('invalid-input', { issues: [new Issue(['body', ...loc], 'other', undefined, note)] })
}

function wrong(issue: Issue): never {
  throw new Fault('invalid-input', { issues: [issue] })
}
