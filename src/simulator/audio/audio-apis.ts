/** Speech and transcription of the simulated provider. */
import { Fault } from '../../base/fault.js'
import { type SpeechRequest, speechUsage } from '../../gateway/formats/audio.js'
import type { RoutedRequest } from '../../gateway/formats/canonical.js'
import type {
  CallHandle,
  FailureReceiver,
  ProviderCall,
  ProviderFailure,
  SpeechApi,
  TranscriptionApi,
} from '../../gateway/providers/port/provider.js'
import { type FaultPoint, planningFailure, UnsupportedRequest } from '../faults.js'
import { LONGEST_SPEECH } from './embedded-text.js'
import { synthesizeSpeech, VOICES } from './synthesis.js'
import { transcribe } from './transcript.js'

/** How a call is to fail, if it is; `afterSteps` counts pieces of sound. Throws what ends the call as a failure. */
type ScheduleFault = (call: ProviderCall<RoutedRequest>) => FaultPoint | null

export function simulatedSpeech(scheduleFault: ScheduleFault): SpeechApi {
  return {
    stream: (call, receiver) =>
      startCall(call, receiver, async (handle) => {
        const voice = checkedVoice(call.request)
        const fault = scheduleFault(call)
        let left = fault?.afterSteps ?? Number.POSITIVE_INFINITY
        if (left > 0) {
          const { input, speed = 1, response_format } = call.request
          for await (const bytes of synthesizeSpeech(input, voice, speed, response_format)) {
            await handle.nextTurn()
            if (handle.cancelled || left-- <= 0) break
            receiver.onEvent({ type: 'audio', bytes })
            if (!handle.cancelled) receiver.onFlush()
          }
        }
        if (fault !== null) return handle.failAfterWait(fault, receiver)
        if (!handle.cancelled) receiver.onEvent({ type: 'usage', usage: speechUsage(call.request.input) })
        if (!handle.cancelled) receiver.onEnd()
      }),
    complete: rejectWith('speech is streamed'),
  }
}

export function simulatedTranscription(scheduleFault: ScheduleFault, seed: number): TranscriptionApi {
  return {
    stream: rejectWith('transcripts come whole'),
    complete: (call, receiver) =>
      startCall(call, receiver, async (handle) => {
        const fault = scheduleFault(call)
        if (fault !== null) return handle.failAfterWait(fault, receiver)
        const transcript = await transcribe(call.request, seed)
        if (!handle.cancelled) receiver.onEnd(transcript)
      }),
  }
}

/** The voice that is asked for. Throws an `UnsupportedRequest`. */
function checkedVoice({ voice, input }: SpeechRequest): string {
  if (!VOICES.includes(voice)) {
    throw new UnsupportedRequest(`There is no voice of that name; there are ${VOICES.join(', ')}.`)
  }
  if (input.length <= LONGEST_SPEECH) return voice
  throw new UnsupportedRequest(`The input has more than ${LONGEST_SPEECH} characters.`)
}

/** Works in later turns of the loop. What the work throws ends the call as a failure. */
function startCall(
  { endpoint }: ProviderCall<RoutedRequest>,
  receiver: FailureReceiver,
  work: (handle: AudioCallHandle) => Promise<void>,
): CallHandle {
  const handle = new AudioCallHandle()
  void handle
    .nextTurn()
    .then(() => (handle.cancelled ? undefined : work(handle)))
    .catch((error: unknown) => {
      if (!handle.cancelled) receiver.onFailure(audioFailure(error, endpoint.provider.name))
    })
  return handle
}

function audioFailure(error: unknown, providerName: string): ProviderFailure {
  if (error instanceof UnsupportedRequest) return planningFailure(error, providerName)
  const fault = error instanceof Fault ? error : new Fault('internal', { cause: error })
  return { fault, class: 'maybe-processed', status: 0 }
}

/** For what the port never asks. */
function rejectWith(detail: string) {
  return (call: ProviderCall<RoutedRequest>, receiver: FailureReceiver): CallHandle =>
    startCall(call, receiver, () => Promise.reject(new Fault('internal', { detail })))
}

/** Control over one call; its work asks between pieces whether it is still wanted and may go on. */
class AudioCallHandle implements CallHandle {
  cancelled = false
  #paused = false
  #onResume: (() => void) | null = null

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#onResume?.()
    this.#onResume = null
  }

  cancel(): void {
    this.cancelled = true
    this.resume()
  }

  /** The next turn of the loop, or the one in which the reader has caught up. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#paused && !this.cancelled) this.#onResume = resolve
      else setImmediate(resolve)
    })
  }

  async failAfterWait({ waitMs, failure }: FaultPoint, receiver: FailureReceiver): Promise<void> {
    if (waitMs !== null && waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    if (!this.cancelled) receiver.onFailure(failure)
  }
}
