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

const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y
/** An escape, a class, or one character. Back references and word boundaries are no part of it. */
const ATOM =
  /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|[^pPuxbBkc1-9])|\[(?:\\.|[^\]\\])*\]|[^\\[]/suy
const GROUP = /\((?:\?:|\?<[^=!>][^>]*>|(?!\?))/y

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
      return new Pattern(new PatternParser(source).parse(), !source.includes('$'))
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
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  parse(): PatternNode {
    return this.#choice(0)
  }

  #choice(depth: number): PatternNode {
    if (depth > MAX_DEPTH) throw new SyntaxError('nested too deeply')
    const nodes: PatternNode[] = []
    do nodes.push(this.#sequence(depth))
    while (this.#skip('|'))
    return nodes.length === 1 ? nodes[0]! : { kind: 'choice', nodes }
  }

  #sequence(depth: number): PatternNode {
    const nodes: PatternNode[] = []
    if (depth === 0) this.#skip('^')
    for (let next = this.#peek(); next !== '' && next !== '|' && next !== ')'; next = this.#peek()) {
      if (next === '^') throw new SyntaxError('an anchor inside')
      if (next === '$') this.#endAnchor(depth)
      else nodes.push(this.#quantified(this.#atom(depth)))
    }
    return { kind: 'sequence', nodes }
  }

  /** Behind it only another alternative of the whole may stand. */
  #endAnchor(depth: number): void {
    this.#at++
    if (depth > 0 || (this.#peek() !== '' && this.#peek() !== '|')) throw new SyntaxError('an anchor inside')
  }

  #quantified(node: PatternNode): PatternNode {
    const match = this.#match(QUANTIFIER)
    if (match === null) return node
    const [, sign, least, comma, most] = match
    const unbounded = sign === '*' || sign === '+' || (comma === ',' && most === '')
    const min = sign === undefined ? Number(least) : sign === '+' ? 1 : 0
    const max = unbounded ? Number.POSITIVE_INFINITY : sign === '?' ? 1 : Number(most || least)
    return { kind: 'repeat', node, min, max }
  }

  #atom(depth: number): PatternNode {
    if (this.#peek() === '(') {
      if (this.#match(GROUP) === null) throw new SyntaxError('look-around')
      const node = this.#choice(depth + 1)
      this.#skip(')')
      return node
    }
    const match = this.#match(ATOM)
    if (match === null) throw new SyntaxError('an escape that is not supported')
    return { kind: 'characters', characters: charactersOf(match[0]) }
  }

  #peek(): string {
    return this.#source[this.#at] ?? ''
  }

  #skip(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#at++
    return true
  }

  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at
    const match = expression.exec(this.#source)
    if (match !== null) this.#at = expression.lastIndex
    return match
  }
}

/** Characters that the atom stands for: plain ones where there are some, otherwise those that it names itself. */
function charactersOf(atom: string): readonly string[] {
  const expression = new RegExp(`^${atom}$`, 'u')
  const plain = CANDIDATES.filter((character) => expression.test(character))
  if (plain.length > 0) return plain
  const named = Array.from(atom.replace(/\\u\{?([\dA-Fa-f]{1,6})\}?|\\x([\dA-Fa-f]{2})/g, decodeEscape))
  const fitting = [...named, '\n', '\t', '\r'].filter((character) => expression.test(character))
  if (fitting.length === 0) throw new SyntaxError('a class without a known character')
  return fitting
}

function decodeEscape(_: string, unicode: string | undefined, byte: string | undefined): string {
  return String.fromCodePoint(Number.parseInt(unicode ?? byte!, 16))
}
