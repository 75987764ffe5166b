/** Speech and transcription (contract/gateway 6 and 7). */
import { Fault, type FaultKind, invalidInput, type ValidationIssue } from '../../base/fault.js'
import type { FetchFile } from '../../base/file-fetch.js'
import { nanosToDollars } from '../../base/money.js'
import type { Principal } from '../../base/principal.js'
import type { Catalog, Model } from '../../gateway/catalog/catalog.js'
import type { SpeechRequest, Transcript, TranscriptionRequest } from '../../gateway/formats/audio.js'
import { transcriptionFormat } from '../../gateway/metering/audio-formats.js'
import { findModel } from '../../gateway/routing/variants.js'
import type { Consumption, Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'
import { gateway as dialect } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type HttpCall, type Reply } from '../../http/endpoint.js'
import { INFERENCE_HEADERS } from '../../inference-http/call-headers.js'
import {
  INFERENCE_FAULTS,
  type InferencePorts,
  inferenceOperation,
  wholeReply,
} from '../../inference-http/inference-reply.js'
import { routingContradiction, SESSION_HEADER, sessionIdIssue } from '../../inference-http/request-members.js'
import { memberNames, sortMembers } from '../../inference-http/sort-members.js'
import type { Spool } from '../../store/spool.js'
import { receiveTranscription } from './decode-transcription.js'
import { type SpeechBody, SpeechIn, Transcription, TranscriptionForm, TranscriptionIn } from './schema.js'
import { speechReply } from './speech-reply.js'

const operation = endpointGroup({ tag: 'Audio', dialect })

export interface AudioPorts extends InferencePorts {
  /** The catalogue of this moment. */
  readonly catalog: () => Catalog
  readonly spool: Spool
  /** Most bytes of a file that is uploaded or fetched, and of any body of a transcription. */
  readonly uploadBytes: number
  readonly fetchFile: FetchFile
}

const FAULTS: readonly FaultKind[] = [...INFERENCE_FAULTS, 'payload-too-large', 'deadline-exceeded']
const TRANSCRIPTION_REPLY = { format: transcriptionFormat, encode: encodeTranscript }
const TRANSCRIPTION_UPLOAD = {
  mediaType: 'multipart/form-data',
  schema: TranscriptionForm,
  json: TranscriptionIn,
  example: { model: 'sim/transcribe' },
} as const
/** A fiftieth of a second of silence, for the document. */
const SILENCE_WAV = `UklGRsQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YaAAAACA${'gICA'.repeat(53)}`
/** Room for the fields and the framing of a form around its file. */
const FORM_ROOM = 1024 * 1024

export const audioEndpoints = (ports: AudioPorts): Endpoint[] => [
  operation('transcription', 'POST /api/v1/audio/transcriptions', {
    ...inferenceOperation(ports),
    summary: 'Turn speech into text',
    access: 'management',
    keepsRecords: true,
    headers: [...INFERENCE_HEADERS, 'content-type'],
    bodyLimit: ports.uploadBytes + FORM_ROOM,
    upload: TRANSCRIPTION_UPLOAD,
    examples: { recording: { model: 'sim/transcribe', input_audio: { data: SILENCE_WAV, format: 'wav' } } },
    replies: { 200: { description: 'The transcript', schema: Transcription, headers: GENERATION } },
    faults: FAULTS,
    handle: ({ caller }, call) => transcribe(ports, caller, call),
  }),
  operation('speech', 'POST /api/v1/audio/speech', {
    ...inferenceOperation(ports),
    summary: 'Turn text into speech',
    body: SpeechIn,
    examples: {
      mp3: { model: 'sim/speech', voice: 'alba', response_format: 'mp3', input: 'The quick brown fox.' },
    },
    replies: {
      200: {
        description: 'Audio as it is spoken: MP3, or signed 16-bit little-endian samples, mono, 24 kHz',
        schema: { type: 'string', format: 'binary' },
        mediaType: 'audio/*',
        headers: {
          ...GENERATION,
          'X-Audio-Sample-Rate': 'Samples per second, of pcm.',
          'X-Service-Untranslated':
            'Members of the request that the provider was not told, a list in JSON; with X-Service-Metadata: enabled.',
        },
      },
    },
    faults: FAULTS,
    handle: ({ body, caller }, call) => {
      requireTimeLeft(ports, call)
      const request = decodeSpeech(body, readSessionHeader(call))
      requireKnownVoice(ports.catalog(), request)
      return speechReply(ports.gateway, request, caller, call)
    },
  }),
]

const GENERATION = { 'X-Generation-Id': 'Id of the generation.' }

async function transcribe(ports: AudioPorts, caller: Principal, call: HttpCall): Promise<Reply> {
  const sessionId = readSessionHeader(call)
  const { spool, fetchFile, uploadBytes: fileBytes, deadlineMs } = ports
  const files = { spool, fetchFile, fileBytes, deadlineMs }
  const { request, discard } = await receiveTranscription({ call, caller, sessionId, ports: files })
  // When the caller has left there is no answer: the promise below then never ends.
  call.onAbort(discard)
  try {
    requireTimeLeft(ports, call)
    requireSupportedOptions(ports.catalog(), request)
    return await wholeReply(ports.gateway, TRANSCRIPTION_REPLY, request, caller, call)
  } finally {
    discard()
  }
}

/** A body may take so long that no provider can be asked any more, and none is to blame for that. */
function requireTimeLeft({ deadlineMs }: AudioPorts, { arrivedAt }: HttpCall): void {
  if (performance.now() >= arrivedAt + deadlineMs) throw new Fault('deadline-exceeded')
}

function readSessionHeader(call: HttpCall): string {
  const sessionId = call.header(SESSION_HEADER)
  failOnIssue(sessionIdIssue(sessionId))
  return sessionId
}

function failOnIssue(issue: ValidationIssue | null): void {
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
}

const OPTIONAL_ABILITIES = ['diarize', 'keyterms'] as const

/** What no endpoint of the model can do is refused before anybody is asked (contract/gateway 6.1). */
function requireSupportedOptions(catalog: Catalog, request: TranscriptionRequest): void {
  const model = findModel(catalog, request.model)
  if (model === null) return
  for (const name of OPTIONAL_ABILITIES) {
    const asked = request[name]
    if (asked === undefined || asked === false) continue
    if (!model.endpoints.some(({ supportedParameters }) => supportedParameters.has(name))) {
      throw invalidInput(['body', name], `is not supported by ${model.id}`)
    }
  }
}

/** Models that do not say which voices they have leave the judgement to their provider. */
function requireKnownVoice(catalog: Catalog, { model: id, voice }: SpeechRequest): void {
  const voices: Model['supportedVoices'] = findModel(catalog, id)?.supportedVoices ?? null
  if (voices !== null && !voices.includes(voice))
    throw invalidInput(['body', 'voice'], `must be one of ${voices.join(', ')}`)
}

const SPEECH_NAMES = memberNames(SpeechIn, ['input_references', 'stream_format'])

function decodeSpeech(body: SpeechBody, sessionId: string): SpeechRequest {
  const { provider, providers, session_id, response_format = 'pcm' } = body
  failOnIssue(routingContradiction({ provider: provider ?? null, providers: providers ?? null }))
  if (body.input_references !== undefined && body.input_references.length > 0)
    throw invalidInput(['body', 'input_references'], 'is not supported')
  if (body.stream_format !== undefined && body.stream_format !== 'audio')
    throw invalidInput(['body', 'stream_format'], 'must be audio')
  const members = {
    ...sortMembers(body, SPEECH_NAMES),
    response_format,
    session_id: session_id ?? (sessionId === '' ? undefined : sessionId),
  }
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null)
  return { ...Object.fromEntries(given), stream: true, is_session_loose: true } as unknown as SpeechRequest
}

/** A transcript as the wire has it (contract/gateway 6.3). */
function encodeTranscript(
  generation: Generation<TranscriptionRequest>,
  transcript: Transcript,
  metadata: ServiceMetadata | null,
): string {
  const { request, consumption } = generation
  const usage = encodeUsage(consumption!)
  const routing = metadata === null ? {} : { service_metadata: metadata }
  if (request.response_format === 'json') return JSON.stringify({ text: transcript.text, usage, ...routing })
  const { usage: _, words, segments, ...heard } = transcript
  const wanted = request.timestamp_granularities ?? ['segment']
  // Who spoke is told by the words, whatever was asked for; by the segments where a provider knows no words.
  const wantsWords = wanted.includes('word') || request.diarize === true
  const wantsSegments = wanted.includes('segment') || (request.diarize === true && words === undefined)
  return JSON.stringify({
    task: 'transcribe',
    ...heard,
    ...(segments !== undefined && wantsSegments && { segments }),
    ...(words !== undefined && wantsWords && { words }),
    usage,
    ...routing,
  })
}

/** Seconds or tokens, whichever the provider is paid by. */
function encodeUsage({ usage, cost }: Consumption): Record<string, number> {
  const { milliseconds = 0, prompt, completion } = usage
  return {
    ...(milliseconds > 0 && { seconds: milliseconds / 1000 }),
    ...(prompt + completion > 0 && {
      input_tokens: prompt,
      output_tokens: completion,
      total_tokens: prompt + completion,
    }),
    cost: nanosToDollars(cost.total),
  }
}
