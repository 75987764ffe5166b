import { countCodePoints } from '../../gateway/formats/json-schema/schema-values.js'
import type { SeededRandom } from '../random.js'
import type { SchemaContext } from './schema-context.js'

/** What values are drawn from, and what pays for them. */
export interface DrawSource {
  readonly random: SeededRandom
  readonly context: SchemaContext
}

/** One text in the making. */
interface PatternDraw extends DrawSource {
  /** How far repetitions may go beyond their least number. */
  readonly reach: number
  /** Characters that further repetitions have to make. */
  missing: number
}

/** Makes a text that matches one part of a pattern. */
type TextGenerator = (draw: PatternDraw) => string

/** Characters tried for a class, the plain ones first. */
const CANDIDATES = Array.from(
  'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-. /:@,+#!?()é世',
)

const MAX_PATTERN_LENGTH = 1000

/** What a part of a pattern costs each time it is gone through: repetitions of repetitions multiply. */
const STEPS_PER_PART = 1 / 16

/** Reaches of the tries, one after the other: the last ones are for what has to be short. */
const REACHES = [4, 4, 4, 4, 2, 2, 1, 1, 0, 0, 0, 0]

/** A group's beginning, a quantifier, one of `)|^$`, or an atom: an escape, a class, or one character. */
const TOKEN =
  /\((?:\?:|\?<[^=!>][^>]*>|(?!\?))|(?:[*+?]|\{\d+,?\d*\})\??|[)|^$]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|[^pPuxbBkc1-9])|\[(?:\\.|[^\]\\])*\]|[^\\[(]/gsu

/**
 * A text of at least `min` code points that matches a regular expression of a caller's schema and that `fits`, or null
 * when none is found. `pad` makes what may follow where the expression leaves the end open.
 *
 * Understood are characters, classes, groups, alternatives and quantifiers, with `^` and `$` at the ends of the whole
 * and of its alternatives; look-around, back references and word boundaries are not. No text is ever matched, so no
 * pattern can hold up the worker.
 */
export function sampleMatch(
  source: string,
  min: number,
  fits: (text: string) => boolean,
  pad: (length: number) => string,
  from: DrawSource,
): string | null {
  const generate = parsePattern(source, from.context)
  if (generate === null) return null
  for (const reach of REACHES) {
    const first = generate({ ...from, reach, missing: 0 })
    from.context.spendOnText(first.length)
    const missing = min - countCodePoints(first)
    if (missing > 0 && !source.includes('$')) return first + pad(missing)
    const text = missing > 0 ? generate({ ...from, reach, missing }) : first
    if (fits(text)) return text
  }
  return null
}

/** Null for what is no regular expression (ECMA-262 with the `u` flag), or outside the subset. */
function parsePattern(source: string, context: SchemaContext): TextGenerator | null {
  if (source.length > MAX_PATTERN_LENGTH) return null
  context.spend(2 * source.length)
  try {
    new RegExp(source, 'u')
    return new PatternParser(source).parse()
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

  parse(): TextGenerator {
    const whole = this.#parseChoice(true)
    if (this.#at < this.#tokens.length) throw new SyntaxError('an anchor inside')
    return whole
  }

  /** Alternatives, up to the end of their group; those of the whole may have anchors. */
  #parseChoice(isWhole: boolean): TextGenerator {
    const branches = [this.#parseSequence(isWhole)]
    while (this.#skip('|')) branches.push(this.#parseSequence(isWhole))
    if (branches.length === 1) return branches[0]!
    return (draw) => branches[draw.random.nextBelow(branches.length)]!(draw)
  }

  #parseSequence(isWhole: boolean): TextGenerator {
    const items: TextGenerator[] = []
    if (isWhole) this.#skip('^')
    while (![undefined, '|', ')', '^', '$'].includes(this.#tokens[this.#at]))
      items.push(this.#parseQuantified())
    if (isWhole) this.#skip('$')
    return (draw) => {
      draw.context.spend((1 + items.length) * STEPS_PER_PART)
      return items.map((item) => item(draw)).join('')
    }
  }

  #parseQuantified(): TextGenerator {
    const item = this.#parseAtom()
    const match = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/.exec(this.#tokens[this.#at] ?? '')
    if (match === null) return item
    this.#at++
    const [, sign, least, comma, most] = match
    const isUnbounded = sign === '*' || sign === '+' || (comma === ',' && most === '')
    const min = sign === undefined ? Number(least) : sign === '+' ? 1 : 0
    const max = isUnbounded ? Number.POSITIVE_INFINITY : sign === '?' ? 1 : Number(most || least)
    return (draw) => {
      const times = min + draw.random.nextBelow(1 + Math.min(draw.reach, max - min))
      let text = ''
      for (let i = 0; i < times || (i < max && draw.missing > 0); i++) {
        draw.context.spend(STEPS_PER_PART)
        const { missing } = draw
        const piece = item(draw)
        if (i >= times) draw.missing = missing - piece.length
        text += piece
      }
      return text
    }
  }

  #parseAtom(): TextGenerator {
    const token = this.#tokens[this.#at++]!
    if (token.startsWith('(')) {
      const group = this.#parseChoice(false)
      if (!this.#skip(')')) throw new SyntaxError('an anchor inside')
      return group
    }
    const characters = charactersOf(token)
    return ({ random }) => characters[random.nextBelow(characters.length)]!
  }

  #skip(token: string): boolean {
    const isNext = this.#tokens[this.#at] === token
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
