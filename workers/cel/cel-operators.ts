/**
 * The operators over two values and the minus sign: which types go together, what comes out. Both sides are of one
 * type, always: a comparison of two types is a mistake in a policy, not a `false`.
 */
import {
  arithmetic,
  BOOL,
  DOUBLE,
  type Facts,
  int,
  list,
  MAX_INT,
  MIN_INT,
  sameItems,
  text,
  typeName,
  UINT,
} from './cel-facts.js'
import { type BinaryNode, type CelNode, refuse } from './cel-tree.js'

interface Operation {
  readonly facts: Facts
  /** Some operands make it fail. */
  readonly fails?: true
  /** Right for ASCII texts alone. */
  readonly ascii?: true
}

/** What an operator makes of two values; ends the walk when it takes no such values. */
export function operation(node: BinaryNode, left: Facts, right: Facts): Operation {
  const result = resultOf(node, left, right)
  return result ?? refuse(`${typeName(left)} ${node.op} ${typeName(right)} is not defined`, node)
}

/** The library lets the negation of the least number pass beyond 64 bits. */
export function negation(node: CelNode, facts: Facts): Facts {
  if (facts.kind === 'double') return DOUBLE
  if (facts.kind !== 'int') return refuse(`${typeName(facts)} cannot be negated`, node)
  if (facts.range.low === MIN_INT) refuse('the negation of this number may not fit into 64 bits', node)
  return int(-facts.range.high, -facts.range.low)
}

function resultOf(node: BinaryNode, left: Facts, right: Facts): Operation | null {
  switch (node.op) {
    case '==':
    case '!=':
      return equality(node, left, right)
    case 'in':
      return isMember(left, right) ? { facts: BOOL } : null
    case '+':
      return sum(left, right) ?? number(node, left, right)
    case '-':
    case '*':
    case '/':
    case '%':
      return number(node, left, right)
    default:
      return order(left, right)
  }
}

/** The library takes a list for equal to itself, NaN inside or not. */
function equality(node: BinaryNode, left: Facts, right: Facts): Operation | null {
  if (left.kind !== right.kind || !sameItems(left, right)) return null
  const ofDoubles = left.of === 'double' || right.of === 'double'
  if (ofDoubles) refuse('lists and maps of double cannot be compared', node)
  return { facts: BOOL }
}

/** The library orders texts by UTF-16 units. */
function order(left: Facts, right: Facts): Operation | null {
  if (left.kind !== right.kind) return null
  if (left.kind === 'list' || left.kind === 'map' || left.kind === 'null') return null
  return left.kind === 'string' ? { facts: BOOL, ascii: true } : { facts: BOOL }
}

function isMember(left: Facts, right: Facts): boolean {
  if (right.kind === 'map') return left.kind === 'string'
  if (right.kind !== 'list' || left.kind === 'list' || left.kind === 'map') return false
  return right.of === left.kind || right.of === null
}

function sum(left: Facts, right: Facts): Operation | null {
  if (left.kind === 'string' && right.kind === 'string') return { facts: text(left.chars + right.chars) }
  if (left.kind !== 'list' || right.kind !== 'list' || !sameItems(left, right)) return null
  const of = left.of ?? right.of
  const longest = Math.max(left.longest, right.longest)
  return { facts: list(of, left.items + right.items, left.chars + right.chars, longest) }
}

function number(node: BinaryNode, left: Facts, right: Facts): Operation | null {
  if (left.kind !== right.kind) return null
  if (left.kind === 'uint') return { facts: UINT, fails: true }
  if (left.kind === 'double') return node.op === '%' ? null : { facts: DOUBLE }
  return left.kind === 'int' ? wholeNumber(node, left, right) : null
}

/** The library does not see that the least number divided by -1 is out of range. */
function wholeNumber(node: BinaryNode, left: Facts, right: Facts): Operation {
  const divides = node.op === '/' || node.op === '%'
  const byMinusOne = right.range.low <= -1n && right.range.high >= -1n
  if (divides && byMinusOne && left.range.low === MIN_INT) {
    refuse('the result of this division may not fit into 64 bits', node)
  }
  const facts = arithmetic(node.op as '+' | '-' | '*' | '/' | '%', left.range, right.range)
  const overflows = facts.range.low === MIN_INT || facts.range.high === MAX_INT
  return divides || overflows ? { facts, fails: true } : { facts }
}
