/** Speech and transcription of an OpenAI-compatible server (contract/gateway 6 and 7). */
import { Fault } from '../../../base/fault.js'
import type { AudioFile, SpeechEvent, SpeechRequest, TranscriptionRequest } from '../../formats/audio.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import { optionalMember } from '../../formats/json-values.js'
import { fieldsOf, optionsFor } from '../audio/provider-options.js'
import { SoundExchange } from '../audio/sound-exchange.js'
import { nameUnsaid, neverAsked, refuseUnsupported } from '../audio/told-members.js'
import { playableFile } from '../audio/wav.js'
import { type FormFields, formBody } from '../http/form-body.js'
import { DocumentExchange } from '../http/provider-exchange.js'
import { addExtraMembers, type ProviderServer, type WireObject } from '../http/server.js'
import { deferCall } from '../port/deferred-call.js'
import { type FailureSource, rejectCall } from '../port/failure.js'
import type {
  CallHandle,
  ProviderCall,
  SpeechApi,
  StreamReceiver,
  TranscriptionApi,
} from '../port/provider.js'
import { parseTranscript } from './transcript.js'

// ── Speech ──────────────────────────────────────────────────────────────────

export function openAiSpeech(server: ProviderServer): SpeechApi {
  return {
    // Nothing is negotiated on: servers answer what `response_format` says.
    stream: server.operation(
      '/audio/speech',
      '*/*',
      speechBody,
      (call, receiver: StreamReceiver<SpeechEvent>) =>
        new SoundExchange(audioSource(server, call), receiver, null, call.generationId),
    ),
    complete: (_, receiver) => rejectCall(neverAsked('speech is streamed'), receiver),
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
  const hasSpeed = endpoint.supportedParameters.has('speed')
  if (!hasSpeed) nameUnsaid(call, ['speed'])
  const body = {
    ...options,
    model: endpoint.upstreamModel,
    input,
    voice,
    response_format,
    ...(hasSpeed && optionalMember('speed', speed)),
    ...optionalMember('instructions', instructions),
  }
  return addExtraMembers(body, request)
}

// ── Transcription ───────────────────────────────────────────────────────────

const TRANSCRIPTION_MEMBERS = new Set([
  ...['file', 'source_url', 'language', 'temperature', 'timestamp_granularities', 'diarize', 'keyterms'],
])
const TRANSCRIPT = { parse: parseTranscript, missing: 'a body without a text' }

export function openAiTranscription(server: ProviderServer): TranscriptionApi {
  const template = server.template('/audio/transcriptions', 'application/json')
  const bare = server.headersWithout(template, 'content-type')
  return {
    stream: (_, receiver) => rejectCall(neverAsked('transcripts come whole'), receiver),
    complete: (call, receiver) => {
      const options = refuseUnsupported(call) ?? optionsFor(call, TRANSCRIPTION_MEMBERS)
      if (options instanceof Fault) return rejectCall(options, receiver)
      const further: WireObject = { ...call.request.extra, ...options }
      for (const name of TRANSCRIPTION_MEMBERS) delete further[name]
      const fields = [...formFields(call), ...fieldsOf(further, '[]')]
      const send = (file: AudioFile): CallHandle => {
        const { contentType, length, body } = formBody(fields, playableFile(file))
        const headers = [...bare, 'content-type', contentType, 'content-length', String(length)]
        const source = audioSource(server, call)
        const exchange = new DocumentExchange(source, receiver, TRANSCRIPT, call.generationId)
        return server.send(exchange, { ...template, headers, body }, call)
      }
      const { audio } = call.request
      return audio.kind === 'bytes' ? send(audio) : deferCall(audio.fetch(), send, receiver)
    },
  }
}

function formFields({ request, endpoint }: ProviderCall<TranscriptionRequest>): FormFields {
  const { language, temperature, keyterms, prompt } = request
  const [format, ...more] = answerFields(request, endpoint)
  const fields: (readonly [string, string])[] = [['model', endpoint.upstreamModel], format!]
  if (language !== undefined) fields.push(['language', language])
  if (temperature !== undefined) fields.push(['temperature', String(temperature)])
  fields.push(...more)
  for (const each of keyterms ?? []) fields.push(['keyterms[]', each])
  if (prompt !== undefined) fields.push(['prompt', prompt])
  return fields
}

/** Models of OpenAI's own that tell speakers apart: in a format of their own, segment by segment. */
const DIARIZER = /-diarize(?:-|$)/

/** The format of the answer, then what it is to hold and how the recording is cut for it. */
function answerFields(
  request: TranscriptionRequest,
  { upstreamModel }: ProviderCall<TranscriptionRequest>['endpoint'],
): FormFields {
  const { response_format: format, diarize, chunking_strategy: chunking } = request
  const cut = fieldsOf({ ...optionalMember('chunking_strategy', chunking) }, '[]')
  if (diarize !== true || !DIARIZER.test(upstreamModel)) {
    const times = wantedTimes(request).map((each) => ['timestamp_granularities[]', each] as const)
    return [
      ['response_format', format],
      ...times,
      ...(diarize === true ? [['diarize', 'true'] as const] : []),
      ...cut,
    ]
  }
  // They refuse recordings over half a minute without a way to cut them.
  return [
    ['response_format', 'diarized_json'],
    ...(cut.length > 0 ? cut : [['chunking_strategy', 'auto'] as const]),
  ]
}

/**
 * None unless the transcript is verbose: without effect otherwise, and some servers refuse them then (contract/gateway
 * 6.1). Who spoke is told by the words, so diarization wants their times besides what was asked for.
 */
function wantedTimes(request: TranscriptionRequest): readonly string[] {
  const { response_format: format, timestamp_granularities: asked, diarize } = request
  if (format !== 'verbose_json') return []
  return diarize === true ? [...new Set([...(asked ?? ['segment']), 'word'])] : (asked ?? [])
}
