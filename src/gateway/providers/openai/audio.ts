/** Speech and transcription of an OpenAI-compatible server (contract/gateway 6 and 7). */
import { Fault } from '../../../base/fault.js'
import type { SpeechEvent, SpeechRequest, TranscriptionRequest } from '../../formats/audio.js'
import { DocumentExchange, isJsonType, mediaTypeOf, ProviderExchange } from '../http/provider-exchange.js'
import type { ProviderServer, WireObject } from '../http/server.js'
import type { FailureSource, ResponseHeaders } from '../port/failure.js'
import { rejectCall } from '../port/failure.js'
import type {
  ProviderCall,
  ProviderFailure,
  SpeechApi,
  StreamReceiver,
  TranscriptionApi,
} from '../port/provider.js'
import { parseTranscript } from './transcript.js'
import { transcriptionForm } from './transcription-form.js'

// ── Speech ──────────────────────────────────────────────────────────────────

export function openAiSpeech(server: ProviderServer): SpeechApi {
  // Not negotiated on: servers answer what `response_format` says.
  const template = server.template('/audio/speech', '*/*')
  return {
    stream: (call, receiver) => {
      const body = JSON.stringify(speechBody(call))
      return server.send(new SpeechExchange(server.source(call), receiver), { ...template, body }, call)
    },
    complete: (_, receiver) => rejectCall(new Fault('internal', { detail: 'speech is streamed' }), receiver),
  }
}

/** The body of a call. `speed` goes only to models that have it; others would refuse it. */
function speechBody({ request, endpoint }: ProviderCall<SpeechRequest>): WireObject {
  const { input, voice, response_format, speed, instructions } = request
  return {
    model: endpoint.upstreamModel,
    input,
    voice,
    response_format,
    ...(speed !== undefined && endpoint.supportedParameters.has('speed') && { speed }),
    ...(instructions !== undefined && { instructions }),
  }
}

/** Raw bytes, passed on as they come. */
class SpeechExchange extends ProviderExchange {
  readonly #receiver: StreamReceiver<SpeechEvent>

  constructor(source: FailureSource, receiver: StreamReceiver<SpeechEvent>) {
    super(source)
    this.#receiver = receiver
  }

  protected onSuccessHead(headers: ResponseHeaders): void {
    const type = mediaTypeOf(headers)
    if (isJsonType(type) || type.startsWith('text/')) this.failMalformed('an answer that is no audio')
  }

  protected onSuccessBody(chunk: Uint8Array): void {
    this.#receiver.onEvent({ type: 'audio', bytes: Uint8Array.from(chunk) })
    if (!this.over) this.#receiver.onFlush()
  }

  protected onSuccessEnd(): void {
    this.finish()
    this.#receiver.onEnd()
  }

  protected reportFailure(failure: ProviderFailure): void {
    this.#receiver.onFailure(failure)
  }
}

// ── Transcription ───────────────────────────────────────────────────────────

const TRANSCRIPT = { parse: parseTranscript, missing: 'a body without a text' }

export function openAiTranscription(server: ProviderServer): TranscriptionApi {
  const template = server.template('/audio/transcriptions', 'application/json')
  const bare = template.headers.filter((_, at, all) => all[at - (at % 2)] !== 'content-type')
  return {
    stream: (_, receiver) =>
      rejectCall(new Fault('internal', { detail: 'transcripts come whole' }), receiver),
    complete: (call, receiver) => {
      const refused = refuseUnsupported(call)
      if (refused !== null) return rejectCall(refused, receiver)
      const { contentType, length, body } = transcriptionForm(call)
      const headers = [...bare, 'content-type', contentType, 'content-length', String(length)]
      const exchange = new DocumentExchange(server.source(call), TRANSCRIPT, call.generationId, receiver)
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
