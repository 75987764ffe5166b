/** Speech and transcription of the simulated provider. */
import { type SpeechRequest, speechUsage } from '../../gateway/formats/audio.js'
import type { SpeechApi, TranscriptionApi } from '../../gateway/providers/port/provider.js'
import { UnsupportedRequest } from '../faults.js'
import { rejectWith, type ScheduleFault, startCall } from '../turn-call.js'
import { LONGEST_SPEECH } from './embedded-text.js'
import { synthesizeSpeech, VOICES } from './synthesis.js'
import { transcribe } from './transcript.js'

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
