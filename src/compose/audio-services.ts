/** Providers that only speak or listen, in formats of their own; each is loaded only where it is configured. */
import { systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { AUDIO_SERVICES, type AudioServiceKind } from '../gateway/catalog/configuration.js'
import type { AudioService } from '../gateway/providers/audio/service.js'
import type { ServerOptions } from '../gateway/providers/http/server.js'
import { deferCall } from '../gateway/providers/port/deferred-call.js'
import { rejectCall } from '../gateway/providers/port/failure.js'
import type {
  CallHandle,
  FailureReceiver,
  Provider,
  ProviderCall,
  SpeechApi,
  TranscriptionApi,
} from '../gateway/providers/port/provider.js'

const LOADERS: Readonly<Record<AudioServiceKind, (options: ServerOptions) => Promise<AudioService>>> = {
  deepgram: async (options) =>
    (await import('../gateway/providers/audio/deepgram.js')).deepgramService(options),
  elevenlabs: async (options) =>
    (await import('../gateway/providers/audio/elevenlabs.js')).elevenLabsService(options),
  assemblyai: async (options) =>
    (await import('../gateway/providers/audio/assemblyai.js')).assemblyAiService(options, systemClock),
}

/** A provider whose module is being loaded while the first calls come. */
export function audioServiceProvider(kind: AudioServiceKind, options: ServerOptions): Provider {
  const loaded = LOADERS[kind](options)
  loaded.catch(() => {}) // each call tells of it
  const transcription: TranscriptionApi = {
    stream: (call, receiver) =>
      deferCall(loaded, (service) => service.transcription!.stream(call, receiver), receiver),
    complete: (call, receiver) =>
      deferCall(loaded, (service) => service.transcription!.complete(call, receiver), receiver),
  }
  const speech: SpeechApi = {
    stream: (call, receiver) =>
      deferCall(loaded, (service) => service.speech!.stream(call, receiver), receiver),
    complete: (call, receiver) =>
      deferCall(loaded, (service) => service.speech!.complete(call, receiver), receiver),
  }
  const serves: readonly string[] = AUDIO_SERVICES[kind].serves
  return {
    stream: rejectText,
    complete: rejectText,
    ...(serves.includes('transcription') && { transcription }),
    ...(serves.includes('speech') && { speech }),
  }
}

/** The configuration gives such a provider no model of text. */
function rejectText(_: ProviderCall, receiver: FailureReceiver): CallHandle {
  return rejectCall(new Fault('internal', { detail: 'a provider that has nothing to say to text' }), receiver)
}
