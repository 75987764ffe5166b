/** Which texts have most to do with some words: Okapi BM25. */

/** How soon a word that is repeated counts no more, and how much a long text is held against itself. */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.75

/** Words of `get_userName2` are `get`, `user`, `name2`. */
function wordsOf(text: string): readonly string[] {
  const spaced = text.replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
  return spaced.toLowerCase().match(/[\p{L}\d]+/gu) ?? []
}

/** Places of the texts that hold any word of the query, the best first; equals in their order. */
export function rankByWords(query: string, texts: readonly string[]): readonly number[] {
  const wanted = [...new Set(wordsOf(query))]
  const counted = texts.map((text) => countWords(wordsOf(text)))
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length)
  const scores = counted.map(() => 0)
  for (const word of wanted) {
    const holding = counted.reduce((sum, { counts }) => sum + (counts.has(word) ? 1 : 0), 0)
    const rarity = Math.log(1 + (counted.length - holding + 0.5) / (holding + 0.5))
    counted.forEach(({ counts, length }, at) => {
      const times = counts.get(word) ?? 0
      const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / Math.max(1, average))
      scores[at] = scores[at]! + (rarity * times * (SATURATION + 1)) / (times + norm)
    })
  }
  const found = scores.flatMap((score, at) => (score > 0 ? [at] : []))
  return found.sort((one, other) => scores[other]! - scores[one]!)
}

function countWords(words: readonly string[]): {
  readonly counts: ReadonlyMap<string, number>
  readonly length: number
} {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return { counts, length: words.length }
}
