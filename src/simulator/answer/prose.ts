import type { SeededRandom } from '../random.js'

/** Words of the simulated models. Some need several bytes in UTF-8, so that every answer may exercise that. */
export const WORDS: readonly string[] =
  `a about above across after again against all almost along already also always among an and answer any
around as ask at away back bank be because become before begin behind below between bird blue boat
bridge bright bring build but by call calm can careful carry change city clear cloud coast cold colour
come cool corner could count cross day deep door down draw early earth east edge end even evening every
far field find fire first flow follow for forest form found from full garden gentle give glass go gold
good grain grass great green ground grow half hand harbour hear here high hill hold home hour house how
idea if in into island it join just keep kind know lake land large late leaf learn leave left less
letter light like line little long look low make many map mark may meadow mean measure middle mind moon
more morning most mountain move much music name near new next night north not now of often old on once
one only open or other our out over own paper part pass path people place plain point quiet rain read
ready river road room round sail same sand sea season second see seem shape share shore side silent
simple slow small snow so some song soon south spring stand star stay still stone story street strong
summer sun table talk tell than that the their then there they thing think through time to together town
tree true turn under until up valley very view voice walk wall warm was watch water way we well west
what when where which white while wide wind window winter with wood word work world write year yes yet
you young café naïve Zürich crème façade jalapeño über smörgås Ελλάδα мир 東京 こんにちは 🙂 🌊 🚀`.split(
    /\s+/,
  )

const capitalize = (word: string) => word.replace(/^./u, (letter) => letter.toUpperCase())

export const WORD_COUNT = WORDS.length

/** Every word in each form a token can have. Made once, so that a token is a look-up and never an allocation. */
export const TOKEN_FORMS = {
  plain: WORDS.map((word) => ` ${word}`),
  comma: WORDS.map((word) => ` ${word},`),
  stop: WORDS.map((word) => ` ${word}.`),
  opening: WORDS.map((word) => ` ${capitalize(word)}`),
  openingStop: WORDS.map((word) => ` ${capitalize(word)}.`),
  first: WORDS.map((word) => capitalize(word)),
  firstStop: WORDS.map((word) => `${capitalize(word)}.`),
} as const satisfies Record<string, readonly string[]>

const MIN_SENTENCE_WORDS = 4

/**
 * Made-up sentences, one token at a time: a word with the space before it and the stop after it.
 * The last of `total` tokens ends its sentence.
 */
export class ProseGenerator {
  readonly #random: SeededRandom
  readonly #total: number
  #made = 0
  #leftInSentence = 0

  constructor(random: SeededRandom, total: number) {
    this.#random = random
    this.#total = total
  }

  nextToken(): string {
    const draw = this.#random.nextBits()
    const word = (draw & 0xffff) % WORD_COUNT
    const opens = this.#leftInSentence === 0
    if (opens) this.#leftInSentence = MIN_SENTENCE_WORDS + ((draw >>> 16) & 7)
    this.#leftInSentence--
    this.#made++
    const stops = this.#leftInSentence === 0 || this.#made === this.#total
    if (opens && this.#made === 1) return (stops ? TOKEN_FORMS.firstStop : TOKEN_FORMS.first)[word]!
    if (opens) return (stops ? TOKEN_FORMS.openingStop : TOKEN_FORMS.opening)[word]!
    if (stops) return TOKEN_FORMS.stop[word]!
    return ((draw >>> 20) % 11 === 0 ? TOKEN_FORMS.comma : TOKEN_FORMS.plain)[word]!
  }

  /** The next tokens as one text. */
  nextText(tokens: number): string {
    let text = ''
    for (let i = 0; i < tokens; i++) text += this.nextToken()
    return text
  }
}

const ALPHANUMERICS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Letters and digits as ids have them. */
export function randomAlphanumerics(random: SeededRandom, count: number): string {
  let text = ''
  for (let i = 0; i < count; i++) text += ALPHANUMERICS[random.nextBelow(ALPHANUMERICS.length)]
  return text
}

/** Cuts a text that is no prose into tokens of four units; never between the halves of a surrogate pair. */
export function splitIntoTokens(text: string): string[] {
  return text.match(/[\s\S]{1,3}(?:[\ud800-\udbff][\udc00-\udfff]|[\s\S])?/g) ?? []
}

/** Longer words, and longer spaces, are cut. */
const WORD_PATTERN = /\s{0,256}\S{1,256}|\s{1,256}/g

/** Cuts a text into words, each with the space before it, up to `most` of them. */
export function splitIntoWords(text: string, most: number): string[] {
  const words: string[] = []
  for (const [word] of text.matchAll(WORD_PATTERN)) if (words.push(word) >= most) break
  return words
}
