/** AssemblyAI: a recording is put there, a transcript is ordered, and asked for until it is done (assemblyai.com/docs). */
import type { Clock } from '../../../base/clock.js'
import { Fault } from '../../../base/fault.js'
import {
  type AudioFile,
  type Transcript,
  type TranscriptEntity,
  type TranscriptionRequest,
  type TranscriptWord,
  transcriptionUsage,
} from '../../formats/audio.js'
import { type JsonObject, nonEmptyText, objectsIn, optionalMember } from '../../formats/json-values.js'
import type { DocumentFormat } from '../http/answer-format.js'
import { DocumentExchange } from '../http/provider-exchange.js'
import type { ProviderServer, ServerOptions } from '../http/server.js'
import {
  type ErrorMembers,
  errorInAnswer,
  type FailureSource,
  rejectCall,
  transportFailure,
} from '../port/failure.js'
import {
  CallAdapter,
  type CompletionReceiver,
  type ProviderCall,
  type ProviderFailure,
  type TranscriptionApi,
} from '../port/provider.js'
import { optionsFor } from './provider-options.js'
import { type AudioService, serviceServer, serviceSource } from './service.js'
import { nameUnsaid, neverAsked, refuseUnsupported } from './told-members.js'
import {
  entityBetween,
  numbersIn,
  placesOf,
  SpeakerNames,
  transcriptOfChannels,
} from './transcript-members.js'
import { playableFile } from './wav.js'

export function assemblyAiService(options: ServerOptions, clock: Clock): AudioService {
  const server = serviceServer(options, 'authorization')
  const requests = {
    upload: server.template('/v2/upload', 'application/json'),
    create: server.template('/v2/transcript', 'application/json'),
    /** Without a body, so without the type of one. */
    pollHeaders: server.headersWithout(server.template('/v2/transcript', 'application/json'), 'content-type'),
  }
  return {
    transcription: {
      stream: (_, receiver) => rejectCall(neverAsked('transcripts come whole'), receiver),
      complete: (call, receiver) => {
        const options = refuseUnsupported(call) ?? optionsFor(call, ORDER_MEMBERS)
        if (options instanceof Fault) return rejectCall(options, receiver)
        nameUnsaid(call, ['prompt', 'chunking_strategy'])
        return new TranscriptOrder({ server, requests, clock, call, options, receiver }).start()
      },
    } satisfies TranscriptionApi,
  }
}

/** What the request says itself; what would send the transcript elsewhere. */
const ORDER_MEMBERS = new Set([
  ...['audio_url', 'speech_model', 'speech_models', 'language_code', 'speaker_labels', 'keyterms_prompt'],
  ...['temperature', 'webhook_url', 'webhook_auth_header_name', 'webhook_auth_header_value'],
])

function readError({ error }: JsonObject): ErrorMembers {
  return { message: error }
}

// ── The steps of a call ─────────────────────────────────────────────────────

interface OrderParts {
  readonly server: ProviderServer
  readonly requests: {
    readonly upload: ReturnType<ProviderServer['template']>
    readonly create: ReturnType<ProviderServer['template']>
    readonly pollHeaders: readonly string[]
  }
  readonly clock: Clock
  readonly call: ProviderCall<TranscriptionRequest>
  readonly options: JsonObject
  readonly receiver: CompletionReceiver<Transcript>
}

/** Milliseconds from one question to the next: most recordings are done within seconds, long ones take minutes. */
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 3_000
const WAIT_GROWTH = 1.5

const MOST_LOST_ANSWERS = 3

/** It stands in a path. */
const TRANSCRIPT_ID = /^[\w-]{1,128}$/

/** One call: its handle, and the receiver of each of its steps. */
class TranscriptOrder extends CallAdapter {
  readonly #parts: OrderParts
  readonly #source: FailureSource
  #isOrdered = false
  #waitMs = FIRST_WAIT_MS
  #stopWaiting: (() => void) | null = null
  /** Questions in a row whose answers did not come. */
  #lostAnswers = 0

  constructor(parts: OrderParts) {
    super()
    this.#parts = parts
    this.#source = serviceSource(parts.server, parts.call, readError)
  }

  start(): this {
    const { audio } = this.#parts.call.request
    // It fetches recordings itself.
    if (audio.kind === 'url') this.#order(audio.url)
    else this.#upload(playableFile(audio))
    return this
  }

  override cancel(): void {
    this.#stopWaiting?.()
    super.cancel()
  }

  #upload({ bytes }: AudioFile): void {
    const { server, requests } = this.#parts
    const bare = server.headersWithout(requests.upload, 'content-type')
    const headers = [
      ...bare,
      ...['content-type', 'application/octet-stream', 'content-length', String(bytes.size)],
    ]
    this.#step(UPLOADED, { ...requests.upload, headers, body: bytes }, (url) => this.#order(url))
  }

  #order(url: string): void {
    const body = JSON.stringify(orderBody(this.#parts.call, url, this.#parts.options))
    this.#step(ORDERED, { ...this.#parts.requests.create, body }, (id) => {
      this.#isOrdered = true
      this.#waitFor(id)
    })
  }

  #waitFor(id: string): void {
    const { clock, call } = this.#parts
    const left = call.deadlineAt - performance.now()
    const wait = Math.min(this.#waitMs, Math.max(0, left))
    this.#waitMs = Math.min(LONGEST_WAIT_MS, this.#waitMs * WAIT_GROWTH)
    this.#stopWaiting = clock.runAfter(wait, () => {
      if (left > wait) this.#poll(id)
      else this.#fail(transportFailure({ ...LATE, cause: undefined }, this.#source, 0))
    })
  }

  #poll(id: string): void {
    const { requests } = this.#parts
    const { create, pollHeaders: headers } = requests
    const request = { ...create, method: 'GET', path: `${create.path}/${id}`, headers, body: null } as const
    const take = (outcome: TranscriptOutcome): void => {
      this.#lostAnswers = 0
      if (outcome === 'unfinished') this.#waitFor(id)
      // Nothing is paid for a transcript that has failed: another service may be asked.
      else if ('error' in outcome)
        this.#parts.receiver.onFailure({
          ...errorInAnswer(outcome.error, this.#source, 200),
          class: 'refused',
        })
      else this.#parts.receiver.onEnd(outcome)
    }
    // The transcript is under way and paid for: an answer that got lost on the way is asked for again.
    const retry = (failure: ProviderFailure): void => {
      const isLost = failure.status === 0 || failure.status === 429 || failure.status >= 500
      if (isLost && ++this.#lostAnswers <= MOST_LOST_ANSWERS) this.#waitFor(id)
      else this.#fail(failure)
    }
    this.#step(TRANSCRIPT, request, take, retry)
  }

  /** Sends one request and goes on with its answer. */
  #step<A>(
    format: DocumentFormat<A>,
    request: Parameters<ProviderServer['send']>[1],
    next: (answer: A) => void,
    onFailure = (failure: ProviderFailure): void => this.#fail(failure),
  ): void {
    if (this.cancelled) return
    const { server, call } = this.#parts
    const exchange = new DocumentExchange(this.#source, { onEnd: next, onFailure }, format, call.generationId)
    this.attach(server.send(exchange, request, call))
  }

  /** Behind the order the recording is being transcribed, and paid for, whatever becomes of our question. */
  #fail(failure: ProviderFailure): void {
    const isRefusal = failure.fault.kind === 'bad-request'
    const isBegun = this.#isOrdered && !isRefusal
    this.#parts.receiver.onFailure(isBegun ? { ...failure, class: 'maybe-processed' } : failure)
  }
}

const LATE = { reason: 'timeout', phase: 'total', requestSent: true } as const

const UPLOADED: DocumentFormat<string> = {
  parse: ({ upload_url: url }) => nonEmptyText(url) ?? null,
  missing: 'an upload without an address',
}

const ORDERED: DocumentFormat<string> = {
  parse: ({ id }) => (typeof id === 'string' && TRANSCRIPT_ID.test(id) ? id : null),
  missing: 'an order without an id',
}

function orderBody(
  { request, endpoint }: ProviderCall<TranscriptionRequest>,
  url: string,
  options: JsonObject,
): JsonObject {
  const { language, temperature, diarize, keyterms } = request
  return {
    // Its options may say otherwise.
    ...(language === undefined && { language_detection: true }),
    ...options,
    audio_url: url,
    speech_models: [endpoint.upstreamModel],
    ...optionalMember('language_code', language),
    ...optionalMember('temperature', temperature),
    ...(diarize === true && { speaker_labels: true }),
    ...optionalMember('keyterms_prompt', keyterms),
  }
}

// ── The transcript ──────────────────────────────────────────────────────────

type TranscriptOutcome = Transcript | 'unfinished' | { readonly error: object }

const TRANSCRIPT: DocumentFormat<TranscriptOutcome> = {
  parse: parseOutcome,
  missing: 'a transcript without a text',
  // Every transcript has that member, and what it says is for `parseOutcome` to judge.
  errorIn: () => null,
}

/** What stands for silence, where the language was to be detected; nothing is paid for it. */
const NO_SPEECH = /no spoken audio/i
/** Its own doing; everything else that it says of a transcript is about the recording. */
const OWN_FAILURE = /server error|internal error|try again|timed? ?out|developers have been/i

/** Null when there is neither a text nor an error. Times are milliseconds. */
function parseOutcome(body: JsonObject): TranscriptOutcome | null {
  const { status, text, error, audio_duration: seconds } = body
  if (status === 'queued' || status === 'processing') return 'unfinished'
  if (status === 'completed') {
    // Of a recording without speech the text is null.
    return typeof text === 'string' || text === null ? parseTranscript(text ?? '', body) : null
  }
  if (status !== 'error') return null
  const message = nonEmptyText(error) ?? 'no reason'
  if (NO_SPEECH.test(message))
    return { ...transcriptOfChannels([{ text: '', words: [] }], seconds), usage: transcriptionUsage(0) }
  return { error: OWN_FAILURE.test(message) ? { message } : { message, code: 400 } }
}

function parseTranscript(text: string, body: JsonObject): Transcript {
  const speakers = new SpeakerNames()
  const words = objectsIn(body.words).flatMap((word) => parseWord(word, speakers) ?? [])
  const { language_confidence } = numbersIn(body, ['language_confidence'])
  const channel = {
    text,
    words,
    ...optionalMember('language', nonEmptyText(body.language_code)),
    ...optionalMember('language_confidence', language_confidence),
    ...numbersIn(body, ['confidence']),
    ...optionalMember('entities', parseEntities(body.entities, text, words)),
  }
  return transcriptOfChannels([channel], body.audio_duration)
}

function parseWord(value: JsonObject, speakers: SpeakerNames): TranscriptWord | null {
  const { start, end, confidence } = numbersIn(value, ['start', 'end', 'confidence'])
  const word = nonEmptyText(value.text)
  if (word === undefined || start === undefined || end === undefined) return null
  const channel = Number(value.channel ?? Number.NaN)
  return {
    word,
    start: start / 1000,
    end: end / 1000,
    ...optionalMember('confidence', confidence),
    ...speakers.of(value.speaker),
    ...(Number.isSafeInteger(channel) && { channel }),
  }
}

/** A longer one is told by its first words. */
const MOST_ENTITY_WORDS = 50

/** They are placed by their times. */
function parseEntities(
  value: unknown,
  text: string,
  words: readonly TranscriptWord[],
): TranscriptEntity[] | undefined {
  if (!Array.isArray(value)) return undefined
  const places = placesOf(text, words)
  const ordered = objectsIn(value).toSorted((one, other) => Number(one.start) - Number(other.start))
  let at = 0
  return ordered.flatMap((entity) => {
    const [type, said] = [nonEmptyText(entity.entity_type), nonEmptyText(entity.text)]
    const { start, end = 0 } = numbersIn(entity, ['start', 'end'])
    if (type === undefined || said === undefined || start === undefined) return []
    while (at < words.length && words[at]!.end <= start / 1000) at++
    const most = Math.min(words.length, at + MOST_ENTITY_WORDS) - 1
    let last = at
    while (last < most && words[last + 1]!.start < end / 1000) last++
    return entityBetween(text, { value: said, type }, places[at], places[last]) ?? []
  })
}
