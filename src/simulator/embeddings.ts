/** Embeddings of the simulated provider: unit vectors that follow from the words, alike where texts share words. */
import {
  type Embeddings,
  type EmbeddingsRequest,
  embeddingsUsage,
  encodeVector,
  inputsOf,
  type Vector,
} from '../gateway/formats/embeddings.js'
import type { EmbeddingsApi } from '../gateway/providers/port/provider.js'
import { UnsupportedRequest } from './faults.js'
import { rejectWith, type ScheduleFault, startCall } from './turn-call.js'

const DEFAULT_DIMENSIONS = 256
const MOST_DIMENSIONS = 4096
/** Of an answer, which is written in one turn. */
const MOST_NUMBERS = 2 ** 20
/** Of an input; what is beyond says nothing. */
const MOST_WORDS = 10_000
/** Dimensions that one word moves. */
const SPREAD = 8
/** Words after which other calls get their turn. */
const WORDS_A_TURN = 20_000

export function simulatedEmbeddings(scheduleFault: ScheduleFault): EmbeddingsApi {
  return {
    stream: rejectWith('embeddings come whole'),
    complete: (call, receiver) =>
      startCall(call, receiver, async (handle) => {
        const { request } = call
        const dimensions = checkedDimensions(request)
        const fault = scheduleFault(call)
        if (fault !== null) return handle.failAfterWait(fault, receiver)
        const vectors: Vector[] = []
        let tokens = 0
        let worked = 0
        for (const input of inputsOf(request.input)) {
          const words = typeof input === 'string' ? wordsOf(input) : input.slice(0, MOST_WORDS).map(String)
          vectors.push(encodeVector(unitVector(words, dimensions), request.encoding_format)!)
          tokens += typeof input === 'string' ? words.length : input.length
          worked += words.length + dimensions
          if (worked < WORDS_A_TURN) continue
          worked = 0
          await handle.nextTurn()
          if (handle.cancelled) return
        }
        const answer: Embeddings = { vectors, usage: embeddingsUsage(tokens) }
        if (!handle.cancelled) receiver.onEnd(answer)
      }),
  }
}

/** Throws an `UnsupportedRequest`. */
function checkedDimensions({ input, dimensions = DEFAULT_DIMENSIONS }: EmbeddingsRequest): number {
  if (dimensions > MOST_DIMENSIONS)
    throw new UnsupportedRequest(`This model has at most ${MOST_DIMENSIONS} dimensions.`)
  if (dimensions * inputsOf(input).length > MOST_NUMBERS)
    throw new UnsupportedRequest(`This model answers with at most ${MOST_NUMBERS} numbers.`)
  return dimensions
}

function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    words.push(word)
    if (words.length === MOST_WORDS) break
  }
  return words.length > 0 ? words : [text]
}

/** Each word moves some dimensions, which and whereto its hash says; the sum is brought to the length 1. */
function unitVector(words: readonly string[], dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  for (const word of words) {
    let hash = 0x811c9dc5
    for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193)
    for (let step = 0; step < SPREAD; step++) {
      hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) + step
      const place = (hash >>> 1) % dimensions
      vector[place]! += hash & 1 ? 1 : -1
    }
  }
  const length = Math.hypot(...vector)
  if (length === 0) vector[0] = 1
  return vector.map((value) => Math.fround(length === 0 ? value : value / length))
}
