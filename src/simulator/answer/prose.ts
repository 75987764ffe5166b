import type { SeededRandom } from '../random.js'
import { FORMS, WORD_COUNT } from './vocabulary.js'

const SHORTEST_SENTENCE = 4

/**
 * Made-up sentences, one token at a time: a word with the space before it and the stop after it.
 * The last of `total` tokens ends its sentence.
 */
export class ProseGenerator {
  readonly #random: SeededRandom
  readonly #total: number
  #told = 0
  #leftInSentence = 0

  constructor(random: SeededRandom, total: number) {
    this.#random = random
    this.#total = total
  }

  nextToken(): string {
    const draw = this.#random.nextBits()
    const word = (draw & 0xffff) % WORD_COUNT
    const opens = this.#leftInSentence === 0
    if (opens) this.#leftInSentence = SHORTEST_SENTENCE + ((draw >>> 16) & 7)
    this.#leftInSentence--
    this.#told++
    const stops = this.#leftInSentence === 0 || this.#told === this.#total
    if (opens) return this.openingToken(word, stops)
    if (stops) return FORMS.stop[word]!
    return (draw >>> 20) % 11 === 0 ? FORMS.comma[word]! : FORMS.plain[word]!
  }

  private openingToken(word: number, stops: boolean): string {
    if (this.#told === 1) return stops ? FORMS.firstStop[word]! : FORMS.first[word]!
    return stops ? FORMS.openingStop[word]! : FORMS.opening[word]!
  }
}
