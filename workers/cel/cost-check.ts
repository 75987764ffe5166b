/**
 * The rules of a condition, checked over its syntax tree: known names and functions, exact types, no macro inside
 * another, nothing the library evaluates otherwise than the language says, and a bounded cost.
 *
 * A thread cannot be interrupted while it evaluates. So the cost is reckoned before: every value carries an upper
 * bound of its size, every step a price, and a comprehension multiplies its body. As macros do not nest, there is
 * one loop variable at most, and the cost of its body grows with the variable's length along a convex curve: two
 * walks, with the empty and the longest text, bound the sum over all items from above.
 */
import {
  type AbstractValue,
  BOOL_VALUE,
  collectionValue,
  DOUBLE_VALUE,
  intValue,
  itemValue,
  joinValues,
  MAX_INT,
  MIN_INT,
  NULL_VALUE,
  requireBounded,
  requireItemType,
  type ScalarType,
  textValue,
  typeName,
  UINT_VALUE,
} from './abstract-value.js'
import { type CelFunctionTable, FUNCTIONS, METHODS, selectOverload } from './functions.js'
import { applyNegation, applyOperator } from './operators.js'
import {
  type BinaryNode,
  type CelNode,
  type MapNode,
  type MethodNode,
  rejectCondition,
  type ValueNode,
} from './syntax-tree.js'

/** What an evaluation may cost by our reckoning, nanoseconds on a warm thread. */
const BUDGET = 3_000_000
/** Price of evaluating one node, of one turn of a comprehension, of one item looked at. Nanoseconds. */
const NODE = 60
const TURN = 120
const ITEM = 40
/** Price of an error: the library draws the line it stands in, from the first character on. Nanoseconds. */
const ERROR = 5000
const ERROR_PER_CHARACTER = 5
/** No condition of use is nested deeper. Left operands do not count: `a || b || c` is flat. */
const MAX_DEPTH = 40
/** Keys that JavaScript treats in its own way; the library drops them in silence. */
const FORBIDDEN_KEYS: ReadonlySet<unknown> = new Set(['__proto__', 'constructor', 'prototype'])
const MACROS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
const NOT_ASCII = /[^\p{ASCII}]/u

/** A subject, an audience or a scope has at most 512 characters, each of two UTF-16 units at most. */
export const CLAIM_CHARS = 1024
export const SCOPES = 16
/** A subject token has at most 16,384 characters: 12,288 bytes, so all its texts together stay below. */
export const TOKEN_CHARS = 12_288

export interface CostEstimate {
  /** Most nanoseconds an evaluation takes, by our reckoning. */
  readonly cost: number
  readonly nodes: number
  /** Set when a construct is right for ASCII texts alone; with other claims the condition is false. */
  readonly asciiOnly: boolean
}

/** The sizes of a token that no rule of the exchange bounds but the size of the token itself. */
export interface TokenSizeLimits {
  readonly audiences: number
  /** UTF-16 units of `token_type`. */
  readonly typeChars: number
}

/**
 * Judges a parsed condition for tokens of up to a size. Throws a `ConditionRejection` that says what is wrong and
 * where. `source` is the text of the tree.
 */
export function estimateCost(tree: CelNode, source: string, size: TokenSizeLimits): CostEstimate {
  return new CostWalk(source, size).estimate(tree)
}

class CostWalk {
  readonly #source: string
  readonly #variables: ReadonlyMap<string, AbstractValue>
  #cost = 0
  #nodes = 0
  #loop: { readonly name: string; readonly value: AbstractValue } | null = null
  #inRange = false
  /** First construct that is right for ASCII alone, and the first text that is not ASCII. */
  #asciiOnlyNode: CelNode | null = null
  #nonAsciiNode: CelNode | null = null

  constructor(source: string, { audiences, typeChars }: TokenSizeLimits) {
    this.#source = source
    this.#variables = new Map([
      ['subject', textValue(CLAIM_CHARS)],
      ['audience', collectionValue('list', 'string', audiences, TOKEN_CHARS, CLAIM_CHARS)],
      ['scopes', collectionValue('list', 'string', SCOPES, SCOPES * CLAIM_CHARS, CLAIM_CHARS)],
      ['token_type', textValue(typeChars)],
    ])
  }

  estimate(tree: CelNode): CostEstimate {
    const value = this.#visit(tree, 0)
    if (value.kind !== 'bool') rejectCondition(`the condition has to be a bool, not ${typeName(value)}`, tree)
    if (this.#cost > BUDGET) rejectCondition('the condition can take too long for a large token', tree)
    if (this.#asciiOnlyNode && this.#nonAsciiNode) {
      const reason = 'a text that is not ASCII cannot be used beside case, trimming, positions or order'
      rejectCondition(reason, this.#nonAsciiNode)
    }
    return { cost: this.#cost, nodes: this.#nodes, asciiOnly: this.#asciiOnlyNode !== null }
  }

  #visit(node: CelNode, depth: number): AbstractValue {
    if (depth > MAX_DEPTH) rejectCondition('the condition is nested too deeply', node)
    this.#nodes++
    this.#cost += NODE
    return requireBounded(this.#valueOf(node, depth + 1), node)
  }

  #valueOf(node: CelNode, depth: number): AbstractValue {
    switch (node.op) {
      case 'value':
        return this.#literal(node)
      case 'id':
        if (this.#loop?.name === node.args) return this.#loop.value
        return this.#variables.get(node.args) ?? rejectCondition(`unknown name: ${node.args}`, node)
      case 'list':
        return node.args.reduce(
          (list, item) => this.#addItem(list, item, depth),
          collectionValue('list', null, node.args.length, 0, 0),
        )
      case 'map':
        return this.#map(node, depth)
      case 'call':
        return this.#call(FUNCTIONS, node.args[0], node, node.args[1], depth)
      case 'rcall':
        if (MACROS.has(node.args[0])) return this.#macro(node, depth)
        return this.#call(METHODS, node.args[0], node, [node.args[1], ...node.args[2]], depth)
      case '.':
        return this.#access(node, this.#visit(node.args[0], depth), textValue(node.args[1].length))
      case '[]':
        return this.#access(node, this.#visit(node.args[0], depth), this.#visit(node.args[1], depth))
      case '||':
      case '&&':
        this.#requireBool(node.args[0], depth - 1)
        return this.#requireBool(node.args[1], depth)
      case '?:':
        return this.#ternary(node.args, depth)
      case '!_':
        return this.#requireBool(node.args, depth)
      case '-_':
        // The least number is the one literal that fits with its sign alone.
        if (node.args.op === 'value' && node.args.args === -MIN_INT) return intValue(MIN_INT, MIN_INT)
        return applyNegation(node, this.#visit(node.args, depth))
      case '.?':
      case '[?]':
        return rejectCondition('optional values are not available in a condition', node)
      default:
        return this.#binary(node, depth)
    }
  }

  #requireBool(node: CelNode, depth: number): AbstractValue {
    const value = this.#visit(node, depth)
    if (value.kind !== 'bool') rejectCondition(`a bool is due here, not ${typeName(value)}`, node)
    return BOOL_VALUE
  }

  #literal(node: ValueNode): AbstractValue {
    const value = node.args
    if (typeof value === 'string') return this.#text(node, value)
    if (typeof value === 'number') return DOUBLE_VALUE
    if (typeof value === 'boolean') return BOOL_VALUE
    if (value === null) return NULL_VALUE
    if (typeof value === 'bigint') {
      if (value > MAX_INT) rejectCondition('the number does not fit into 64 bits', node)
      return intValue(value, value)
    }
    if (value instanceof Uint8Array) rejectCondition('bytes are not available in a condition', node)
    return UINT_VALUE
  }

  /** The library lets a backslash protect a quote in a raw text too; there it has no meaning. */
  #text(node: ValueNode, value: string): AbstractValue {
    const isRaw = this.#source[node.start]?.toLowerCase() === 'r'
    if (isRaw && value.includes(`\\${this.#source[node.start + 1]}`)) {
      rejectCondition('a raw text cannot hold a backslash before its quote', node)
    }
    if (NOT_ASCII.test(value)) this.#nonAsciiNode ??= node
    return textValue(value.length)
  }

  #map(node: MapNode, depth: number): AbstractValue {
    const keys = new Set<string>()
    let map = collectionValue('map', null, node.args.length, 0, 0)
    for (const [key, value] of node.args) {
      const name = this.#key(key, depth)
      if (keys.has(name)) rejectCondition('the key stands in the map already', key)
      keys.add(name)
      map = this.#addItem(map, value, depth, name.length)
      this.#cost += ITEM
    }
    return map
  }

  /** The library keeps a map as an object, so keys of other types, doubles and some names come out wrong. */
  #key(node: CelNode, depth: number): string {
    this.#visit(node, depth)
    if (node.op !== 'value' || typeof node.args !== 'string') {
      return rejectCondition('a key has to be a literal text', node)
    }
    if (FORBIDDEN_KEYS.has(node.args)) rejectCondition('this key is not available in a condition', node)
    return node.args
  }

  /** A list or map with one more item in its sizes; `keyChars` is the length of a map's key. */
  #addItem(collection: AbstractValue, node: CelNode, depth: number, keyChars = 0): AbstractValue {
    const item = this.#visit(node, depth)
    return {
      ...collection,
      of: requireItemType(collection.of, item, node),
      chars: collection.chars + item.chars + keyChars,
      longest: Math.max(collection.longest, item.chars, keyChars),
    }
  }

  #call(
    table: CelFunctionTable,
    name: string,
    node: CelNode,
    operands: readonly CelNode[],
    depth: number,
  ): AbstractValue {
    const overloads = table.get(name)
    if (!overloads) return rejectCondition(`${name}() is not available in a condition`, node)
    const args = operands.map((operand) => this.#visit(operand, depth))
    const overload = selectOverload(overloads, args)
    if (!overload) {
      const types = args.map(typeName).join(', ') || 'nothing'
      return rejectCondition(`${name}() does not take ${types}`, node)
    }
    const last = operands.at(-1)!
    if (overload.separator && !(last.op === 'value' && last.args !== '')) {
      rejectCondition(`${name}() takes a literal text that is not empty`, last)
    }
    this.#cost += overload.cost(args)
    this.#noteRisks(node, overload)
    return overload.gives(args)
  }

  #access(node: CelNode, holder: AbstractValue, key: AbstractValue): AbstractValue {
    const due = holder.kind === 'list' ? 'int' : holder.kind === 'map' ? 'string' : null
    if (due === null || holder.of === null) {
      return rejectCondition(`${typeName(holder)} has no fields or items`, node)
    }
    if (key.kind !== due) {
      rejectCondition(`${typeName(holder)} is read with ${due}, not ${typeName(key)}`, node)
    }
    this.#cost += key.chars
    this.#noteRisks(node, { fails: true })
    return itemValue(holder.of, holder.longest)
  }

  #ternary([test, yes, no]: readonly [CelNode, CelNode, CelNode], depth: number): AbstractValue {
    this.#requireBool(test, depth)
    const [a, b] = [this.#visit(yes, depth), this.#visit(no, depth)]
    const joined = joinValues(a, b)
    return joined ?? rejectCondition(`both branches need one type, not ${typeName(a)} and ${typeName(b)}`, no)
  }

  #binary(node: BinaryNode, depth: number): AbstractValue {
    const left = this.#visit(node.args[0], depth - 1)
    const right = this.#visit(node.args[1], depth)
    this.#cost += left.chars + right.chars + (left.items + right.items) * ITEM
    const result = applyOperator(node, left, right)
    this.#noteRisks(node, result)
    return result.value
  }

  /** An error costs more than most values, and in a macro each turn can make one. */
  #noteRisks(node: CelNode, { fails, ascii }: { readonly fails?: boolean; readonly ascii?: boolean }): void {
    if (fails) this.#cost += ERROR + ERROR_PER_CHARACTER * node.start
    if (ascii) this.#asciiOnlyNode ??= node
  }

  #macro(node: MethodNode, depth: number): AbstractValue {
    const [name, source, [variable, ...bodies]] = node.args
    if (this.#loop || this.#inRange) rejectCondition(`${name}() cannot stand inside another macro`, node)
    if (variable?.op !== 'id' || (bodies.length !== 1 && !(name === 'map' && bodies.length === 2))) {
      return rejectCondition(`${name}() takes a variable and an expression`, node)
    }
    this.#inRange = true
    const range = this.#visit(source, depth)
    this.#inRange = false
    const of = range.kind === 'list' ? range.of : range.kind === 'map' ? 'string' : null
    if (of === null)
      return rejectCondition(`${name}() runs over lists and maps, not ${typeName(range)}`, node)
    const made = this.#repeat(range, (longest) => {
      this.#loop = { name: variable.args, value: itemValue(of, longest) }
      return this.#macroBody(name, bodies, depth)
    })
    this.#loop = null
    if (name === 'filter') return collectionValue('list', of, range.items, range.chars, range.longest)
    return name === 'map' ? made : BOOL_VALUE
  }

  /** Tests are bool; the last expression of `map` is what it makes. */
  #macroBody(name: string, bodies: readonly CelNode[], depth: number): AbstractValue {
    for (const test of name === 'map' ? bodies.slice(0, -1) : bodies) this.#requireBool(test, depth)
    if (name !== 'map') return BOOL_VALUE
    const last = bodies.at(-1)!
    const value = this.#visit(last, depth)
    requireItemType(null, value, last)
    return value
  }

  /** Adds the price of all turns, and tells the list that their results make. */
  #repeat({ items, chars, longest }: AbstractValue, body: (longest: number) => AbstractValue): AbstractValue {
    const before = this.#cost
    const shortest = body(0)
    const least = this.#cost - before
    this.#cost = before
    const largest = body(longest)
    const most = this.#cost - before
    const share = longest === 0 ? 0 : chars / longest
    this.#cost = before + items * (TURN + least) + share * (most - least)
    const made = items * shortest.chars + share * (largest.chars - shortest.chars)
    return collectionValue('list', largest.kind as ScalarType, items, made, largest.chars)
  }
}
