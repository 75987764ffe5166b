/** The audio faces of an OpenAI-compatible server. */
import { Fault } from '../../../base/fault.js'
import type { TranscriptionRequest } from '../../formats/audio.js'
import { requestTemplate, type ServerOptions } from '../http/server.js'
import type { FailureSource } from '../port/failure.js'
import type { ProviderCall, SpeechApi, TranscriptionApi } from '../port/provider.js'
import { rejectCall } from '../port/rejected-call.js'
import { Speech, speechBody } from './speech.js'
import { Transcription } from './transcription.js'
import { transcriptionForm } from './transcription-form.js'

type FailureSourceOf = (call: { readonly endpoint: ProviderCall['endpoint'] }) => FailureSource
type CredentialHeaders = [string, string][]

export function openAiSpeech(
  options: ServerOptions,
  own: CredentialHeaders,
  source: FailureSourceOf,
): SpeechApi {
  // Not negotiated on: servers answer what `response_format` says.
  const request = requestTemplate(options, '/audio/speech', '*/*', own)
  return {
    stream: (call, receiver) =>
      new Speech(source(call), receiver).begin(options.upstream, {
        ...request,
        body: JSON.stringify(speechBody(call)),
        deadlineAt: call.deadlineAt,
      }),
    complete: (_, receiver) => rejectCall(new Fault('internal', { detail: 'speech is streamed' }), receiver),
  }
}

export function openAiTranscription(
  options: ServerOptions,
  own: CredentialHeaders,
  source: FailureSourceOf,
): TranscriptionApi {
  const request = requestTemplate(options, '/audio/transcriptions', 'application/json', own)
  const { headers: fixed } = request
  const bare = fixed.filter((_, at) => fixed[at - (at % 2)] !== 'content-type')
  return {
    stream: (_, receiver) =>
      rejectCall(new Fault('internal', { detail: 'transcripts come whole' }), receiver),
    complete: (call, receiver) => {
      const refused = refuseUnsupported(call)
      if (refused !== null) return rejectCall(refused, receiver)
      const form = transcriptionForm(call)
      return new Transcription(source(call), receiver).begin(options.upstream, {
        ...request,
        headers: [...bare, 'content-type', form.contentType, 'content-length', String(form.length)],
        body: form.body,
        deadlineAt: call.deadlineAt,
      })
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
