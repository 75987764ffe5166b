/** Speech and transcription of an OpenAI-compatible server (contract/gateway 6 and 7). */
import { randomBytes } from 'node:crypto'
import { Fault } from '../../../base/fault.js'
import type { StreamedRequestBody } from '../../../upstream/port.js'
import {
  type SpeechEvent,
  type SpeechRequest,
  type Transcript,
  type TranscriptEntity,
  type TranscriptionRequest,
  type TranscriptSegment,
  type TranscriptWord,
  transcriptionUsage,
} from '../../formats/audio.js'
import type { RoutedRequest, Usage } from '../../formats/canonical.js'
import {
  asList,
  asObject,
  type JsonObject,
  nonEmptyText,
  optionalMember,
  UsageReader,
} from '../../formats/json-values.js'
import { isJsonType } from '../http/content-headers.js'
import { DocumentExchange, ProviderExchange } from '../http/provider-exchange.js'
import type { ProviderServer, WireObject } from '../http/server.js'
import { type FailureSource, rejectCall } from '../port/failure.js'
import type { ProviderCall, SpeechApi, StreamReceiver, TranscriptionApi } from '../port/provider.js'
import { formFieldsOf, optionsFor } from './provider-options.js'

// ── Speech ──────────────────────────────────────────────────────────────────

export function openAiSpeech(server: ProviderServer): SpeechApi {
  return {
    // Nothing is negotiated on: servers answer what `response_format` says.
    stream: server.operation(
      '/audio/speech',
      '*/*',
      speechBody,
      (call, receiver: StreamReceiver<SpeechEvent>) =>
        new SpeechExchange(audioSource(server, call), receiver, null, call.generationId),
    ),
    complete: (_, receiver) => rejectCall(new Fault('internal', { detail: 'speech is streamed' }), receiver),
  }
}

function audioSource(server: ProviderServer, call: ProviderCall<RoutedRequest>): FailureSource {
  return { ...server.source(call), without422: true }
}

const SPEECH_MEMBERS = new Set(['input', 'voice', 'speed', 'instructions'])

/** The body of a call. `speed` goes only to models that have it; others would refuse it. */
function speechBody(call: ProviderCall<SpeechRequest>): WireObject | Fault {
  const { request, endpoint } = call
  const { input, voice, response_format, speed, instructions } = request
  const options = optionsFor(call, SPEECH_MEMBERS)
  if (options instanceof Fault) return options
  return {
    ...options,
    model: endpoint.upstreamModel,
    input,
    voice,
    response_format,
    ...(endpoint.supportedParameters.has('speed') && optionalMember('speed', speed)),
    ...optionalMember('instructions', instructions),
  }
}

/** Raw bytes, passed on as they come. */
class SpeechExchange extends ProviderExchange<StreamReceiver<SpeechEvent>, never> {
  protected onSuccessHead(type: string): void {
    if (isJsonType(type) || type.startsWith('text/')) this.failMalformed('an answer that is no audio')
  }

  protected override onPiece(chunk: Uint8Array): void {
    this.receiver.onEvent({ type: 'audio', bytes: Uint8Array.from(chunk) })
    if (!this.over) this.receiver.onFlush()
  }

  protected override onLastPiece(): void {
    this.finish()
    this.receiver.onEnd()
  }
}

// ── Transcription ───────────────────────────────────────────────────────────

const TRANSCRIPTION_MEMBERS = new Set([
  ...['file', 'source_url', 'language', 'temperature', 'timestamp_granularities', 'diarize', 'keyterms'],
])
const TRANSCRIPT = { parse: parseTranscript, missing: 'a body without a text' }

export function openAiTranscription(server: ProviderServer): TranscriptionApi {
  const template = server.template('/audio/transcriptions', 'application/json')
  const bare = template.headers.filter((_, at, all) => all[at - (at % 2)] !== 'content-type')
  return {
    stream: (_, receiver) =>
      rejectCall(new Fault('internal', { detail: 'transcripts come whole' }), receiver),
    complete: (call, receiver) => {
      const options = refuseUnsupported(call) ?? optionsFor(call, TRANSCRIPTION_MEMBERS)
      if (options instanceof Fault) return rejectCall(options, receiver)
      const { contentType, length, body } = transcriptionForm(call, formFieldsOf(options))
      const headers = [...bare, 'content-type', contentType, 'content-length', String(length)]
      const exchange = new DocumentExchange(
        audioSource(server, call),
        receiver,
        TRANSCRIPT,
        call.generationId,
      )
      return server.send(exchange, { ...template, headers, body }, call)
    },
  }
}

const OPTIONAL_FEATURES = ['diarize', 'keyterms'] as const

/** Servers that do not know these would ignore them, and the caller would not notice. */
function refuseUnsupported({ request, endpoint }: ProviderCall<TranscriptionRequest>): Fault | null {
  for (const name of OPTIONAL_FEATURES) {
    const asked = request[name]
    if (asked === undefined || asked === false || endpoint.supportedParameters.has(name)) continue
    return new Fault('bad-request', { note: `${endpoint.model.id} does not support ${name}` })
  }
  return null
}

// ── What a server has heard (contract/gateway 6.3) ─────────────────────────────

/** Null when the body has no text. Members of a wrong type count as absent. */
function parseTranscript(body: JsonObject): Transcript | null {
  const text = nonEmptyText(body.text)
  if (text === undefined) return null
  return {
    text,
    ...optionalMember('language', nonEmptyText(body.language)),
    ...numbersIn(body, ['language_confidence', 'duration', 'confidence']),
    ...optionalMember('segments', parseList(body.segments, parseSegment)),
    ...optionalMember('words', parseList(body.words, parseWord)),
    ...optionalMember('entities', parseList(body.entities, parseEntity)),
    usage: transcriptUsage(body),
  }
}

/** Tokens, or seconds; a server that says neither but how long the audio was is paid by that. */
function transcriptUsage(body: JsonObject): Transcript['usage'] {
  const read = new UsageReader()
  const usage = readTranscriptUsage(body, read)
  return read.isPlausible ? usage : 'unbelievable'
}

function readTranscriptUsage(body: JsonObject, read: UsageReader): Usage | null {
  const usage = asObject(body.usage)
  const input = read.tokens(usage?.input_tokens)
  if (input !== undefined) {
    const details = asObject(usage?.input_token_details)
    return {
      ...transcriptionUsage(0),
      milliseconds: 0,
      prompt: input,
      completion: read.tokens(usage?.output_tokens) ?? 0,
      promptAudio: Math.min(input, read.tokens(details?.audio_tokens) ?? 0),
    }
  }
  const seconds = read.seconds(usage?.seconds) ?? read.seconds(body.duration)
  return seconds === undefined ? null : transcriptionUsage(seconds)
}

/** Some clients refuse a segment without any of these (contract/gateway 12.4). */
const SEGMENT_FIGURES = { seek: 0, temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 }

function parseSegment(value: JsonObject, at: number): TranscriptSegment | null {
  const { start, end, id = at } = numbersIn(value, ['start', 'end', 'id'])
  const text = nonEmptyText(value.text)
  if (start === undefined || end === undefined || text === undefined) return null
  const tokens = asList(value.tokens).filter((token): token is number => Number.isInteger(token))
  const figures = { ...SEGMENT_FIGURES, ...numbersIn(value, Object.keys(SEGMENT_FIGURES)) }
  return { id, start, end, text, tokens, ...figures, ...speakerMembers(value) }
}

function parseWord(value: JsonObject): TranscriptWord | null {
  const { start, end, ...confidence } = numbersIn(value, ['start', 'end', 'confidence'])
  const { type } = value
  const word = nonEmptyText(value.word)
  if (start === undefined || end === undefined || word === undefined) return null
  const known = (type === 'word' || type === 'audio_event') && ({ type } as const)
  return { word, start, end, ...confidence, ...speakerMembers(value), ...known }
}

function parseEntity(value: JsonObject): TranscriptEntity | null {
  const { start_char, end_char } = numbersIn(value, ['start_char', 'end_char'])
  const text = nonEmptyText(value.text)
  const type = nonEmptyText(value.type)
  if (text === undefined || type === undefined || start_char === undefined || end_char === undefined)
    return null
  return { text, type, start_char, end_char }
}

function speakerMembers(value: JsonObject): Pick<TranscriptWord, 'speaker' | 'speaker_label' | 'channel'> {
  const label = optionalMember('speaker_label', nonEmptyText(value.speaker_label))
  return { ...numbersIn(value, ['speaker', 'channel']), ...label }
}

function parseList<T>(value: unknown, read: (member: JsonObject, at: number) => T | null): T[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.flatMap((each, at) => read(asObject(each) ?? {}, at) ?? [])
}

/** Those of the members that are finite numbers. */
function numbersIn<K extends string>(value: JsonObject, names: readonly K[]): { readonly [N in K]?: number } {
  const found = names.filter((name) => Number.isFinite(value[name]))
  return Object.fromEntries(found.map((name) => [name, value[name]])) as { readonly [N in K]?: number }
}

// ── The request as multipart/form-data (RFC 7578), its file read while it is sent ───

interface TranscriptionForm {
  readonly contentType: string
  /** Of the whole body, in bytes. */
  readonly length: number
  readonly body: StreamedRequestBody
}

function transcriptionForm(
  call: ProviderCall<TranscriptionRequest>,
  options: readonly (readonly [string, string])[],
): TranscriptionForm {
  const boundary = `sluice-${randomBytes(18).toString('base64url')}`
  const { audio } = call.request
  const file = audio.kind === 'url' ? null : audio
  const fields = [...formFields(call), ...options].map(([name, value]) => formField(boundary, name, value))
  const before = Buffer.from(fields.join('') + (file === null ? '' : filePartHead(boundary, file.filename)))
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
  if (request.audio.kind === 'url') fields.push(['source_url', request.audio.url])
  return fields
}

function formField(boundary: string, name: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"\r\n\r\n${value}\r\n`
}

function filePartHead(boundary: string, filename: string): string {
  const disposition = `form-data; name="file"; filename="${escapeName(filename)}"`
  return `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: application/octet-stream\r\n\r\n`
}

/** As browsers write names: what would end the name or the line is percent-encoded. */
function escapeName(name: string): string {
  return name.replace(
    /[\r\n"]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
