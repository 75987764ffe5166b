/**
 * The operators over two values and the minus sign: which types go together, what comes out. Both sides are of one
 * type, always: a comparison of two types is a mistake in a policy, not a `false`.
 */
import {
  type AbstractValue,
  BOOL_VALUE,
  DOUBLE_VALUE,
  haveSameItemType,
  integerArithmetic,
  intValue,
  listValue,
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
  readonly fails?: true
  /** Right for ASCII texts alone. */
  readonly ascii?: true
}

/** What an operator makes of two values; ends the walk when it takes no such values. */
export function applyOperator(node: BinaryNode, left: AbstractValue, right: AbstractValue): OperatorResult {
  const result = operatorResult(node, left, right)
  return result ?? rejectCondition(`${typeName(left)} ${node.op} ${typeName(right)} is not defined`, node)
}

/** The library lets the negation of the least number pass beyond 64 bits. */
export function applyNegation(node: CelNode, facts: AbstractValue): AbstractValue {
  if (facts.kind === 'double') return DOUBLE_VALUE
  if (facts.kind !== 'int') return rejectCondition(`${typeName(facts)} cannot be negated`, node)
  if (facts.range.low === MIN_INT)
    rejectCondition('the negation of this number may not fit into 64 bits', node)
  return intValue(-facts.range.high, -facts.range.low)
}

function operatorResult(node: BinaryNode, left: AbstractValue, right: AbstractValue): OperatorResult | null {
  switch (node.op) {
    case '==':
    case '!=':
      return compareEqual(node, left, right)
    case 'in':
      return isMember(left, right) ? { value: BOOL_VALUE } : null
    case '+':
      return addValues(left, right) ?? calculate(node, left, right)
    case '-':
    case '*':
    case '/':
    case '%':
      return calculate(node, left, right)
    default:
      return compareOrder(left, right)
  }
}

/** The library takes a list for equal to itself, NaN inside or not. */
function compareEqual(node: BinaryNode, left: AbstractValue, right: AbstractValue): OperatorResult | null {
  if (left.kind !== right.kind || !haveSameItemType(left, right)) return null
  const ofDoubles = left.of === 'double' || right.of === 'double'
  if (ofDoubles) rejectCondition('lists and maps of double cannot be compared', node)
  return { value: BOOL_VALUE }
}

/** The library orders texts by UTF-16 units. */
function compareOrder(left: AbstractValue, right: AbstractValue): OperatorResult | null {
  if (left.kind !== right.kind) return null
  if (left.kind === 'list' || left.kind === 'map' || left.kind === 'null') return null
  return left.kind === 'string' ? { value: BOOL_VALUE, ascii: true } : { value: BOOL_VALUE }
}

function isMember(left: AbstractValue, right: AbstractValue): boolean {
  if (right.kind === 'map') return left.kind === 'string'
  if (right.kind !== 'list' || left.kind === 'list' || left.kind === 'map') return false
  return right.of === left.kind || right.of === null
}

function addValues(left: AbstractValue, right: AbstractValue): OperatorResult | null {
  if (left.kind === 'string' && right.kind === 'string') return { value: textValue(left.chars + right.chars) }
  if (left.kind !== 'list' || right.kind !== 'list' || !haveSameItemType(left, right)) return null
  const of = left.of ?? right.of
  const longest = Math.max(left.longest, right.longest)
  return { value: listValue(of, left.items + right.items, left.chars + right.chars, longest) }
}

function calculate(node: BinaryNode, left: AbstractValue, right: AbstractValue): OperatorResult | null {
  if (left.kind !== right.kind) return null
  if (left.kind === 'uint') return { value: UINT_VALUE, fails: true }
  if (left.kind === 'double') return node.op === '%' ? null : { value: DOUBLE_VALUE }
  return left.kind === 'int' ? calculateIntegers(node, left, right) : null
}

/** The library does not see that the least number divided by -1 is out of range. */
function calculateIntegers(node: BinaryNode, left: AbstractValue, right: AbstractValue): OperatorResult {
  const divides = node.op === '/' || node.op === '%'
  const byMinusOne = right.range.low <= -1n && right.range.high >= -1n
  if (divides && byMinusOne && left.range.low === MIN_INT) {
    rejectCondition('the result of this division may not fit into 64 bits', node)
  }
  const facts = integerArithmetic(node.op as '+' | '-' | '*' | '/' | '%', left.range, right.range)
  const overflows = facts.range.low === MIN_INT || facts.range.high === MAX_INT
  return divides || overflows ? { value: facts, fails: true } : { value: facts }
}
