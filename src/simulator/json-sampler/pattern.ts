import type { SeededRandom } from '../random.js'

/** One text in the making. */
interface PatternDraw {
  readonly random: SeededRandom
  /** How far repetitions may go beyond their least number. */
  readonly reach: number
  /** Parts of the pattern that it may still go through; repetitions of repetitions multiply. */
  partsLeft: number
}

/** Makes a text that matches one part of a pattern; not the whole of it once the draw has no parts left. */
type TextGenerator = (draw: PatternDraw) => string

/** Characters tried for a class, the plain ones first. */
const CANDIDATES = Array.from(
  'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-. /:@,+#!?()é世',
)

/** Longest pattern, and deepest nesting of groups, that is read. */
export const MAX_PATTERN_LENGTH = 1000
const MAX_DEPTH = 50

/** Parts of a pattern that one text may go through. */
const MAX_PARTS = 40_000

/** A group's beginning, a quantifier, one of `)|^$`, or an atom: an escape, a class, or one character. */
const TOKEN =
  /\((?:\?:|\?<[^=!>][^>]*>|(?!\?))|(?:[*+?]|\{\d+,?\d*\})\??|[)|^$]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|[^pPuxbBkc1-9])|\[(?:\\.|[^\]\\])*\]|[^\\[(]/gsu

/** A regular expression of a caller's schema, for making texts that match. */
export interface Pattern {
  /** Whether a text that matches may go on behind the match. */
  readonly openEnded: boolean
  /** A text, or null when it would be too much work. `parts` is what the work was. */
  generate(random: SeededRandom, reach: number): { readonly text: string | null; readonly parts: number }
}

/**
 * Reads a regular expression (ECMA-262 with the `u` flag). Understood are characters, classes, groups, alternatives and
 * quantifiers, with `^` and `$` at the ends of the whole; look-around, back references and word boundaries are not.
 * No text is ever matched, so no pattern can hold up the worker. Null for what is no regular expression, or outside
 * the subset.
 */
export function parsePattern(source: string): Pattern | null {
  if (source.length > MAX_PATTERN_LENGTH) return null
  try {
    new RegExp(source, 'u')
    const generator = new PatternParser(source).parseChoice(0)
    return {
      openEnded: !source.includes('$'),
      generate: (random, reach) => {
        const draw = { random, reach, partsLeft: MAX_PARTS }
        const text = generator(draw)
        return { text: draw.partsLeft > 0 ? text : null, parts: MAX_PARTS - draw.partsLeft }
      },
    }
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** Reads a source that the engine has accepted. Throws a `SyntaxError` for what is outside the subset. */
class PatternParser {
  readonly #tokens: readonly string[]
  #at = 0

  constructor(source: string) {
    this.#tokens = source.match(TOKEN) ?? []
    if (this.#tokens.join('') !== source) throw new SyntaxError('look-around, or an unknown escape')
  }

  parseChoice(depth: number): TextGenerator {
    if (depth > MAX_DEPTH) throw new SyntaxError('nested too deeply')
    const branches = [this.#parseSequence(depth)]
    while (this.#skip('|')) branches.push(this.#parseSequence(depth))
    if (branches.length === 1) return branches[0]!
    return (draw) => {
      draw.partsLeft--
      return branches[draw.random.nextBelow(branches.length)]!(draw)
    }
  }

  #parseSequence(depth: number): TextGenerator {
    const items: TextGenerator[] = []
    if (depth === 0) this.#skip('^')
    while (this.#at < this.#tokens.length && !this.#isNext('|', ')')) {
      if (!this.#isNext('^', '$')) items.push(this.#parseQuantified(depth))
      else if (depth > 0 || !this.#skip('$') || (this.#at < this.#tokens.length && !this.#isNext('|'))) {
        throw new SyntaxError('an anchor inside')
      }
    }
    return (draw) => items.map((item) => item(draw)).join('')
  }

  #parseQuantified(depth: number): TextGenerator {
    const item = this.#parseAtom(depth)
    const match = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/.exec(this.#tokens[this.#at] ?? '')
    if (match === null) return item
    this.#at++
    const [, sign, least, comma, most] = match
    const isUnbounded = sign === '*' || sign === '+' || (comma === ',' && most === '')
    const min = sign === undefined ? Number(least) : sign === '+' ? 1 : 0
    const max = isUnbounded ? Number.POSITIVE_INFINITY : sign === '?' ? 1 : Number(most || least)
    return (draw) => {
      draw.partsLeft--
      const times = min + draw.random.nextBelow(1 + Math.min(draw.reach, max - min))
      let text = ''
      for (let i = 0; i < times && draw.partsLeft-- > 0; i++) text += item(draw)
      return text
    }
  }

  #parseAtom(depth: number): TextGenerator {
    const token = this.#tokens[this.#at++]!
    if (token.startsWith('(')) {
      const group = this.parseChoice(depth + 1)
      this.#skip(')')
      return group
    }
    const characters = charactersOf(token)
    return (draw) => {
      draw.partsLeft--
      return characters[draw.random.nextBelow(characters.length)]!
    }
  }

  #isNext(...tokens: readonly string[]): boolean {
    return tokens.includes(this.#tokens[this.#at]!)
  }

  #skip(token: string): boolean {
    const isNext = this.#isNext(token)
    if (isNext) this.#at++
    return isNext
  }
}

/** Characters that the atom stands for: plain ones where there are some, otherwise those that it names itself. */
function charactersOf(atom: string): readonly string[] {
  const expression = new RegExp(`^${atom}$`, 'u')
  const named = atom.replace(/\\u\{?([\dA-Fa-f]{1,6})\}?|\\x([\dA-Fa-f]{2})/g, (_, unicode, byte) =>
    String.fromCodePoint(Number.parseInt(unicode ?? byte, 16)),
  )
  for (const candidates of [CANDIDATES, [...named, '\n', '\t', '\r']]) {
    const fitting = candidates.filter((character) => expression.test(character))
    if (fitting.length > 0) return fitting
  }
  throw new SyntaxError('a class without a known character')
}
