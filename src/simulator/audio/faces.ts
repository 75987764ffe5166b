/** The simulated voice and the simulated ears as faces of the simulated provider. */

import { Fault } from '../../base/fault.js'
import type { SpeechRequest, Transcript, TranscriptionRequest } from '../../gateway/formats/audio.js'
import { speechUsage } from '../../gateway/formats/audio-usage.js'
import type { RoutedRequest } from '../../gateway/formats/canonical.js'
import type {
  CallHandle,
  CompletionReceiver,
  ProviderCall,
  ProviderFailure,
  SpeechApi,
  TranscriptionApi,
} from '../../gateway/providers/port/provider.js'
import type { CompiledBehaviour } from '../compiled-behaviour.js'
import { rejectRequest } from '../provider-failures.js'
import { heard } from './hearing.js'
import { type Mishap, mishapOf } from './mishap.js'
import { encodedMp3 } from './mp3.js'
import { spoken } from './speaking.js'
import { VOICES } from './tones.js'

/** Most characters that are spoken at a time. */
const LONGEST_INPUT = 4096

/** What a call is to be answered with: its behaviour and the seed, or why it is refused. */
export type Prepared = { readonly behaviour: CompiledBehaviour; readonly calls: number } | ProviderFailure

type Prepare = (call: ProviderCall<RoutedRequest>) => Prepared

export function simulatedSpeech(prepare: Prepare): SpeechApi {
  return {
    stream: (call, receiver) => {
      const run = new Cancellable()
      const prepared = prepare(call)
      void speaking(call, prepared, run, {
        audio: (bytes) => {
          receiver.onEvent({ type: 'audio', bytes })
          if (!run.over) receiver.onFlush()
        },
        ended: () => {
          receiver.onEvent({ type: 'usage', usage: speechUsage(call.request.input) })
          receiver.onEnd()
        },
        failed: (failure) => receiver.onFailure(failure),
      })
      return run
    },
    complete: (_, receiver) => refusedLater(receiver, 'speech is streamed'),
  }
}

export function simulatedTranscription(prepare: Prepare, seed: number): TranscriptionApi {
  return {
    stream: (_, receiver) => refusedLater(receiver, 'transcripts come whole'),
    complete: (call, receiver) => {
      const run = new Cancellable()
      void hearing(call, prepare(call), seed, run, receiver)
      return run
    },
  }
}

/** One call; whoever works for it looks now and then whether it is still wanted, and whether it may go on. */
class Cancellable implements CallHandle {
  over = false
  #paused = false
  #goOn: (() => void) | null = null

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#goOn?.()
    this.#goOn = null
  }

  cancel(): void {
    this.over = true
    this.resume()
  }

  /** The next turn of the loop, or the one in which the reader has caught up. */
  turn(): Promise<void> {
    if (this.#paused && !this.over) {
      return new Promise((resolve) => {
        this.#goOn = resolve
      })
    }
    return new Promise((resolve) => setImmediate(resolve))
  }

  wait(ms: number): Promise<void> {
    return ms <= 0 ? this.turn() : new Promise((resolve) => setTimeout(resolve, ms))
  }
}

interface SpeechEnds {
  readonly audio: (bytes: Uint8Array) => void
  readonly ended: () => void
  readonly failed: (failure: ProviderFailure) => void
}

async function speaking(
  call: ProviderCall<SpeechRequest>,
  prepared: Prepared,
  run: Cancellable,
  ends: SpeechEnds,
): Promise<void> {
  await run.turn()
  const voice = (VOICES as readonly string[]).indexOf(call.request.voice)
  const mishap = before(call, prepared) ?? unspeakable(call, voice)
  if (await endsBadly(mishap, run, ends.failed)) return
  let left = mishap?.after ?? Number.POSITIVE_INFINITY
  for await (const bytes of pieces(call.request, voice)) {
    await run.turn()
    if (run.over) return
    if (left-- <= 0) {
      ends.failed(mishap!.failure)
      return
    }
    ends.audio(bytes)
  }
  if (run.over) return
  if (mishap === null) ends.ended()
  else ends.failed(mishap.failure)
}

/** Waits as long as the mishap says, and tells a failure that comes before anything else. True when it did. */
async function endsBadly(
  mishap: Mishap | null,
  run: Cancellable,
  failed: (failure: ProviderFailure) => void,
): Promise<boolean> {
  if (mishap === null) return run.over
  await run.wait(mishap.waitMs)
  if (run.over) return true
  if (mishap.after > 0) return false
  failed(mishap.failure)
  return true
}

function before(call: { readonly endpoint: ProviderCall['endpoint'] }, prepared: Prepared): Mishap | null {
  if ('fault' in prepared) return { failure: prepared, waitMs: 0, after: 0 }
  return mishapOf(prepared.behaviour, prepared.calls, call.endpoint.provider.name)
}

function unspeakable({ request, endpoint }: ProviderCall<SpeechRequest>, voice: number): Mishap | null {
  const name = endpoint.provider.name
  const refuse = (note: string): Mishap => ({ failure: rejectRequest(note, name), waitMs: 0, after: 0 })
  if (voice < 0) return refuse(`There is no voice of that name; there are ${VOICES.join(', ')}.`)
  if (request.input.length > LONGEST_INPUT)
    return refuse(`The input has more than ${LONGEST_INPUT} characters.`)
  return null
}

async function* pieces(
  { input, speed = 1, response_format }: SpeechRequest,
  voice: number,
): AsyncGenerator<Uint8Array> {
  const samples = spoken(input, voice, speed)
  if (response_format === 'mp3') {
    yield* encodedMp3(samples)
    return
  }
  for (const piece of samples) yield new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength)
}

async function hearing(
  call: ProviderCall<TranscriptionRequest>,
  prepared: Prepared,
  seed: number,
  run: Cancellable,
  receiver: CompletionReceiver<Transcript>,
): Promise<void> {
  await run.turn()
  const mishap = before(call, prepared)
  if (mishap !== null) {
    await run.wait(mishap.waitMs)
    if (!run.over) receiver.onFailure(mishap.failure)
    return
  }
  try {
    const transcript = await heard(call.request, seed)
    if (!run.over) receiver.onEnd(transcript)
  } catch (cause) {
    if (!run.over) {
      const fault = cause instanceof Fault ? cause : new Fault('internal', { cause })
      receiver.onFailure({ fault, class: 'maybe-processed', status: 0 })
    }
  }
}

function refusedLater(receiver: { onFailure(failure: ProviderFailure): void }, detail: string): CallHandle {
  const run = new Cancellable()
  void run.turn().then(() => {
    if (!run.over)
      receiver.onFailure({ fault: new Fault('internal', { detail }), class: 'not-sent', status: 0 })
  })
  return run
}
