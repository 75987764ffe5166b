import type { SeededRandom } from '../random.js'

type PatternNode =
  | { readonly kind: 'characters'; readonly characters: readonly string[] }
  | { readonly kind: 'sequence' | 'choice'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly min: number; readonly max: number }

/** Characters tried for a class, the plain ones first. */
const CANDIDATES = Array.from(
  'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-. /:@,+#!?()é世',
)

/** Deepest nesting of groups that is read. */
const MAX_DEPTH = 50

/** Parts of a pattern that one text may go through; repetitions of repetitions multiply. */
const MAX_PARTS = 40_000

/** A group's beginning, a quantifier, one of `)|^$`, or an atom: an escape, a class, or one character. */
const TOKEN =
  /\((?:\?:|\?<[^=!>][^>]*>|(?!\?))|(?:[*+?]|\{\d+,?\d*\})\??|[)|^$]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|[^pPuxbBkc1-9])|\[(?:\\.|[^\]\\])*\]|[^\\[(]/gsu

/**
 * A regular expression of a caller's schema (ECMA-262 with the `u` flag), for making texts that match. Understood are
 * characters, classes, groups, alternatives and quantifiers, with `^` and `$` at the ends of the whole; look-around, back
 * references and word boundaries are not. No text is ever matched, so no pattern can hold up the worker.
 */
export class Pattern {
  /** Longest pattern that is read. */
  static readonly MAX_LENGTH = 1000

  readonly #node: PatternNode
  /** Whether a text that matches may go on behind the match. */
  readonly openEnded: boolean
  #partsLeft = 0

  private constructor(node: PatternNode, openEnded: boolean) {
    this.#node = node
    this.openEnded = openEnded
  }

  /** Null for what is no regular expression, or is outside the subset. */
  static parse(source: string): Pattern | null {
    if (source.length > Pattern.MAX_LENGTH) return null
    try {
      new RegExp(source, 'u')
      return new Pattern(new PatternParser(source).parseChoice(0), !source.includes('$'))
    } catch (error) {
      if (error instanceof SyntaxError) return null
      throw error
    }
  }

  /**
   * A text that matches, or null when it would be too much work; `reach` is how far repetitions may go beyond their
   * least number. `parts` is what the work was.
   */
  generate(random: SeededRandom, reach: number): { readonly text: string | null; readonly parts: number } {
    this.#partsLeft = MAX_PARTS
    const text = this.#generate(this.#node, random, reach)
    return { text: this.#partsLeft > 0 ? text : null, parts: MAX_PARTS - this.#partsLeft }
  }

  #generate(node: PatternNode, random: SeededRandom, reach: number): string {
    if (this.#partsLeft <= 0) return ''
    this.#partsLeft--
    switch (node.kind) {
      case 'characters':
        return node.characters[random.nextBelow(node.characters.length)]!
      case 'sequence':
        return node.nodes.map((inner) => this.#generate(inner, random, reach)).join('')
      case 'choice':
        return this.#generate(node.nodes[random.nextBelow(node.nodes.length)]!, random, reach)
      case 'repeat': {
        const times = node.min + random.nextBelow(1 + Math.min(reach, node.max - node.min))
        let text = ''
        for (let i = 0; i < times && this.#partsLeft > 0; i++)
          text += this.#generate(node.node, random, reach)
        return text
      }
    }
  }
}

/** Reads a source that the engine has accepted. Throws a `SyntaxError` for what is outside the subset. */
class PatternParser {
  readonly #tokens: readonly string[]
  #at = 0

  constructor(source: string) {
    this.#tokens = source.match(TOKEN) ?? []
    if (this.#tokens.join('') !== source)
      throw new SyntaxError('look-around, or an escape that is not supported')
  }

  parseChoice(depth: number): PatternNode {
    if (depth > MAX_DEPTH) throw new SyntaxError('nested too deeply')
    const nodes = [this.#parseSequence(depth)]
    while (this.#skip('|')) nodes.push(this.#parseSequence(depth))
    return { kind: 'choice', nodes }
  }

  #parseSequence(depth: number): PatternNode {
    const nodes: PatternNode[] = []
    if (depth === 0) this.#skip('^')
    while (this.#at < this.#tokens.length && !this.#isNext('|', ')')) {
      if (this.#isNext('^')) throw new SyntaxError('an anchor inside')
      if (this.#skip('$')) {
        if (depth > 0 || !(this.#at === this.#tokens.length || this.#isNext('|'))) {
          throw new SyntaxError('an anchor inside')
        }
      } else nodes.push(this.#parseQuantified(depth))
    }
    return { kind: 'sequence', nodes }
  }

  #parseQuantified(depth: number): PatternNode {
    const node = this.#parseAtom(depth)
    const match = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/.exec(this.#tokens[this.#at] ?? '')
    if (match === null) return node
    this.#at++
    const [, sign, least, comma, most] = match
    const isUnbounded = sign === '*' || sign === '+' || (comma === ',' && most === '')
    const min = sign === undefined ? Number(least) : sign === '+' ? 1 : 0
    const max = isUnbounded ? Number.POSITIVE_INFINITY : sign === '?' ? 1 : Number(most || least)
    return { kind: 'repeat', node, min, max }
  }

  #parseAtom(depth: number): PatternNode {
    const token = this.#tokens[this.#at++]!
    if (!token.startsWith('(')) return { kind: 'characters', characters: charactersOf(token) }
    const node = this.parseChoice(depth + 1)
    this.#skip(')')
    return node
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
