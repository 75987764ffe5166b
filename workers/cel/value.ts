/** Values of a running condition, their equality and order (CEL language definition, "Equality and Ordering"). */
import type { ConditionClaims } from '../tasks.js'

/** An unsigned number; whole numbers with a sign are plain bigints. */
export class Uint {
  constructor(readonly value: bigint) {}
}

export class Timestamp {
  /** @param nanos since the Unix epoch */
  constructor(readonly nanos: bigint) {}
}

export class Duration {
  constructor(readonly nanos: bigint) {}
}

/** What `type()` gives; there is one object per name. */
export class CelType {
  constructor(readonly name: string) {}
}

/** A key of a map as the map of the engine knows it: equal keys of one type are equal here. */
type MapKey = string | bigint | boolean

/** Keys as they were written beside the values. */
export type CelMap = ReadonlyMap<MapKey, { readonly key: CelValue; readonly value: CelValue }>

export type CelValue =
  | (boolean | bigint | number | string | null)
  | (Uint | Timestamp | Duration | CelType | Uint8Array)
  | (CelMap | readonly CelValue[])

/** What a condition sees: the claims, and the item a macro stands at. Macros do not nest, so there is one. */
export interface CelScope extends ConditionClaims {
  item: CelValue
}

/** A part of a condition that was made ready to run. */
export type CelProgram = (scope: CelScope) => CelValue

/** Why an evaluation ends without a value. Made once each: an error with a stack would be most of its price. */
export class CelError extends Error {
  constructor(readonly code: string) {
    super(code)
    delete this.stack
  }
}

export const DIVIDED_BY_ZERO = new CelError('division_by_zero')
export const OUT_OF_RANGE = new CelError('numeric_overflow')
export const NO_CONVERSION = new CelError('invalid_conversion')
export const NO_ITEM = new CelError('index_out_of_bounds')
export const NO_KEY = new CelError('no_such_key')
export const KEY_TWICE = new CelError('duplicate_key')

export const MIN_INT = -(2n ** 63n)
export const MAX_INT = 2n ** 63n - 1n
const MAX_UINT = 2n ** 64n - 1n

export function intOf(value: bigint): bigint {
  if (value < MIN_INT || value > MAX_INT) throw OUT_OF_RANGE
  return value
}

export function uintOf(value: bigint): Uint {
  if (value < 0n || value > MAX_UINT) throw OUT_OF_RANGE
  return new Uint(value)
}

export function mapKey(value: CelValue): MapKey {
  return value instanceof Uint ? value.value : (value as MapKey)
}

/** Two values of one type. */
export function isEqual(a: CelValue, b: CelValue): boolean {
  if (typeof a !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a)) {
    const other = b as readonly CelValue[]
    return a.length === other.length && a.every((item, at) => isEqual(item, other[at]!))
  }
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array) === 0
  if (a instanceof Map) return isEqualMap(a, b as CelMap)
  return a instanceof CelType ? a === b : compare(a, b) === 0
}

function isEqualMap(a: CelMap, b: CelMap): boolean {
  if (a.size !== b.size) return false
  for (const [name, { value }] of a) {
    const other = b.get(name)
    if (other === undefined || !isEqual(value, other.value)) return false
  }
  return true
}

/** Below, at or above zero as `a` comes before, with or after `b`, which is of its type; NaN for what has no order. */
export function compare(a: CelValue, b: CelValue): number {
  if (typeof a === 'string') return compareText(a, b as string)
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array)
  if (a instanceof Uint) return order(a.value, (b as Uint).value)
  if (a instanceof Timestamp || a instanceof Duration)
    return order(a.nanos, (b as Timestamp | Duration).nanos)
  return order(a as number, b as number)
}

function order<T extends bigint | number | boolean>(a: T, b: T): number {
  if (a < b) return -1
  if (a > b) return 1
  return a === b ? 0 : Number.NaN
}

/** By code points: a pair of surrogates stands for one that comes after all that need no pair. */
function compareText(a: string, b: string): number {
  if (a === b) return 0
  const shorter = Math.min(a.length, b.length)
  let at = 0
  while (at < shorter && a.charCodeAt(at) === b.charCodeAt(at)) at++
  if (at === shorter) return a.length - b.length
  const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)]
  return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
