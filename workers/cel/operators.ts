/**
 * The operators over two values and the minus sign: which types go together, what comes out, and how. Both sides are
 * of one type where the language says so: a comparison of two types is a mistake in a policy, not a `false`.
 */
import {
  type AbstractValue,
  BOOL_VALUE,
  bytesValue,
  DOUBLE_VALUE,
  DURATION_VALUE,
  haveSameType,
  INT_VALUE,
  joinParts,
  TIMESTAMP_VALUE,
  textValue,
  typeName,
  UINT_VALUE,
} from './abstract-value.js'
import { durationOfNanos, timestampOfNanos } from './conversions.js'
import { type BinaryNode, type CelNode, rejectCondition } from './syntax-tree.js'
import {
  type CelMap,
  type CelValue,
  compare,
  DIVIDED_BY_ZERO,
  type Duration,
  intOf,
  isEqual,
  mapKey,
  type Timestamp,
  type Uint,
  uintOf,
} from './value.js'

type Operator = BinaryNode['op']
type BinaryFunction = (left: CelValue, right: CelValue) => CelValue

interface OperatorResult {
  readonly value: AbstractValue
  readonly run: BinaryFunction
  /** Some operands make it fail. */
  readonly fails?: boolean
}

/** What an operator makes of two values; ends the walk when it takes no such values. */
export function applyOperator(node: BinaryNode, left: AbstractValue, right: AbstractValue): OperatorResult {
  const result = resultOf(node.op, left, right)
  return result ?? rejectCondition(`${typeName(left)} ${node.op} ${typeName(right)} is not defined`, node)
}

/** Null when the operator takes no such values. */
function resultOf(op: Operator, left: AbstractValue, right: AbstractValue): OperatorResult | null {
  if (op === 'in') return membership(left, right)
  if (op === '==' || op === '!=') return haveSameType(left, right) ? EQUALITIES[op] : null
  const ordering = ORDERINGS[op]
  if (ordering !== undefined) return left.kind === right.kind && isOrdered(left) ? ordering : null
  if (op === '+' && haveSameType(left, right) && CONCATENATIONS[left.kind] !== undefined) {
    return { value: concatenated(left, right), run: CONCATENATIONS[left.kind]! }
  }
  return ARITHMETIC[`${left.kind} ${op} ${right.kind}`] ?? null
}

const testing = (run: BinaryFunction): OperatorResult => ({ value: BOOL_VALUE, run })

const EQUALITIES = {
  '==': testing(isEqual),
  '!=': testing((a, b) => !isEqual(a, b)),
}

const ORDERINGS: Readonly<Partial<Record<Operator, OperatorResult>>> = {
  '<': testing((a, b) => compare(a, b) < 0),
  '<=': testing((a, b) => compare(a, b) <= 0),
  '>': testing((a, b) => compare(a, b) > 0),
  '>=': testing((a, b) => compare(a, b) >= 0),
}

function isOrdered({ kind }: AbstractValue): boolean {
  return kind !== 'list' && kind !== 'map' && kind !== 'null' && kind !== 'type'
}

const IN_LIST = testing((value, list) => (list as readonly CelValue[]).some((item) => isEqual(value, item)))
const IN_MAP = testing((value, map) => (map as CelMap).has(mapKey(value)))

function membership(left: AbstractValue, right: AbstractValue): OperatorResult | null {
  if (right.kind === 'list') return haveSameType(left, right.of) ? IN_LIST : null
  return right.kind === 'map' && haveSameType(left, right.key) ? IN_MAP : null
}

const CONCATENATIONS: Readonly<Partial<Record<AbstractValue['kind'], BinaryFunction>>> = {
  string: (a, b) => (a as string) + (b as string),
  bytes: (a, b) => Buffer.concat([a as Uint8Array, b as Uint8Array]),
  list: (a, b) => [...(a as readonly CelValue[]), ...(b as readonly CelValue[])],
}

function concatenated(left: AbstractValue, right: AbstractValue): AbstractValue {
  const chars = left.chars + right.chars
  if (left.kind === 'string') return textValue(chars)
  if (left.kind === 'bytes') return bytesValue(chars)
  const [items, parts] = [left.items + right.items, left.parts + right.parts]
  return { kind: 'list', key: null, of: joinParts(left.of, right.of), items, parts, chars }
}

function failing(value: AbstractValue, run: (left: never, right: never) => CelValue): OperatorResult {
  return { value, run: run as BinaryFunction, fails: true }
}

const onInts = (run: (a: bigint, b: bigint) => bigint): OperatorResult =>
  failing(INT_VALUE, (a: bigint, b: bigint) => intOf(run(a, b)))
const onUints = (run: (a: bigint, b: bigint) => bigint): OperatorResult =>
  failing(UINT_VALUE, (a: Uint, b: Uint) => uintOf(run(a.value, b.value)))
const onDoubles = (run: (a: number, b: number) => number): OperatorResult => ({
  value: DOUBLE_VALUE,
  run: run as BinaryFunction,
})
const toTimestamp = (run: (a: bigint, b: bigint) => bigint): OperatorResult =>
  failing(TIMESTAMP_VALUE, (a: Timestamp, b: Duration) => timestampOfNanos(run(a.nanos, b.nanos)))
const toDuration = (run: (a: bigint, b: bigint) => bigint): OperatorResult =>
  failing(DURATION_VALUE, (a: Duration, b: Duration) => durationOfNanos(run(a.nanos, b.nanos)))

const sum = (a: bigint, b: bigint): bigint => a + b
const difference = (a: bigint, b: bigint): bigint => a - b
const product = (a: bigint, b: bigint): bigint => a * b
const quotient = (a: bigint, b: bigint): bigint => {
  if (b === 0n) throw DIVIDED_BY_ZERO
  return a / b
}
const remainder = (a: bigint, b: bigint): bigint => {
  if (b === 0n) throw DIVIDED_BY_ZERO
  return a % b
}

const ARITHMETIC: Readonly<Record<string, OperatorResult>> = {
  'int + int': onInts(sum),
  'int - int': onInts(difference),
  'int * int': onInts(product),
  'int / int': onInts(quotient),
  'int % int': onInts((a, b) => {
    // The least number has no quotient by -1, hence no remainder either.
    if (b === -1n) intOf(-a)
    return remainder(a, b)
  }),
  'uint + uint': onUints(sum),
  'uint - uint': onUints(difference),
  'uint * uint': onUints(product),
  'uint / uint': onUints(quotient),
  'uint % uint': onUints(remainder),
  'double + double': onDoubles((a, b) => a + b),
  'double - double': onDoubles((a, b) => a - b),
  'double * double': onDoubles((a, b) => a * b),
  'double / double': onDoubles((a, b) => a / b),
  'timestamp + duration': toTimestamp(sum),
  'duration + timestamp': toTimestamp(sum),
  'timestamp - duration': toTimestamp(difference),
  'timestamp - timestamp': toDuration(difference),
  'duration + duration': toDuration(sum),
  'duration - duration': toDuration(difference),
}

/** What the minus sign makes of a value. */
export function applyNegation(
  node: CelNode,
  value: AbstractValue,
): { readonly value: AbstractValue; readonly run: (of: CelValue) => CelValue } {
  if (value.kind === 'double') return { value: DOUBLE_VALUE, run: (of) => -(of as number) }
  if (value.kind === 'int') return { value: INT_VALUE, run: (of) => intOf(-(of as bigint)) }
  return rejectCondition(`${typeName(value)} cannot be negated`, node)
}
