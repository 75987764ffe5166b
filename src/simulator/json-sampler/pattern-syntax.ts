/** A set of code points: ranges, or everything but them; `extra` are classes that only the engine knows. */
export interface CharacterSet {
  readonly kind: 'set'
  readonly negated: boolean
  readonly ranges: readonly (readonly [number, number])[]
  /** Unicode property classes, each a whole expression for one character. */
  readonly classes: readonly RegExp[]
  /** Negated sets inside this one, such as the \D of [\D1]. */
  readonly inner: readonly CharacterSet[]
}

export type PatternNode =
  | CharacterSet
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'sequence'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly min: number; readonly max: number }

const DIGITS: readonly [number, number][] = [[48, 57]]
const WORD: readonly [number, number][] = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
]
const SPACE: readonly [number, number][] = [
  [32, 32],
  [9, 13],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]
const LINE_ENDS: readonly [number, number][] = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
]
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, '0': 0 }

/** Longest pattern and deepest nesting that are read; schemas come from callers. */
export const LONGEST_PATTERN = 1000
const DEEPEST = 50

function set(ranges: CharacterSet['ranges'], negated = false): CharacterSet {
  return { kind: 'set', negated, ranges, classes: [], inner: [] }
}

export function inSet(node: CharacterSet, point: number): boolean {
  const listed =
    node.ranges.some(([from, to]) => from <= point && point <= to) ||
    node.inner.some((inner) => inSet(inner, point)) ||
    node.classes.some((expression) => expression.test(String.fromCodePoint(point)))
  return listed !== node.negated
}

/**
 * Reads a regular expression (the dialect of ECMA-262 with the `u` flag), or null when it uses what is not regular
 * or not worth its keep here: look-around, back references, word boundaries.
 */
export function parsePattern(text: string): PatternNode | null {
  if (text.length > LONGEST_PATTERN) return null
  const parser = new Parser(text)
  const node = parser.choice(0)
  return parser.ok && parser.atEnd ? node : null
}

class Parser {
  readonly #points: readonly string[]
  #at = 0
  ok = true

  constructor(text: string) {
    this.#points = Array.from(text)
  }

  get atEnd(): boolean {
    return this.#at >= this.#points.length
  }

  choice(depth: number): PatternNode {
    if (depth > DEEPEST) this.#fail()
    const nodes = [this.#sequence(depth)]
    while (this.ok && this.#eat('|')) nodes.push(this.#sequence(depth))
    return nodes.length === 1 ? nodes[0]! : { kind: 'choice', nodes }
  }

  #sequence(depth: number): PatternNode {
    const nodes: PatternNode[] = []
    while (this.ok && !this.atEnd && this.#peek() !== '|' && this.#peek() !== ')') {
      nodes.push(this.#quantified(this.#atom(depth)))
    }
    return nodes.length === 1 ? nodes[0]! : { kind: 'sequence', nodes }
  }

  #quantified(node: PatternNode): PatternNode {
    const bounds = this.#quantifier()
    if (bounds === null) return node
    this.#eat('?')
    if (node.kind === 'start' || node.kind === 'end' || bounds.min > bounds.max) this.#fail()
    return { kind: 'repeat', node, ...bounds }
  }

  #quantifier(): { min: number; max: number } | null {
    if (this.#eat('*')) return { min: 0, max: Number.POSITIVE_INFINITY }
    if (this.#eat('+')) return { min: 1, max: Number.POSITIVE_INFINITY }
    if (this.#eat('?')) return { min: 0, max: 1 }
    const braces = /^\{(\d+)(,(\d*))?\}/.exec(this.#points.slice(this.#at, this.#at + 24).join(''))
    if (braces === null) return null
    this.#at += braces[0].length
    const min = Number(braces[1])
    if (braces[2] === undefined) return { min, max: min }
    return { min, max: braces[3] === '' ? Number.POSITIVE_INFINITY : Number(braces[3]) }
  }

  #atom(depth: number): PatternNode {
    const point = this.#take()
    if (point === '^') return { kind: 'start' }
    if (point === '$') return { kind: 'end' }
    if (point === '.') return set(LINE_ENDS, true)
    if (point === '(') return this.#group(depth)
    if (point === '[') return this.#class()
    if (point === '\\') return this.#escape(false)
    if (point === '*' || point === '+' || point === '?' || point === '') return this.#fail()
    return single(point)
  }

  #group(depth: number): PatternNode {
    if (this.#eat('?')) {
      if (this.#eat('<')) this.#groupName()
      else if (!this.#eat(':')) return this.#fail()
    }
    const node = this.choice(depth + 1)
    if (!this.#eat(')')) this.#fail()
    return node
  }

  #groupName(): void {
    if (this.#peek() === '=' || this.#peek() === '!') this.#fail()
    while (!this.atEnd && this.#peek() !== '>') this.#at++
    if (!this.#eat('>')) this.#fail()
  }

  #class(): PatternNode {
    const negated = this.#eat('^')
    const ranges: [number, number][] = []
    const classes: RegExp[] = []
    const inner: CharacterSet[] = []
    while (this.ok && this.#peek() !== ']') {
      const from = this.#member()
      if (this.#peek() === '-' && this.#points[this.#at + 1] !== ']' && pointOf(from) !== null) {
        this.#at++
        const [low, high] = [pointOf(from), pointOf(this.#member())]
        if (low === null || high === null || high < low) return this.#fail()
        ranges.push([low, high])
      } else if (from.negated) inner.push(from)
      else {
        ranges.push(...(from.ranges as [number, number][]))
        classes.push(...from.classes)
      }
    }
    this.#eat(']')
    return { kind: 'set', negated, ranges, classes, inner }
  }

  /** One member of a class. */
  #member(): CharacterSet {
    const point = this.#take()
    if (point === '\\') {
      const node = this.#escape(true)
      return node.kind === 'set' ? node : (this.#fail() as CharacterSet)
    }
    return point === '' ? (this.#fail() as CharacterSet) : single(point)
  }

  #escape(inClass: boolean): PatternNode {
    const point = this.#take()
    if (point === 'd' || point === 'D') return set(DIGITS, point === 'D')
    if (point === 'w' || point === 'W') return set(WORD, point === 'W')
    if (point === 's' || point === 'S') return set(SPACE, point === 'S')
    if (point === 'p' || point === 'P') return this.#property(point)
    if (point === 'b' && inClass) return set([[8, 8]])
    if (point in CONTROLS) return set([[CONTROLS[point]!, CONTROLS[point]!]])
    if (point === 'x') return this.#code(/^([0-9a-fA-F]{2})/)
    if (point === 'u') return this.#code(/^\{([0-9a-fA-F]{1,6})\}|^([0-9a-fA-F]{4})/)
    if (point === '' || /[A-Za-z0-9]/.test(point)) return this.#fail()
    return single(point)
  }

  #code(form: RegExp): PatternNode {
    const match = form.exec(this.#points.slice(this.#at, this.#at + 8).join(''))
    if (match === null) return this.#fail()
    this.#at += match[0].length
    const point = Number.parseInt(match[1] ?? match[2]!, 16)
    return point > 0x10ffff ? this.#fail() : set([[point, point]])
  }

  #property(letter: string): PatternNode {
    const match = /^\{([A-Za-z_=]{1,60})\}/.exec(this.#points.slice(this.#at, this.#at + 64).join(''))
    if (match === null) return this.#fail()
    this.#at += match[0].length
    try {
      const expression = new RegExp(`^\\${letter}{${match[1]}}$`, 'u')
      return { kind: 'set', negated: false, ranges: [], classes: [expression], inner: [] }
    } catch {
      return this.#fail()
    }
  }

  #peek(): string {
    return this.#points[this.#at] ?? ''
  }

  #take(): string {
    return this.#points[this.#at++] ?? ''
  }

  #eat(point: string): boolean {
    if (this.#points[this.#at] !== point) return false
    this.#at++
    return true
  }

  /** Whatever is returned after this is thrown away. */
  #fail(): PatternNode {
    this.ok = false
    return set([])
  }
}

function single(point: string): CharacterSet {
  const code = point.codePointAt(0)!
  return set([[code, code]])
}

/** The code point of a set of one, otherwise null. */
function pointOf(node: CharacterSet): number | null {
  const range = node.ranges[0]
  const one =
    node.ranges.length === 1 && node.classes.length === 0 && !node.negated && range![0] === range![1]
  return one ? range![0] : null
}
