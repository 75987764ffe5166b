import type { SeededRandom } from '../random.js'
import { type CharacterSet, inSet, type PatternNode, parsePattern } from './pattern-syntax.js'

/** Most states of a compiled pattern: `(a{1000}){1000}` is one a caller may send. */
const MOST_STATES = 4000

/** Parts of patterns that may still be gone through; repetitions of repetitions multiply. */
interface Work {
  left: number
}

/** Characters tried for a set, the plain ones first. */
const CANDIDATES = Array.from(
  'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-. /:@,+#!?()é世',
)

/** Longest text made for a pattern; nested repetitions multiply. */
const LONGEST_MADE = 5000

type State =
  | { readonly kind: 'set'; readonly set: CharacterSet }
  | { readonly kind: 'fork'; first: number; second: number }
  | { readonly kind: 'start' | 'end' | 'match' }

/**
 * A regular expression of a caller's schema, for making texts that match and for telling whether one does.
 *
 * Matching walks all states at once, so its time is bounded by text times pattern; the engine's own matcher would
 * let a caller's pattern hold up the worker for ever.
 */
export class Pattern {
  readonly #node: PatternNode
  readonly #states: readonly State[]
  /** How much there is to look at for each character of a text: the states, large sets counting for more. */
  readonly weight: number
  readonly #fitting = new Map<CharacterSet, readonly string[]>()

  private constructor(node: PatternNode, states: readonly State[]) {
    this.#node = node
    this.#states = states
    this.weight = states.reduce((sum, state) => sum + weightOf(state), 0)
  }

  /** Null for a pattern beyond what is understood here. */
  static of(text: string): Pattern | null {
    const node = parsePattern(text)
    if (node === null) return null
    const states: State[] = []
    if (!compile(node, states)) return null
    states.push({ kind: 'match' })
    return new Pattern(node, states)
  }

  /**
   * A text that matches unless anchors stand in its way or the work is used up; `reach` is how far repetitions
   * without end may go.
   */
  make(random: SeededRandom, reach: number, work: Work): string {
    return this.#made(this.#node, random, reach, work)
  }

  #made(node: PatternNode, random: SeededRandom, reach: number, work: Work): string {
    if (work.left <= 0) return ''
    work.left--
    if (node.kind === 'set') return this.#characterOf(node, random)
    if (node.kind === 'sequence') {
      return node.nodes.map((inner) => this.#made(inner, random, reach, work)).join('')
    }
    if (node.kind === 'choice') {
      return this.#made(node.nodes[random.nextBelow(node.nodes.length)]!, random, reach, work)
    }
    if (node.kind !== 'repeat') return ''
    const times = node.min + random.nextBelow(1 + Math.min(reach, node.max - node.min))
    let text = ''
    for (let i = 0; i < times && text.length < LONGEST_MADE && work.left > 0; i++) {
      text += this.#made(node.node, random, reach, work)
    }
    return text
  }

  #characterOf(node: CharacterSet, random: SeededRandom): string {
    const fitting = this.#fittingOf(node)
    if (fitting.length > 0) return fitting[random.nextBelow(fitting.length)]!
    const range = node.ranges[0]
    return range === undefined ? '' : String.fromCodePoint(range[0])
  }

  #fittingOf(node: CharacterSet): readonly string[] {
    const known = this.#fitting.get(node)
    if (known !== undefined) return known
    const fitting = CANDIDATES.filter((letter) => inSet(node, letter.codePointAt(0)!))
    this.#fitting.set(node, fitting)
    return fitting
  }

  /** What `matches` has to look at, at most. */
  cost(text: string): number {
    return (text.length + 1) * this.weight
  }

  /** Whether the pattern occurs anywhere in the text. */
  matches(text: string): boolean {
    const points = Array.from(text)
    let active = new Set<number>()
    for (let at = 0; at <= points.length; at++) {
      this.#follow(0, active, at === 0, at === points.length)
      if (active.has(this.#states.length - 1)) return true
      if (at === points.length) return false
      active = this.#step(active, points[at]!.codePointAt(0)!, at + 1 === points.length)
    }
    return false
  }

  #step(active: ReadonlySet<number>, point: number, atEnd: boolean): Set<number> {
    const next = new Set<number>()
    for (const index of active) {
      const state = this.#states[index]!
      if (state.kind === 'set' && inSet(state.set, point)) this.#follow(index + 1, next, false, atEnd)
    }
    return next
  }

  /** Adds the state and everything reachable from it without a character. */
  #follow(from: number, into: Set<number>, atStart: boolean, atEnd: boolean): void {
    const todo = [from]
    while (todo.length > 0) {
      const index = todo.pop()!
      if (into.has(index)) continue
      into.add(index)
      const state = this.#states[index]!
      if (state.kind === 'fork') todo.push(state.first, state.second)
      else if ((state.kind === 'start' && atStart) || (state.kind === 'end' && atEnd)) todo.push(index + 1)
    }
  }
}

/** Appends the states of the node; a state goes on to the one behind it. False when there are too many. */
function compile(node: PatternNode, states: State[]): boolean {
  if (states.length > MOST_STATES) return false
  if (node.kind === 'sequence') return compileSequence(node.nodes, states)
  if (node.kind === 'choice') return compileChoice(node.nodes, states)
  if (node.kind === 'repeat') return compileRepeat(node.node, node.min, node.max, states)
  states.push(node.kind === 'set' ? { kind: 'set', set: node } : { kind: node.kind })
  return true
}

/** Even an empty one takes a state, so that no repetition of nothing escapes the count. */
function compileSequence(nodes: readonly PatternNode[], states: State[]): boolean {
  if (nodes.length === 0) states.push({ kind: 'fork', first: states.length + 1, second: states.length + 1 })
  return nodes.every((inner) => compile(inner, states))
}

function compileChoice(nodes: readonly PatternNode[], states: State[]): boolean {
  const exits: { first: number; second: number }[] = []
  for (const [i, node] of nodes.entries()) {
    const fork = { kind: 'fork' as const, first: states.length + 1, second: states.length + 1 }
    states.push(fork)
    if (!compile(node, states)) return false
    if (i === nodes.length - 1) break
    const exit = { kind: 'fork' as const, first: 0, second: 0 }
    states.push(exit)
    exits.push(exit)
    fork.second = states.length
  }
  for (const exit of exits) exit.first = exit.second = states.length
  return true
}

function compileRepeat(node: PatternNode, min: number, max: number, states: State[]): boolean {
  for (let i = 0; i < min; i++) if (!compile(node, states)) return false
  if (max === Number.POSITIVE_INFINITY) {
    const fork = { kind: 'fork' as const, first: states.length + 1, second: 0 }
    const loop = states.length
    states.push(fork)
    if (!compile(node, states)) return false
    states.push({ kind: 'fork', first: loop, second: loop })
    fork.second = states.length
    return true
  }
  const forks: { second: number }[] = []
  for (let i = min; i < max; i++) {
    const fork = { kind: 'fork' as const, first: states.length + 1, second: 0 }
    states.push(fork)
    forks.push(fork)
    if (!compile(node, states)) return false
  }
  for (const fork of forks) fork.second = states.length
  return true
}

function weightOf(state: State): number {
  return state.kind === 'set' ? 1 + (sizeOf(state.set) >>> 3) : 1
}

/** Comparisons of one character with a set; a class of the engine counts as several. */
function sizeOf({ ranges, classes, inner }: CharacterSet): number {
  return ranges.length + 8 * classes.length + inner.reduce((sum, one) => sum + sizeOf(one), 0)
}
