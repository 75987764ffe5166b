/** The audio faces of an OpenAI-compatible server. */
import { Fault } from '../../../base/fault.js'
import type { TranscriptionRequest } from '../../formats/audio.js'
import { type ServerOptions, template } from '../http/server.js'
import { failingLater } from '../port/failing-later.js'
import type { Source } from '../port/failure.js'
import type { ProviderCall, SpeechFace, TranscriptionFace } from '../port/provider.js'
import { Speech, speechBody } from './speech.js'
import { Transcription } from './transcription.js'
import { transcriptionForm } from './transcription-form.js'

type SourceOf = (call: { readonly endpoint: ProviderCall['endpoint'] }) => Source
type OwnHeaders = [string, string][]

export function openAiSpeech(options: ServerOptions, own: OwnHeaders, source: SourceOf): SpeechFace {
  // Not negotiated on: servers answer what `response_format` says.
  const request = template(options, '/audio/speech', '*/*', own)
  return {
    stream: (call, receiver) =>
      new Speech(source(call), receiver).begin(options.upstream, {
        ...request,
        body: JSON.stringify(speechBody(call)),
        deadlineAt: call.deadlineAt,
      }),
    complete: (_, receiver) =>
      failingLater(new Fault('internal', { detail: 'speech is streamed' }), receiver),
  }
}

export function openAiTranscription(
  options: ServerOptions,
  own: OwnHeaders,
  source: SourceOf,
): TranscriptionFace {
  const request = template(options, '/audio/transcriptions', 'application/json', own)
  const { headers: fixed } = request
  const bare = fixed.filter((_, at) => fixed[at - (at % 2)] !== 'content-type')
  return {
    stream: (_, receiver) =>
      failingLater(new Fault('internal', { detail: 'transcripts come whole' }), receiver),
    complete: (call, receiver) => {
      const refused = unsupported(call)
      if (refused !== null) return failingLater(refused, receiver)
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

const SPECIAL = ['diarize', 'keyterms'] as const

/** Servers that do not know these would ignore them, and the caller would not notice. */
function unsupported({ request, endpoint }: ProviderCall<TranscriptionRequest>): Fault | null {
  for (const name of SPECIAL) {
    const asked = request[name]
    if (asked === undefined || asked === false || endpoint.supportedParameters.has(name)) continue
    return new Fault('bad-request', { note: `${endpoint.model.id} does not support ${name}` })
  }
  return null
}
