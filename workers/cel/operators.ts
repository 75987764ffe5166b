/**
 * The operators over two values and the minus sign: which types go together, what comes out. Both sides are of one
 * type, always: a comparison of two types is a mistake in a policy, not a `false`.
 */
import {
  type AbstractValue,
  BOOL_VALUE,
  collectionValue,
  DOUBLE_VALUE,
  haveSameItemType,
  integerArithmetic,
  intValue,
  MAX_INT,
  MIN_INT,
  textValue,
  typeName,
  UINT_VALUE,
} from './abstract-value.js'
import { type BinaryNode, type CelNode, rejectCondition } from './syntax-tree.js'

interface OperatorResult {
  readonly value: AbstractValue
  /** Some operands make it fail. */
  readonly fails?: boolean
  /** Right for ASCII texts alone. */
  readonly ascii?: boolean
}

/** Null when the operator takes no such values. */
type CelOperator = (left: AbstractValue, right: AbstractValue, node: BinaryNode) => OperatorResult | null

const OPERATORS: Readonly<Record<BinaryNode['op'], CelOperator>> = {
  '==': compareEqual,
  '!=': compareEqual,
  in: (left, right) => (canBeMember(left, right) ? { value: BOOL_VALUE } : null),
  '<': compareOrder,
  '<=': compareOrder,
  '>': compareOrder,
  '>=': compareOrder,
  '+': (left, right, node) => concatenate(left, right) ?? applyArithmetic(left, right, node),
  '-': applyArithmetic,
  '*': applyArithmetic,
  '/': applyArithmetic,
  '%': applyArithmetic,
}

/** What an operator makes of two values; ends the walk when it takes no such values. */
export function applyOperator(node: BinaryNode, left: AbstractValue, right: AbstractValue): OperatorResult {
  const result = OPERATORS[node.op](left, right, node)
  return result ?? rejectCondition(`${typeName(left)} ${node.op} ${typeName(right)} is not defined`, node)
}

/** The library lets the negation of the least number pass beyond 64 bits. */
export function applyNegation(node: CelNode, { kind, of, range }: AbstractValue): AbstractValue {
  if (kind === 'double') return DOUBLE_VALUE
  if (kind !== 'int') return rejectCondition(`${typeName({ kind, of })} cannot be negated`, node)
  if (range.low === MIN_INT) rejectCondition('the negation of this number may not fit into 64 bits', node)
  return intValue(-range.high, -range.low)
}

/** The library takes a list for equal to itself, NaN inside or not. */
function compareEqual(left: AbstractValue, right: AbstractValue, node: BinaryNode): OperatorResult | null {
  if (left.kind !== right.kind || !haveSameItemType(left, right)) return null
  const isOfDoubles = left.of === 'double' || right.of === 'double'
  if (isOfDoubles) rejectCondition('lists and maps of double cannot be compared', node)
  return { value: BOOL_VALUE }
}

/** The library orders texts by UTF-16 units. */
function compareOrder({ kind }: AbstractValue, right: AbstractValue): OperatorResult | null {
  if (kind !== right.kind || kind === 'list' || kind === 'map' || kind === 'null') return null
  return { value: BOOL_VALUE, ascii: kind === 'string' }
}

function canBeMember({ kind }: AbstractValue, right: AbstractValue): boolean {
  if (right.kind === 'map') return kind === 'string'
  if (right.kind !== 'list' || kind === 'list' || kind === 'map') return false
  return right.of === kind || right.of === null
}

function concatenate(left: AbstractValue, right: AbstractValue): OperatorResult | null {
  if (left.kind !== right.kind || !haveSameItemType(left, right)) return null
  const chars = left.chars + right.chars
  if (left.kind === 'string') return { value: textValue(chars) }
  if (left.kind !== 'list') return null
  const longest = Math.max(left.longest, right.longest)
  return { value: collectionValue('list', left.of ?? right.of, left.items + right.items, chars, longest) }
}

function applyArithmetic(left: AbstractValue, right: AbstractValue, node: BinaryNode): OperatorResult | null {
  if (left.kind !== right.kind) return null
  if (left.kind === 'uint') return { value: UINT_VALUE, fails: true }
  if (left.kind === 'double') return node.op === '%' ? null : { value: DOUBLE_VALUE }
  return left.kind === 'int' ? applyIntegerArithmetic(left, right, node) : null
}

/** The library does not see that the least number divided by -1 is out of range. */
function applyIntegerArithmetic(left: AbstractValue, right: AbstractValue, node: BinaryNode): OperatorResult {
  const divides = node.op === '/' || node.op === '%'
  const byMinusOne = right.range.low <= -1n && right.range.high >= -1n
  if (divides && byMinusOne && left.range.low === MIN_INT) {
    rejectCondition('the result of this division may not fit into 64 bits', node)
  }
  const value = integerArithmetic(node.op as '+' | '-' | '*' | '/' | '%', left.range, right.range)
  const overflows = value.range.low === MIN_INT || value.range.high === MAX_INT
  return { value, fails: divides || overflows }
}
