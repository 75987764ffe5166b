import type { TokenLogprob } from '../../gateway/formats/canonical.js'
import { LANE, Random, type Seed } from '../random.js'
import { FORMS, WORD_COUNT } from './vocabulary.js'

const UTF8 = new TextEncoder()

/** Of every token that prose is made of; an answer with alternatives names each a hundred times. */
const BYTES: ReadonlyMap<string, readonly number[]> = new Map(
  Object.values(FORMS).flatMap((forms) => forms.map((token) => [token, spelled(token)] as const)),
)

function spelled(token: string): readonly number[] {
  return Array.from(UTF8.encode(token))
}

function bytesOf(token: string): readonly number[] {
  return BYTES.get(token) ?? spelled(token)
}

/** Made-up log probabilities of an answer's tokens, in their order. */
export class Logprobabilities {
  readonly #random: Random
  readonly #alternatives: number

  /** `alternatives` is the request's `top_logprobs`. */
  constructor(seed: Seed, alternatives: number) {
    this.#random = new Random(seed, LANE.logprobs)
    this.#alternatives = alternatives
  }

  /** The chosen token comes first among its alternatives; the others are ever less likely and all different. */
  next(token: string): TokenLogprob {
    const bytes = bytesOf(token)
    let logprob = -0.001 - this.#random.unit()
    const chosen = { token, logprob, bytes }
    if (this.#alternatives === 0) return { ...chosen, top_logprobs: [] }
    const top: (typeof chosen)[] = [chosen]
    let word = this.#random.below(WORD_COUNT)
    while (top.length < this.#alternatives) {
      word = (word + 1) % WORD_COUNT
      const other = FORMS.plain[word]!
      if (other === token) continue
      logprob -= 0.05 + this.#random.unit()
      top.push({ token: other, logprob, bytes: bytesOf(other) })
    }
    return { ...chosen, top_logprobs: top }
  }
}
