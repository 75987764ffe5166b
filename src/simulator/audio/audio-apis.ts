/** Speech and transcription of the simulated provider. */
import { Fault } from '../../base/fault.js'
import { type SpeechRequest, speechUsage } from '../../gateway/formats/audio.js'
import type { RoutedRequest } from '../../gateway/formats/canonical.js'
import type {
  CallHandle,
  FailureReceiver,
  ProviderCall,
  SpeechApi,
  TranscriptionApi,
} from '../../gateway/providers/port/provider.js'
import { type FaultPoint, failAtOnce, planningFailure, UnsupportedRequest } from '../faults.js'
import { synthesizeSpeech, VOICES } from './synthesis.js'
import { transcribe } from './transcript.js'

/** Most characters that are spoken at a time. */
const MAX_INPUT = 4096

/** How a call is to fail, if it is; `afterSteps` counts pieces of sound. A transcript comes whole, or not at all. */
type ScheduleFault = (call: ProviderCall<RoutedRequest>) => FaultPoint | null

export function simulatedSpeech(scheduleFault: ScheduleFault): SpeechApi {
  return {
    stream: (call, receiver) =>
      startCall(receiver, async (handle) => {
        const scheduled = scheduleFault(call)
        const fault = invalidSpeech(call) ?? scheduled
        let left = fault?.afterSteps ?? Number.POSITIVE_INFINITY
        if (left > 0) {
          const { input, voice, speed = 1, response_format } = call.request
          for await (const bytes of synthesizeSpeech(input, voiceIndex(voice), speed, response_format)) {
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
    complete: (_, receiver) => rejectOperation('speech is streamed', receiver),
  }
}

export function simulatedTranscription(scheduleFault: ScheduleFault, seed: number): TranscriptionApi {
  return {
    stream: (_, receiver) => rejectOperation('transcripts come whole', receiver),
    complete: (call, receiver) =>
      startCall(receiver, async (handle) => {
        const fault = scheduleFault(call)
        if (fault !== null) return handle.failAfterWait(fault, receiver)
        const transcript = await transcribe(call.request, seed)
        if (!handle.cancelled) receiver.onEnd(transcript)
      }),
  }
}

function voiceIndex(voice: string): number {
  return (VOICES as readonly string[]).indexOf(voice)
}

function invalidSpeech({ request, endpoint }: ProviderCall<SpeechRequest>): FaultPoint | null {
  const reject = (note: string): FaultPoint =>
    failAtOnce(planningFailure(new UnsupportedRequest(note), endpoint.provider.name))
  if (voiceIndex(request.voice) < 0) {
    return reject(`There is no voice of that name; there are ${VOICES.join(', ')}.`)
  }
  if (request.input.length > MAX_INPUT) return reject(`The input has more than ${MAX_INPUT} characters.`)
  return null
}

/** Works in later turns of the loop. A defect ends the call as a failure. */
function startCall(receiver: FailureReceiver, work: (handle: AudioCallHandle) => Promise<void>): CallHandle {
  const handle = new AudioCallHandle()
  void handle
    .nextTurn()
    .then(() => (handle.cancelled ? undefined : work(handle)))
    .catch((cause: unknown) => {
      const fault = cause instanceof Fault ? cause : new Fault('internal', { cause })
      if (!handle.cancelled) receiver.onFailure({ fault, class: 'maybe-processed', status: 0 })
    })
  return handle
}

/** For what the port never asks. */
function rejectOperation(detail: string, receiver: FailureReceiver): CallHandle {
  return startCall(receiver, async () => {
    throw new Fault('internal', { detail })
  })
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
