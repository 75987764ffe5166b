/**
 * What is known of a value before a condition runs: its type, and how large it can be. Sizes are upper bounds; from
 * them the walk reckons what an evaluation can cost.
 */
import { type CelNode, rejectCondition } from './syntax-tree.js'

type SimpleType =
  | ('bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'null')
  | ('timestamp' | 'duration' | 'type')

export interface AbstractValue {
  readonly kind: SimpleType | 'list' | 'map'
  /** Largest key of a map. */
  readonly key: AbstractValue | null
  /** Largest item of a list or value of a map; null for an empty literal, which goes with every type. */
  readonly of: AbstractValue | null
  /** Most items of a list or entries of a map. */
  readonly items: number
  /** Most items at all levels together. */
  readonly parts: number
  /** Most UTF-16 units of a text, bytes of bytes, or of all texts and bytes in a list or map together. */
  readonly chars: number
}

const NO_SIZE = { key: null, of: null, items: 0, parts: 0, chars: 0 }

/** A value of a type without a size. */
const simple = (kind: SimpleType): AbstractValue => ({ ...NO_SIZE, kind })

export const BOOL_VALUE = simple('bool')
export const INT_VALUE = simple('int')
export const UINT_VALUE = simple('uint')
export const DOUBLE_VALUE = simple('double')
export const NULL_VALUE = simple('null')
export const TIMESTAMP_VALUE = simple('timestamp')
export const DURATION_VALUE = simple('duration')
export const TYPE_VALUE = simple('type')

export function textValue(chars: number): AbstractValue {
  return { ...NO_SIZE, kind: 'string', chars }
}

export function bytesValue(chars: number): AbstractValue {
  return { ...NO_SIZE, kind: 'bytes', chars }
}

/** A list of so many items of at most this size each, and with so many characters in all. */
export function listValue(of: AbstractValue | null, items: number, chars: number): AbstractValue {
  return { kind: 'list', key: null, of, items, parts: items * (1 + (of?.parts ?? 0)), chars }
}

/** The same value when there is nothing in it. */
export function emptiest(value: AbstractValue): AbstractValue {
  return value.kind === 'string' || value.kind === 'bytes' ? { ...value, chars: 0 } : value
}

/** What is known of a value that is one or the other; null when their types differ. */
export function joinValues(a: AbstractValue, b: AbstractValue): AbstractValue | null {
  if (!haveSameType(a, b)) return null
  return {
    kind: a.kind,
    key: joinParts(a.key, b.key),
    of: joinParts(a.of, b.of),
    items: Math.max(a.items, b.items),
    parts: Math.max(a.parts, b.parts),
    chars: Math.max(a.chars, b.chars),
  }
}

/** Of values of one type. */
export function joinParts(a: AbstractValue | null, b: AbstractValue | null): AbstractValue | null {
  return a && b ? joinValues(a, b) : (a ?? b)
}

export function haveSameType(a: AbstractValue | null, b: AbstractValue | null): boolean {
  if (a === null || b === null) return true
  return a.kind === b.kind && haveSameType(a.of, b.of) && haveSameType(a.key, b.key)
}

/** The type as it is called in a refusal. */
export function typeName({ kind, key, of }: Pick<AbstractValue, 'kind' | 'key' | 'of'>): string {
  const item = of === null ? 'nothing' : typeName(of)
  if (kind === 'list') return `list(${item})`
  return kind === 'map' ? `map(${key === null ? 'nothing' : typeName(key)}, ${item})` : kind
}

/** Larger values than these serve no decision and cost memory. */
const MAX_CHARS = 65_536
const MAX_PARTS = 65_536

export function requireBounded(value: AbstractValue, node: CelNode): AbstractValue {
  if (value.chars > MAX_CHARS || value.parts > MAX_PARTS) {
    rejectCondition('a value can grow too large here', node)
  }
  return value
}
