/** Deepgram: recordings at `/v1/listen`, speech at `/v1/speak` (developers.deepgram.com/reference). */
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
import { DocumentExchange } from '../http/provider-exchange.js'
import type { ProviderServer, ServerOptions } from '../http/server.js'
import { type ErrorMembers, rejectCall } from '../port/failure.js'
import type { CallHandle, ProviderCall, SpeechApi, TranscriptionApi } from '../port/provider.js'
import { fieldsOf, optionsFor } from './provider-options.js'
import {
  type AudioService,
  mediaTypeOfFormat,
  refuseLongQuery,
  serviceServer,
  serviceSource,
} from './service.js'
import { SoundExchange } from './sound-exchange.js'
import { nameUnsaid, neverAsked, refuseUnsupported } from './told-members.js'
import {
  entityBetween,
  type HeardChannel,
  numbersIn,
  placesOf,
  SpeakerNames,
  transcriptOfChannels,
} from './transcript-members.js'
import { PCM_SAMPLE_RATE } from './wav.js'

export function deepgramService(options: ServerOptions): AudioService {
  const server = serviceServer(options, 'authorization', 'Token ')
  return { speech: deepgramSpeech(server), transcription: deepgramTranscription(server) }
}

/** Its older endpoints and its newer ones name the parts of an error differently. */
function readError(body: JsonObject): ErrorMembers {
  const { err_code, err_msg, category, message, details } = body
  return { code: err_code ?? category, message: err_msg ?? details ?? message }
}

// ── Transcription ───────────────────────────────────────────────────────────

/** What the request says itself; what would send the transcript elsewhere; labels in the operator's account. */
const LISTEN_MEMBERS = new Set([
  ...['language', 'diarize', 'keyterm', 'keyterms', 'encoding', 'sample_rate', 'channels', 'url'],
  ...['callback', 'callback_method', 'tag', 'extra'],
])
const HEARD = { parse: parseHeard, missing: 'an answer without channels' }

function deepgramTranscription(server: ProviderServer): TranscriptionApi {
  const template = server.template('/v1/listen', 'application/json')
  const bare = server.headersWithout(template, 'content-type')
  return {
    stream: (_, receiver) => rejectCall(neverAsked('transcripts come whole'), receiver),
    complete: (call, receiver) => {
      const options = refuseUnsupported(call) ?? optionsFor(call, LISTEN_MEMBERS)
      if (options instanceof Fault) return rejectCall(options, receiver)
      nameUnsaid(call, ['temperature', 'prompt', 'chunking_strategy'])
      const { audio } = call.request
      const query = String(listenQuery(call, options))
      const tooLong = refuseLongQuery(query, 'keyterms and provider.options')
      if (tooLong !== null) return rejectCall(tooLong, receiver)
      const path = `${template.path}?${query}`
      const source = serviceSource(server, call, readError)
      const exchange = new DocumentExchange(source, receiver, HEARD, call.generationId)
      if (audio.kind === 'url') {
        // It fetches recordings itself.
        const body = JSON.stringify({ url: audio.url })
        return server.send(exchange, { ...template, path, body }, call)
      }
      const headers = [...bare, ...fileHeaders(audio)]
      return server.send(exchange, { ...template, path, headers, body: audio.bytes }, call)
    },
  }
}

function fileHeaders({ format, bytes }: AudioFile): string[] {
  return ['content-type', mediaTypeOfFormat(format), 'content-length', String(bytes.size)]
}

function listenQuery(
  { request, endpoint }: ProviderCall<TranscriptionRequest>,
  options: JsonObject,
): URLSearchParams {
  const { language, diarize, keyterms, audio } = request
  // What callers of the other providers are used to; its options may say otherwise.
  const usual = { smart_format: true, ...(language === undefined && { detect_language: true }) }
  const query: [string, string][] = [
    ['model', endpoint.upstreamModel],
    ...fieldsOf({ ...usual, ...options }, ''),
    ...(language === undefined ? [] : [['language', language] as [string, string]]),
    ...(diarize === true ? [['diarize', 'true'] as [string, string]] : []),
    ...(keyterms ?? []).map((each): [string, string] => ['keyterm', each]),
  ]
  if (audio.format === 'pcm' && audio.kind === 'bytes')
    query.push(['encoding', 'linear16'], ['sample_rate', String(PCM_SAMPLE_RATE)], ['channels', '1'])
  return new URLSearchParams(query)
}

/** Null when there are no channels. Silence is a channel without words. */
function parseHeard(body: JsonObject): Transcript | null {
  const channels = objectsIn(asObject(body.results)?.channels)
  if (channels.length === 0) return null
  const speakers = new SpeakerNames()
  const heard = channels.map((channel, at) =>
    parseChannel(channel, speakers, channels.length > 1 ? at : null),
  )
  return transcriptOfChannels(heard, asObject(body.metadata)?.duration)
}

function parseChannel(channel: JsonObject, speakers: SpeakerNames, number: number | null): HeardChannel {
  const [best = {}] = objectsIn(channel.alternatives)
  const text = typeof best.transcript === 'string' ? best.transcript : ''
  const words = objectsIn(best.words).flatMap((word) => parseWord(word, speakers, number) ?? [])
  const { language_confidence } = numbersIn(channel, ['language_confidence'])
  return {
    text,
    words,
    ...optionalMember('language', nonEmptyText(channel.detected_language)),
    ...optionalMember('language_confidence', language_confidence),
    ...numbersIn(best, ['confidence']),
    ...optionalMember('entities', parseEntities(best.entities, text, words)),
  }
}

function parseWord(value: JsonObject, speakers: SpeakerNames, channel: number | null): TranscriptWord | null {
  const { start, end, ...confidence } = numbersIn(value, ['start', 'end', 'confidence'])
  const word = nonEmptyText(value.punctuated_word) ?? nonEmptyText(value.word)
  if (word === undefined || start === undefined || end === undefined) return null
  return {
    word,
    start,
    end,
    ...confidence,
    ...speakers.of(value.speaker),
    ...(channel !== null && { channel }),
  }
}

/** They are placed by numbers of words, the last one exclusive. */
function parseEntities(
  value: unknown,
  text: string,
  words: readonly TranscriptWord[],
): TranscriptEntity[] | undefined {
  if (!Array.isArray(value)) return undefined
  const places = placesOf(text, words)
  return objectsIn(value).flatMap(({ label, value: said, start_word, end_word }) => {
    const [type, entity] = [nonEmptyText(label), nonEmptyText(said)?.trim()]
    const [first, end] = [asCount(start_word), asCount(end_word)]
    if (type === undefined || entity === undefined || first === undefined) return []
    return entityBetween(text, { value: entity, type }, places[first], places[(end ?? first + 1) - 1]) ?? []
  })
}

// ── Speech ──────────────────────────────────────────────────────────────────

const SPEAK_MEMBERS = new Set([
  ...['text', 'speed', 'encoding', 'container', 'sample_rate', 'callback', 'callback_method', 'tag'],
])

function deepgramSpeech(server: ProviderServer): SpeechApi {
  const template = server.template('/v1/speak', '*/*')
  return {
    stream: (call, receiver) => {
      const options = optionsFor(call, SPEAK_MEMBERS)
      if (options instanceof Fault) return rejectCall(options, receiver)
      const source = serviceSource(server, call, readError)
      const exchange = new SoundExchange(source, receiver, null, call.generationId)
      const query = String(speakQuery(call, options))
      const tooLong = refuseLongQuery(query, 'voice and provider.options')
      if (tooLong !== null) return rejectCall(tooLong, receiver)
      const path = `${template.path}?${query}`
      const body = JSON.stringify({ text: call.request.input })
      return server.send(exchange, { ...template, path, body }, call) satisfies CallHandle
    },
    complete: (_, receiver) => rejectCall(neverAsked('speech is streamed'), receiver),
  }
}

/** Samples without a head, at the rate that callers are told (contract/decisions 30). */
const PCM_OUTPUT = [
  ['encoding', 'linear16'],
  ['container', 'none'],
  ['sample_rate', '24000'],
] as const

function speakQuery(call: ProviderCall<SpeechRequest>, options: JsonObject): URLSearchParams {
  const { request, endpoint } = call
  const hasSpeed = endpoint.supportedParameters.has('speed')
  nameUnsaid(call, hasSpeed ? ['instructions'] : ['speed', 'instructions'])
  const query: (readonly [string, string])[] = [
    ['model', voiceModel(request.voice, endpoint.upstreamModel)],
    ...fieldsOf(options, ''),
    ...(request.response_format === 'pcm' ? PCM_OUTPUT : [['encoding', 'mp3'] as const]),
  ]
  if (hasSpeed && request.speed !== undefined) query.push(['speed', String(request.speed)])
  return new URLSearchParams(query as [string, string][])
}

/** Its models are voices: `aura-2-thalia-en` is the voice `thalia-en` of `aura-2`. */
function voiceModel(voice: string, family: string): string {
  return voice.startsWith(`${family}-`) ? voice : `${family}-${voice}`
}
