/**
 * What is known of a value before a condition runs: its type, how large it can be, and between which bounds a whole
 * number lies. Sizes are upper bounds; from them the walk reckons what an evaluation can cost.
 */
import { type CelNode, refuse } from './cel-tree.js'

export type Scalar = 'bool' | 'int' | 'uint' | 'double' | 'string' | 'null'

interface Range {
  readonly low: bigint
  readonly high: bigint
}

export interface Facts {
  readonly kind: Scalar | 'list' | 'map'
  /** Type of a list's items or a map's values; null for an empty literal, which goes with every type. */
  readonly of: Scalar | null
  /** Most items of a list or entries of a map. */
  readonly items: number
  /** Most UTF-16 units of a text, or of all texts in a list or map together. */
  readonly chars: number
  /** Most units of one text in a list. */
  readonly longest: number
  /** Bounds of an `int`. */
  readonly range: Range
}

export const MIN_INT = -(2n ** 63n)
export const MAX_INT = 2n ** 63n - 1n
const ANY_INT: Range = { low: MIN_INT, high: MAX_INT }
const NOTHING = { of: null, items: 0, chars: 0, longest: 0, range: ANY_INT }

export const BOOL: Facts = { ...NOTHING, kind: 'bool' }
export const UINT: Facts = { ...NOTHING, kind: 'uint' }
export const DOUBLE: Facts = { ...NOTHING, kind: 'double' }
export const NULL: Facts = { ...NOTHING, kind: 'null' }
const INT: Facts = { ...NOTHING, kind: 'int' }

/** Larger values than these serve no decision and cost memory. */
const MAX_CHARS = 65_536
const MAX_ITEMS = 65_536

export function text(chars: number): Facts {
  return { ...NOTHING, kind: 'string', chars, longest: chars }
}

export function list(of: Scalar | null, items: number, chars: number, longest: number): Facts {
  return { ...NOTHING, kind: 'list', of, items, chars, longest }
}

export function map(of: Scalar | null, items: number, chars: number, longest: number): Facts {
  return { ...NOTHING, kind: 'map', of, items, chars, longest }
}

export function int(low: bigint, high: bigint): Facts {
  return { ...INT, range: { low: clamp(low), high: clamp(high) } }
}

/** A result beyond 64 bits is an error when it happens, so what does come out lies within. */
function clamp(value: bigint): bigint {
  if (value < MIN_INT) return MIN_INT
  return value > MAX_INT ? MAX_INT : value
}

/** Bounds of `a op b` for the operators that take two whole numbers. */
export function arithmetic(op: '+' | '-' | '*' | '/' | '%', a: Range, b: Range): Facts {
  if (op === '+') return int(a.low + b.low, a.high + b.high)
  if (op === '-') return int(a.low - b.high, a.high - b.low)
  if (op === '*') {
    const corners = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
    return int(smallest(corners), -smallest(corners.map((corner) => -corner)))
  }
  const most = -smallest([a.low, -a.high, 0n])
  return int(-most, most)
}

function smallest(values: readonly bigint[]): bigint {
  return values.reduce((least, value) => (value < least ? value : least))
}

/** What is known of a value that is one or the other; null when their types differ. */
export function either(a: Facts, b: Facts): Facts | null {
  if (a.kind !== b.kind || !sameItems(a, b)) return null
  return {
    kind: a.kind,
    of: a.of ?? b.of,
    items: Math.max(a.items, b.items),
    chars: Math.max(a.chars, b.chars),
    longest: Math.max(a.longest, b.longest),
    range: {
      low: smallest([a.range.low, b.range.low]),
      high: -smallest([-a.range.high, -b.range.high]),
    },
  }
}

/** Whether the items of two lists, or the values of two maps, are of one type. */
export function sameItems(a: Facts, b: Facts): boolean {
  return a.of === b.of || a.of === null || b.of === null
}

/** The facts of one item of a list. */
export function item(of: Scalar, longest: number): Facts {
  switch (of) {
    case 'string':
      return text(longest)
    case 'int':
      return INT
    case 'uint':
      return UINT
    case 'double':
      return DOUBLE
    case 'null':
      return NULL
    case 'bool':
      return BOOL
  }
}

/** The type as it is called in a refusal. */
export function typeName(facts: Facts): string {
  if (facts.kind === 'list') return `list(${facts.of ?? 'nothing'})`
  if (facts.kind === 'map') return `map(string, ${facts.of ?? 'nothing'})`
  return facts.kind
}

export function bounded(facts: Facts, node: CelNode): Facts {
  if (facts.chars > MAX_CHARS || facts.items > MAX_ITEMS) refuse('a value can grow too large here', node)
  return facts
}
