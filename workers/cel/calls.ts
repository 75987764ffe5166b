/** Calls of functions, and the names of types. */
import { type AbstractValue, TYPE_VALUE, textValue, typeName } from './abstract-value.js'
import { indexPart } from './collections.js'
import { zoneClock } from './conversions.js'
import { type CelFunctionTable, selectOverload } from './functions.js'
import { constant, ERROR, type Part, type Walk } from './part.js'
import { type CelNode, rejectCondition } from './syntax-tree.js'
import { type CelProgram, CelType } from './value.js'

export function callPart(
  walk: Walk,
  table: CelFunctionTable,
  name: string,
  node: CelNode,
  operands: readonly CelNode[],
  depth: number,
): Part {
  const overloads = table.get(name)
  if (!overloads) return rejectCondition(`${name}() is not available in a condition`, node)
  const parts = operands.map((operand) => walk.visit(operand, depth))
  const values = parts.map(({ value }) => value)
  const overload = selectOverload(overloads, values)
  if (!overload) {
    const types = values.map(typeName).join(', ') || 'nothing'
    return rejectCondition(`${name}() does not take ${types}`, node)
  }
  walk.charge(overload.cost(values) + (overload.fails ? ERROR : 0))
  const apply = overload.inZone?.(zoneOf(operands.at(-1)!)) ?? overload.run
  const [first, second] = parts.map(({ run }) => run)
  const run: CelProgram =
    second === undefined || overload.inZone !== undefined
      ? (scope) => apply(first!(scope), null)
      : (scope) => apply(first!(scope), second(scope))
  return { value: overload.gives(values), run }
}

function zoneOf(node: CelNode) {
  const name = node.op === 'value' ? node.args : null
  if (typeof name !== 'string') return rejectCondition('a time zone has to be a literal text', node)
  return zoneClock(name) ?? rejectCondition('nobody knows this time zone', node)
}

/** Names of types, as `type()` gives them and as a condition may write them. */
const TYPE_NAMES: Readonly<Record<AbstractValue['kind'], string>> = {
  bool: 'bool',
  int: 'int',
  uint: 'uint',
  double: 'double',
  string: 'string',
  bytes: 'bytes',
  null: 'null_type',
  list: 'list',
  map: 'map',
  type: 'type',
  timestamp: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
}
export const TYPES: ReadonlyMap<string, CelType> = new Map(
  Object.values(TYPE_NAMES).map((name) => [name, new CelType(name)]),
)

/** `a.b.c` as it is written; null for what is no name. */
function dottedName(node: CelNode): string | null {
  if (node.op === 'id') return node.args
  if (node.op !== '.') return null
  const before = dottedName(node.args[0])
  return before && `${before}.${node.args[1]}`
}

/** What is known of a value includes its type, but the value can still err. */
export function typePart(
  walk: Walk,
  node: CelNode,
  [operand, ...others]: readonly CelNode[],
  depth: number,
): Part {
  if (operand === undefined || others.length > 0) return rejectCondition('type() takes one value', node)
  const { value, run } = walk.visit(operand, depth)
  const type = TYPES.get(TYPE_NAMES[value.kind])!
  return { value: TYPE_VALUE, run: (scope) => (run(scope) === undefined ? null : type) }
}

/** A field of a map, or the full name of a type. */
export function selectPart(
  walk: Walk,
  node: CelNode,
  [holderNode, name]: readonly [CelNode, string],
  depth: number,
): Part {
  const type = TYPES.get(dottedName(node) ?? '')
  if (type !== undefined) return constant(TYPE_VALUE, type)
  const holder = walk.visit(holderNode, depth)
  return indexPart(walk, node, holder, constant(textValue(name.length), name))
}
