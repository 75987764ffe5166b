/** ElevenLabs: recordings at `/v1/speech-to-text`, speech at `/v1/text-to-speech` (elevenlabs.io/docs/api-reference). */
import { Fault } from '../../../base/fault.js'
import type {
  AudioFile,
  SpeechRequest,
  Transcript,
  TranscriptEntity,
  TranscriptionRequest,
  TranscriptWord,
} from '../../formats/audio.js'
import {
  asCount,
  asObject,
  type JsonObject,
  nonEmptyText,
  objectsIn,
  optionalMember,
} from '../../formats/json-values.js'
import { type FormFields, formBody } from '../http/form-body.js'
import { DocumentExchange } from '../http/provider-exchange.js'
import type { ProviderServer, ServerOptions, WireObject } from '../http/server.js'
import { deferCall } from '../port/deferred-call.js'
import { type ErrorMembers, rejectCall } from '../port/failure.js'
import type { CallHandle, ProviderCall, SpeechApi, TranscriptionApi } from '../port/provider.js'
import { fieldsOf, optionsFor } from './provider-options.js'
import { type AudioService, serviceServer, serviceSource } from './service.js'
import { SoundExchange } from './sound-exchange.js'
import { nameUnsaid, neverAsked, refuseUnsupported } from './told-members.js'
import { type HeardChannel, numbersIn, SpeakerNames, transcriptOfChannels } from './transcript-members.js'

export function elevenLabsService(options: ServerOptions): AudioService {
  const server = serviceServer(options, 'xi-api-key')
  return { speech: elevenLabsSpeech(server), transcription: elevenLabsTranscription(server) }
}

/** One error with a code, or the list of what is wrong with the members of a body. */
function readError({ detail }: JsonObject): ErrorMembers {
  const [first] = objectsIn(detail)
  if (first !== undefined) {
    const path = Array.isArray(first.loc) ? first.loc.filter((part) => part !== 'body').join('.') : ''
    return { code: first.type, message: path === '' ? first.msg : `${path}: ${first.msg}` }
  }
  if (typeof detail === 'string') return { message: detail }
  const { code, status, type, message } = asObject(detail) ?? {}
  return { code: code ?? status ?? type, message }
}

// ── Transcription ───────────────────────────────────────────────────────────

/** What the request says itself; what would send the transcript elsewhere. */
const LISTEN_MEMBERS = new Set([
  ...['model_id', 'file', 'file_format', 'cloud_storage_url', 'source_url', 'language_code', 'temperature'],
  ...['diarize', 'keyterms', 'timestamps_granularity', 'token', 'webhook', 'webhook_id', 'webhook_metadata'],
])
const HEARD = { parse: parseHeard, missing: 'an answer without a text' }

function elevenLabsTranscription(server: ProviderServer): TranscriptionApi {
  const template = server.template('/v1/speech-to-text', 'application/json')
  const bare = server.headersWithout(template, 'content-type')
  return {
    stream: (_, receiver) => rejectCall(neverAsked('transcripts come whole'), receiver),
    complete: (call, receiver) => {
      const options = refuseUnsupported(call) ?? optionsFor(call, LISTEN_MEMBERS)
      if (options instanceof Fault) return rejectCall(options, receiver)
      nameUnsaid(call, ['prompt', 'chunking_strategy'])
      const { query, rest } = splitQuery(options)
      const fields = [...listenFields(call), ...fieldsOf(rest, '')]
      const send = (file: AudioFile | null): CallHandle => {
        const { contentType, length, body } = formBody([...fields, ...fileFields(call, file)], file)
        const headers = [...bare, 'content-type', contentType, 'content-length', String(length)]
        const source = serviceSource(server, call, readError)
        const exchange = new DocumentExchange(source, receiver, HEARD, call.generationId)
        return server.send(exchange, { ...template, path: template.path + query, headers, body }, call)
      }
      const { audio } = call.request
      if (audio.kind === 'bytes') return send(audio)
      // It fetches recordings itself, but only over TLS.
      return audio.url.startsWith('https:') ? send(null) : deferCall(audio.fetch(), send, receiver)
    },
  }
}

/** Options that its API has in the query, for both operations. */
const QUERY_OPTIONS: ReadonlySet<string> = new Set(['enable_logging', 'optimize_streaming_latency'])

/** `query` begins with a question mark, or is empty. */
function splitQuery(options: JsonObject, fixed: FormFields = []): { query: string; rest: JsonObject } {
  const all = Object.entries(options)
  const query = Object.fromEntries(all.filter(([name]) => QUERY_OPTIONS.has(name)))
  const rest = Object.fromEntries(all.filter(([name]) => !QUERY_OPTIONS.has(name)))
  const pairs = [...fixed, ...fieldsOf(query, '')] as [string, string][]
  return { query: pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`, rest }
}

function listenFields({ request, endpoint }: ProviderCall<TranscriptionRequest>): FormFields {
  const { language, temperature, diarize, keyterms } = request
  const fields: [string, string][] = [
    ['model_id', endpoint.upstreamModel],
    ['timestamps_granularity', 'word'],
  ]
  if (language !== undefined) fields.push(['language_code', language])
  if (temperature !== undefined) fields.push(['temperature', String(temperature)])
  if (diarize === true) fields.push(['diarize', 'true'])
  for (const each of keyterms ?? []) fields.push(['keyterms', each])
  return fields
}

function fileFields(
  { request: { audio } }: ProviderCall<TranscriptionRequest>,
  file: AudioFile | null,
): FormFields {
  if (file === null) return audio.kind === 'url' ? [['cloud_storage_url', audio.url]] : []
  return file.format === 'pcm' ? [['file_format', 'pcm_s16le_16']] : []
}

/** Null when there is no text. A recording whose channels were told apart has a transcript for each. */
function parseHeard(body: JsonObject): Transcript | null {
  const several = objectsIn(body.transcripts)
  const parts = several.length > 0 ? several : [body]
  if (parts.some(({ text }) => typeof text !== 'string')) return null
  const speakers = new SpeakerNames()
  const heard = parts.map((part, at) => parseChannel(part, speakers, parts.length > 1 ? at : null))
  const ends = heard.flatMap(({ words }) => words.at(-1)?.end ?? [])
  // Older answers do not say how long the recording is.
  const toLastWord = ends.length > 0 ? Math.max(...ends) : undefined
  return transcriptOfChannels(heard, body.audio_duration_secs ?? parts[0]?.audio_duration_secs ?? toLastWord)
}

function parseChannel(part: JsonObject, speakers: SpeakerNames, number: number | null): HeardChannel {
  const { language_probability: sure } = numbersIn(part, ['language_probability'])
  return {
    text: part.text as string,
    words: objectsIn(part.words).flatMap((word) => parseWord(word, speakers, number) ?? []),
    ...optionalMember('language', nonEmptyText(part.language_code)),
    ...optionalMember('language_confidence', sure),
    ...optionalMember('entities', parseEntities(part.entities)),
  }
}

/** Null for the spaces between words, which are listed as well. */
function parseWord(value: JsonObject, speakers: SpeakerNames, channel: number | null): TranscriptWord | null {
  const { start, end, logprob } = numbersIn(value, ['start', 'end', 'logprob'])
  const word = nonEmptyText(value.text)
  if (value.type === 'spacing' || word === undefined || start === undefined || end === undefined) return null
  return {
    word,
    start,
    end,
    ...(logprob !== undefined && { confidence: Math.exp(Math.min(0, logprob)) }),
    ...speakers.of(value.speaker_id),
    ...(channel !== null && { channel }),
    type: value.type === 'audio_event' ? 'audio_event' : 'word',
  }
}

function parseEntities(value: unknown): TranscriptEntity[] | undefined {
  if (!Array.isArray(value)) return undefined
  return objectsIn(value).flatMap(({ text: said, entity_type, start_char, end_char }) => {
    const [text, type, start, end] = [
      nonEmptyText(said),
      nonEmptyText(entity_type),
      asCount(start_char),
      asCount(end_char),
    ]
    if (text === undefined || type === undefined || start === undefined || end === undefined) return []
    return { text, type, start_char: start, end_char: end }
  })
}

// ── Speech ──────────────────────────────────────────────────────────────────

/** What the request says itself; what names earlier calls or resources of the operator's account. */
const SPEAK_MEMBERS = new Set([
  ...['text', 'model_id', 'output_format', 'speed', 'previous_request_ids', 'next_request_ids'],
  ...['pronunciation_dictionary_locators'],
])

/** Rates that the answer is declared with (contract/decisions 30), or the usual one of its MP3. */
const OUTPUT_FORMATS = { pcm: 'pcm_24000', mp3: 'mp3_44100_128' } as const

const VOICE_ID = /^[A-Za-z0-9_-]{1,64}$/

function elevenLabsSpeech(server: ProviderServer): SpeechApi {
  const template = server.template('/v1/text-to-speech', '*/*')
  return {
    stream: (call, receiver) => {
      const { voice, response_format } = call.request
      const options = checkVoice(voice) ?? optionsFor(call, SPEAK_MEMBERS)
      if (options instanceof Fault) return rejectCall(options, receiver)
      const { query, rest } = splitQuery(options, [['output_format', OUTPUT_FORMATS[response_format]]])
      const source = serviceSource(server, call, readError)
      const exchange = new SoundExchange(source, receiver, null, call.generationId)
      const path = `${template.path}/${voice}/stream${query}`
      return server.send(exchange, { ...template, path, body: JSON.stringify(speakBody(call, rest)) }, call)
    },
    complete: (_, receiver) => rejectCall(neverAsked('speech is streamed'), receiver),
  }
}

/** It stands in the path. */
function checkVoice(voice: string): Fault | null {
  if (VOICE_ID.test(voice)) return null
  const note = 'voice must be the id of a voice for this provider: letters, digits, underscores and hyphens'
  return new Fault('bad-request', { note, metadata: { error_type: 'invalid_request' } })
}

function speakBody(call: ProviderCall<SpeechRequest>, options: JsonObject): WireObject {
  const { request, endpoint } = call
  const hasSpeed = endpoint.supportedParameters.has('speed')
  nameUnsaid(call, hasSpeed ? ['instructions'] : ['speed', 'instructions'])
  const speed = hasSpeed ? request.speed : undefined
  const settings = asObject(options.voice_settings)
  return {
    ...options,
    text: request.input,
    model_id: endpoint.upstreamModel,
    ...(speed !== undefined && { voice_settings: { ...settings, speed } }),
  }
}
