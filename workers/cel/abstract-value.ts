/**
 * What is known of a value before a condition runs: its type, how large it can be, and between which bounds a whole
 * number lies. Sizes are upper bounds; from them the cost check reckons what an evaluation can cost.
 */
import { type CelNode, rejectCondition } from './syntax-tree.js'

export type ScalarType = 'bool' | 'int' | 'uint' | 'double' | 'string' | 'null'

interface IntegerRange {
  readonly low: bigint
  readonly high: bigint
}

export interface AbstractValue {
  readonly kind: ScalarType | 'list' | 'map'
  /** Type of a list's items or a map's values; null for an empty literal, which goes with every type. */
  readonly of: ScalarType | null
  /** Most items of a list or entries of a map. */
  readonly items: number
  /** Most UTF-16 units of a text, or of all texts in a list or map together. */
  readonly chars: number
  /** Most units of one text in a list. */
  readonly longest: number
  /** Bounds of an `int`. */
  readonly range: IntegerRange
}

export const MIN_INT = -(2n ** 63n)
export const MAX_INT = 2n ** 63n - 1n
const NO_SIZE = { of: null, items: 0, chars: 0, longest: 0, range: { low: MIN_INT, high: MAX_INT } }

export const BOOL_VALUE: AbstractValue = { ...NO_SIZE, kind: 'bool' }
export const UINT_VALUE: AbstractValue = { ...NO_SIZE, kind: 'uint' }
export const DOUBLE_VALUE: AbstractValue = { ...NO_SIZE, kind: 'double' }
export const NULL_VALUE: AbstractValue = { ...NO_SIZE, kind: 'null' }
const INT_VALUE: AbstractValue = { ...NO_SIZE, kind: 'int' }

export function textValue(chars: number): AbstractValue {
  return { ...NO_SIZE, kind: 'string', chars, longest: chars }
}

export function intValue(low: bigint, high: bigint): AbstractValue {
  return { ...INT_VALUE, range: { low: clampTo64Bits(low), high: clampTo64Bits(high) } }
}

/** A list or map of so many items, with so many characters in all and in the longest of its texts. */
export function collectionValue(
  kind: 'list' | 'map',
  of: ScalarType | null,
  items: number,
  chars: number,
  longest: number,
): AbstractValue {
  return { ...NO_SIZE, kind, of, items, chars, longest }
}

const UNSIZED_ITEMS = {
  bool: BOOL_VALUE,
  int: INT_VALUE,
  uint: UINT_VALUE,
  double: DOUBLE_VALUE,
  null: NULL_VALUE,
}

/** One item of a list. */
export function itemValue(of: ScalarType, longest: number): AbstractValue {
  return of === 'string' ? textValue(longest) : UNSIZED_ITEMS[of]
}

/** A result beyond 64 bits is an error when it happens, so what does come out lies within. */
function clampTo64Bits(value: bigint): bigint {
  if (value < MIN_INT) return MIN_INT
  return value > MAX_INT ? MAX_INT : value
}

/** Bounds of `a op b` for the operators that take two whole numbers. */
export function integerArithmetic(
  op: '+' | '-' | '*' | '/' | '%',
  a: IntegerRange,
  b: IntegerRange,
): AbstractValue {
  if (op === '+') return intValue(a.low + b.low, a.high + b.high)
  if (op === '-') return intValue(a.low - b.high, a.high - b.low)
  if (op === '*') {
    const corners = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
    return intValue(smallestOf(corners), largestOf(corners))
  }
  const most = largestOf([-a.low, a.high, 0n])
  return intValue(-most, most)
}

function smallestOf(values: readonly bigint[]): bigint {
  return values.reduce((least, value) => (value < least ? value : least))
}

function largestOf(values: readonly bigint[]): bigint {
  return values.reduce((most, value) => (value > most ? value : most))
}

/** What is known of a value that is one or the other; null when their types differ. */
export function joinValues(a: AbstractValue, b: AbstractValue): AbstractValue | null {
  if (a.kind !== b.kind || !haveSameItemType(a, b)) return null
  return {
    kind: a.kind,
    of: a.of ?? b.of,
    items: Math.max(a.items, b.items),
    chars: Math.max(a.chars, b.chars),
    longest: Math.max(a.longest, b.longest),
    range: {
      low: smallestOf([a.range.low, b.range.low]),
      high: largestOf([a.range.high, b.range.high]),
    },
  }
}

/** Whether the items of two lists, or the values of two maps, are of one type. */
export function haveSameItemType(a: AbstractValue, b: AbstractValue): boolean {
  return a.of === b.of || a.of === null || b.of === null
}

/** The type as it is called in a refusal. */
export function typeName({ kind, of }: Pick<AbstractValue, 'kind' | 'of'>): string {
  if (kind === 'list') return `list(${of ?? 'nothing'})`
  return kind === 'map' ? `map(string, ${of ?? 'nothing'})` : kind
}

/** Larger values than these serve no decision and cost memory. */
const MAX_CHARS = 65_536
const MAX_ITEMS = 65_536

export function requireBounded(value: AbstractValue, node: CelNode): AbstractValue {
  if (value.chars > MAX_CHARS || value.items > MAX_ITEMS) {
    rejectCondition('a value can grow too large here', node)
  }
  return value
}

/** The item type of a collection with one more item. */
export function requireItemType(of: ScalarType | null, item: AbstractValue, node: CelNode): ScalarType {
  const { kind } = item
  if (kind === 'list' || kind === 'map') {
    return rejectCondition('a list or a map cannot stand inside another', node)
  }
  if (of !== null && of !== kind) {
    rejectCondition(`${typeName(item)} cannot stand in one list or map with ${of}`, node)
  }
  return kind
}
