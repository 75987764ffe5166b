/**
 * What an endpoint's calls came to, as far as the ledger has told it up to a moment: a sample of them, from which calls
 * that it did not serve are drawn. Draws of one replicate see one resample of the sample (the bootstrap), so that what
 * replicates differ by also holds how little is known.
 */

/** One call of an endpoint. */
export interface PastCall {
  /** `broken`: in the middle of its answer, so that nobody else was asked. */
  readonly end: 'answered' | 'failed' | 'broken'
  readonly streamed: boolean
  /** From its begin to the first event, or to the whole answer; to its failure where it failed. Milliseconds. */
  readonly firstMs: number
  readonly totalMs: number
  readonly prompt: number
  readonly completion: number
  /** Of the prompt, what came from a cache and what was written to one; from 0 to 1. */
  readonly cachedShare: number
  readonly writtenShare: number
}

/** Calls that are kept; beyond them a new one takes the place of any, so that older ones fade. */
const KEPT = 512
/** Of an endpoint with fewer calls nothing is told. */
const LEAST = 20
/** A call is drawn as the one of so many that is most like it. */
const LOOKED_AT = 4
/** How much it counts that one is streamed and the other is not: as much as that one is 16 times as long. */
const OTHER_WAY = 4

export class EndpointHistory {
  readonly #calls: PastCall[] = []
  #unanswered = 0

  get size(): number {
    return this.#calls.length
  }

  /** There are enough of them to draw from. */
  get tells(): boolean {
    return this.#calls.length >= LEAST
  }

  /** None of them came to nothing. */
  get isFlawless(): boolean {
    return this.#unanswered === 0
  }

  add(call: PastCall, random: () => number): void {
    const calls = this.#calls
    const place = calls.length < KEPT ? calls.length : Math.floor(random() * KEPT)
    const old = calls[place]
    calls[place] = call
    this.#unanswered += Number(call.end !== 'answered') - Number(old !== undefined && old.end !== 'answered')
  }

  /**
   * A call of its past, the one of a few that is most like a call that it is to stand for; whether it answers does not
   * depend on how long it is. `resample`: of the replicate, see `newResample`. There must be one call at least.
   */
  draw(
    like: Pick<PastCall, 'streamed' | 'prompt' | 'completion'>,
    resample: Float64Array,
    random: () => number,
  ): PastCall {
    const first = this.#drawOne(resample, random)
    if (first.end !== 'answered') return first
    let best = first
    let least = distance(first, like)
    for (let look = 1; look < LOOKED_AT; look++) {
      const call = this.#drawOne(resample, random)
      const far = call.end === 'answered' ? distance(call, like) : Number.POSITIVE_INFINITY
      if (far < least) {
        best = call
        least = far
      }
    }
    return best
  }

  #drawOne(resample: Float64Array, random: () => number): PastCall {
    const calls = this.#calls
    const place = Math.floor(random() * Math.min(calls.length, KEPT))
    return calls[Math.floor(resample[place]! * calls.length)]!
  }
}

/** Which calls a replicate sees in the place of which; the same for all endpoints. */
export function newResample(random: () => number): Float64Array {
  return Float64Array.from({ length: KEPT }, random)
}

/** In doublings: how far two calls are apart. */
function distance(one: PastCall, other: Pick<PastCall, 'streamed' | 'prompt' | 'completion'>): number {
  const longer = Math.abs(Math.log2((one.completion + 1) / (other.completion + 1)))
  const asked = Math.abs(Math.log2((one.prompt + 1) / (other.prompt + 1)))
  return longer + asked + (one.streamed === other.streamed ? 0 : OTHER_WAY)
}
