/** The search engine of the simulated web: words of a query in titles and texts, rare ones first (BM25). */
import type { SearchEngine, SearchResult } from '../../gateway/web/port.js'
import { PAGES, type SimulatedPage } from './pages.js'

interface IndexedPage {
  readonly page: SimulatedPage
  readonly counts: ReadonlyMap<string, number>
  readonly length: number
}

/** A word of the title weighs as much as so many of the text. */
const TITLE_WEIGHT = 3
const MOST_WORDS = 40
const K = 1.2
const B = 0.75

const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an and are at by do does for from how i in is it of on or the there to was what when where which who why with'.split(
    ' ',
  ),
)

function wordsOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  // Plurals are found by their singular.
  return words.map((word) => (word.length > 3 ? word.replace(/s$/, '') : word))
}

function indexed(page: SimulatedPage): IndexedPage {
  const title = wordsOf(page.title)
  const words = [...Array(TITLE_WEIGHT).fill(title).flat(), ...page.paragraphs.flatMap(wordsOf)] as string[]
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return { page, counts, length: words.length }
}

/** Made when it is first asked. */
let index: readonly IndexedPage[] | null = null

export const simulatedSearch: SearchEngine = {
  name: 'simulated',
  host: null,
  search({ text, count, maxCharacters, allowed, excluded }) {
    index ??= PAGES.map(indexed)
    const sought = wordsOf(text.slice(0, 1_000)).filter((word) => !STOP_WORDS.has(word))
    const ranked = rank(index, [...new Set(sought)].slice(0, MOST_WORDS)).filter(({ url }) => {
      const { hostname } = new URL(url)
      return (allowed.length === 0 || allowed.includes(hostname)) && !excluded.includes(hostname)
    })
    const results = ranked.slice(0, count).map((page) => resultOf(page, maxCharacters))
    return Promise.resolve({ ok: true, results })
  },
}

function rank(pages: readonly IndexedPage[], words: readonly string[]): readonly SimulatedPage[] {
  const mean = pages.reduce((sum, { length }) => sum + length, 0) / pages.length
  const rarity = new Map(
    words.map((word) => {
      const having = pages.filter(({ counts }) => counts.has(word)).length
      return [word, Math.log(1 + (pages.length - having + 0.5) / (having + 0.5))]
    }),
  )
  const scored = pages.map((entry) => ({ page: entry.page, score: score(entry, rarity, mean) }))
  return scored
    .filter(({ score: points }) => points > 0)
    .sort((one, other) => other.score - one.score)
    .map(({ page }) => page)
}

function score({ counts, length }: IndexedPage, rarity: ReadonlyMap<string, number>, mean: number): number {
  let sum = 0
  for (const [word, weight] of rarity) {
    const count = counts.get(word) ?? 0
    sum += (weight * count * (K + 1)) / (count + K * (1 - B + (B * length) / mean))
  }
  return sum
}

function resultOf({ url, title, paragraphs, published }: SimulatedPage, maxCharacters: number): SearchResult {
  return { url, title, content: paragraphs.join('\n').slice(0, maxCharacters), pageAge: published }
}
