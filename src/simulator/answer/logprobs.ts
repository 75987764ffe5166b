import type { TokenLogprob } from '../../gateway/formats/canonical.js'
import { RANDOM_LANE, type RandomSeed, SeededRandom } from '../random.js'
import { FORMS, WORD_COUNT } from './vocabulary.js'

const UTF8 = new TextEncoder()

/** Of every token that prose is made of; an answer with alternatives names each a hundred times. */
const BYTES: ReadonlyMap<string, readonly number[]> = new Map(
  Object.values(FORMS).flatMap((forms) => forms.map((token) => [token, encodeUtf8(token)] as const)),
)

function encodeUtf8(token: string): readonly number[] {
  return Array.from(UTF8.encode(token))
}

function utf8BytesOf(token: string): readonly number[] {
  return BYTES.get(token) ?? encodeUtf8(token)
}

/** Made-up log probabilities of an answer's tokens, in their order. */
export class LogprobGenerator {
  readonly #random: SeededRandom
  readonly #alternatives: number

  /** `alternatives` is the request's `top_logprobs`. */
  constructor(seed: RandomSeed, alternatives: number) {
    this.#random = new SeededRandom(seed, RANDOM_LANE.logprobs)
    this.#alternatives = alternatives
  }

  /** The chosen token comes first among its alternatives; the others are ever less likely and all different. */
  next(token: string): TokenLogprob {
    const bytes = utf8BytesOf(token)
    let logprob = -0.001 - this.#random.nextUnit()
    const chosen = { token, logprob, bytes }
    if (this.#alternatives === 0) return { ...chosen, top_logprobs: [] }
    const top: (typeof chosen)[] = [chosen]
    let word = this.#random.nextBelow(WORD_COUNT)
    while (top.length < this.#alternatives) {
      word = (word + 1) % WORD_COUNT
      const other = FORMS.plain[word]!
      if (other === token) continue
      logprob -= 0.05 + this.#random.nextUnit()
      top.push({ token: other, logprob, bytes: utf8BytesOf(other) })
    }
    return { ...chosen, top_logprobs: top }
  }
}
