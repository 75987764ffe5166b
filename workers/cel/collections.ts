/** Lists and maps: as they are written, and what is read from them. */
import {
  type AbstractValue,
  BOOL_VALUE,
  haveSameType,
  INT_VALUE,
  joinParts,
  listValue,
  textValue,
  typeName,
} from './abstract-value.js'
import { ERROR, ITEM, type Part, type Walk } from './part.js'
import { type CelNode, type MapNode, rejectCondition } from './syntax-tree.js'
import { type CelMap, type CelValue, KEY_TWICE, mapKey, NO_ITEM, NO_KEY } from './value.js'

const KEY_TYPES: readonly AbstractValue['kind'][] = ['string', 'int', 'uint', 'bool']

export function listPart(walk: Walk, nodes: readonly CelNode[], depth: number): Part {
  let value = listValue(null, 0, 0)
  const runs = nodes.map((node) => {
    const item = walk.visit(node, depth)
    value = withItem(value, item.value, node)
    return item.run
  })
  return { value, run: (scope) => runs.map((run) => run(scope)) }
}

export function mapPart(walk: Walk, { args }: MapNode, depth: number): Part {
  let keys: AbstractValue = listValue(null, 0, 0)
  let values = keys
  const entries = args.map(([keyNode, valueNode]) => {
    const key = walk.visit(keyNode, depth)
    if (!KEY_TYPES.includes(key.value.kind)) {
      rejectCondition(`${typeName(key.value)} cannot be a key`, keyNode)
    }
    const value = walk.visit(valueNode, depth)
    keys = withItem(keys, key.value, keyNode)
    values = withItem(values, value.value, valueNode)
    walk.charge(ITEM + key.value.chars)
    return [key.run, value.run] as const
  })
  if (entries.length > 0) walk.charge(ERROR)
  const value: AbstractValue = {
    ...values,
    kind: 'map',
    key: keys.of,
    parts: values.parts + keys.parts,
    chars: values.chars + keys.chars,
  }
  return { value, run: (scope) => mapOf(entries.map(([key, of]) => [key(scope), of(scope)])) }
}

/** A list with one more item in its sizes. */
function withItem(list: AbstractValue, item: AbstractValue, node: CelNode): AbstractValue {
  if (!haveSameType(list.of, item)) {
    rejectCondition(`${typeName(item)} cannot stand in one list or map with ${typeName(list.of!)}`, node)
  }
  return {
    ...list,
    of: joinParts(list.of, item),
    items: list.items + 1,
    parts: list.parts + 1 + item.parts,
    chars: list.chars + item.chars,
  }
}

export function hasPart(
  walk: Walk,
  node: CelNode,
  [field, ...others]: readonly CelNode[],
  depth: number,
): Part {
  if (field?.op !== '.' || others.length > 0) {
    return rejectCondition('has() takes a value with the name of a field', node)
  }
  const [holderNode, name] = field.args
  const holder = walk.visit(holderNode, depth)
  requireKey(walk, field, holder.value, textValue(name.length))
  return { value: BOOL_VALUE, run: (scope) => (holder.run(scope) as CelMap).has(name) }
}

export function indexPart(walk: Walk, node: CelNode, holder: Part, key: Part): Part {
  const value = requireKey(walk, node, holder.value, key.value)
  if (holder.value.kind === 'map') {
    return { value, run: (scope) => entryOf(holder.run(scope) as CelMap, key.run(scope)) }
  }
  return { value, run: (scope) => itemOf(holder.run(scope) as readonly CelValue[], key.run(scope)) }
}

/** What can be read from a list or map with a key of this kind. */
function requireKey(walk: Walk, node: CelNode, holder: AbstractValue, key: AbstractValue): AbstractValue {
  const due = holder.kind === 'list' ? INT_VALUE : holder.key
  if (due === null || holder.of === null) {
    return rejectCondition(`${typeName(holder)} has no fields or items`, node)
  }
  if (!haveSameType(due, key)) {
    rejectCondition(`${typeName(holder)} is read with ${typeName(due)}, not ${typeName(key)}`, node)
  }
  walk.charge(key.chars + ERROR)
  return holder.of
}

function mapOf(entries: readonly (readonly [CelValue, CelValue])[]): CelMap {
  const map = new Map(entries.map(([key, value]) => [mapKey(key), { key, value }]))
  if (map.size < entries.length) throw KEY_TWICE
  return map
}

function entryOf(map: CelMap, key: CelValue): CelValue {
  const entry = map.get(mapKey(key))
  if (entry === undefined) throw NO_KEY
  return entry.value
}

function itemOf(list: readonly CelValue[], index: CelValue): CelValue {
  const item = list[Number(index)]
  if (item === undefined) throw NO_ITEM
  return item
}
