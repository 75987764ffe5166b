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
  BOOL,
  bounded,
  DOUBLE,
  either,
  type Facts,
  int,
  item,
  list,
  MAX_INT,
  MIN_INT,
  map,
  NULL,
  type Scalar,
  text,
  typeName,
  UINT,
} from './cel-facts.js'
import { FUNCTIONS, METHODS, overload } from './cel-functions.js'
import { negation, operation } from './cel-operators.js'
import {
  type BinaryNode,
  type CelNode,
  type ListNode,
  type MapNode,
  type MethodNode,
  Refused,
  refuse,
  type ValueNode,
} from './cel-tree.js'

/** What an evaluation may cost by our reckoning, nanoseconds on a warm thread. */
const BUDGET = 3_000_000
/** Price of evaluating one node, of one turn of a comprehension, of one item looked at. Nanoseconds. */
const NODE = 60
const TURN = 120
const ITEM = 40
/** Price of an error: the library draws the line it stands in, from the first character on. Nanoseconds. */
const ERROR = 5000
const ERROR_PER_CHARACTER = 5
/** Deeper than this nobody reads. Left operands do not count: `a || b || c` is flat. */
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

export interface Judgement {
  /** Most nanoseconds an evaluation takes, by our reckoning. */
  readonly cost: number
  readonly nodes: number
  /** Set when a construct is right for ASCII texts alone; with other claims the condition is false. */
  readonly asciiOnly: boolean
}

/** The sizes of a token that no rule of the exchange bounds but the size of the token itself. */
export interface TokenSize {
  readonly audiences: number
  /** UTF-16 units of `token_type`. */
  readonly typeChars: number
}

/**
 * Judges a parsed condition for tokens of up to a size; a `Refused` says what is wrong and where. `source` is the
 * text of the tree.
 */
export function judge(tree: CelNode, source: string, size: TokenSize): Judgement | Refused {
  try {
    return new Walk(source, size).judge(tree)
  } catch (error) {
    if (error instanceof Refused) return error
    throw error
  }
}

class Walk {
  readonly #source: string
  readonly #variables: ReadonlyMap<string, Facts>
  #cost = 0
  #nodes = 0
  #loop: { readonly name: string; readonly facts: Facts } | null = null
  #inRange = false
  /** First construct that is right for ASCII alone, and the first text that is not ASCII. */
  #asciiAlone: CelNode | null = null
  #notAscii: CelNode | null = null

  constructor(source: string, { audiences, typeChars }: TokenSize) {
    this.#source = source
    this.#variables = new Map([
      ['subject', text(CLAIM_CHARS)],
      ['audience', list('string', audiences, TOKEN_CHARS, CLAIM_CHARS)],
      ['scopes', list('string', SCOPES, SCOPES * CLAIM_CHARS, CLAIM_CHARS)],
      ['token_type', text(typeChars)],
    ])
  }

  judge(tree: CelNode): Judgement {
    const facts = this.#walk(tree, 0)
    if (facts.kind !== 'bool') refuse(`the condition has to be a bool, not ${typeName(facts)}`, tree)
    if (this.#cost > BUDGET) refuse('the condition can take too long for a large token', tree)
    if (this.#asciiAlone && this.#notAscii) {
      refuse(
        'a text that is not ASCII cannot be used beside case, trimming, positions or order',
        this.#notAscii,
      )
    }
    return { cost: this.#cost, nodes: this.#nodes, asciiOnly: this.#asciiAlone !== null }
  }

  #walk(node: CelNode, depth: number): Facts {
    if (depth > MAX_DEPTH) refuse('the condition is nested too deeply', node)
    this.#nodes++
    this.#cost += NODE
    return bounded(this.#factsOf(node, depth + 1), node)
  }

  #factsOf(node: CelNode, depth: number): Facts {
    switch (node.op) {
      case 'value':
        return this.#literal(node)
      case 'id':
        return this.#name(node.args) ?? refuse(`unknown name: ${node.args}`, node)
      case 'list':
        return this.#list(node, depth)
      case 'map':
        return this.#map(node, depth)
      case 'call':
        return this.#call(FUNCTIONS, node.args[0], node, node.args[1], depth)
      case 'rcall':
        if (MACROS.has(node.args[0])) return this.#macro(node, depth)
        return this.#call(METHODS, node.args[0], node, [node.args[1], ...node.args[2]], depth)
      case '.':
        return this.#entry(node, this.#walk(node.args[0], depth), text(node.args[1].length))
      case '[]':
        return this.#entry(node, this.#walk(node.args[0], depth), this.#walk(node.args[1], depth))
      case '||':
      case '&&':
        this.#bool(node.args[0], depth - 1)
        this.#bool(node.args[1], depth)
        return BOOL
      case '?:':
        return this.#ternary(node.args, depth)
      case '!_':
        this.#bool(node.args, depth)
        return BOOL
      case '-_':
        return this.#negative(node, node.args, depth)
      case '.?':
      case '[?]':
        return refuse('optional values are not available in a condition', node)
      default:
        return this.#binary(node, depth)
    }
  }

  #name(name: string): Facts | undefined {
    return this.#loop?.name === name ? this.#loop.facts : this.#variables.get(name)
  }

  #bool(node: CelNode, depth: number): void {
    const facts = this.#walk(node, depth)
    if (facts.kind !== 'bool') refuse(`a bool is due here, not ${typeName(facts)}`, node)
  }

  #literal(node: ValueNode): Facts {
    const value = node.args
    switch (typeof value) {
      case 'string':
        return this.#text(node, value)
      case 'bigint':
        if (value > MAX_INT) refuse('the number does not fit into 64 bits', node)
        return int(value, value)
      case 'number':
        return DOUBLE
      case 'boolean':
        return BOOL
    }
    if (value === null) return NULL
    if (value instanceof Uint8Array) refuse('bytes are not available in a condition', node)
    return UINT
  }

  /** The library lets a backslash protect a quote in a raw text too; there it has no meaning. */
  #text(node: ValueNode, value: string): Facts {
    const prefix = this.#source[node.start]
    const raw = prefix === 'r' || prefix === 'R'
    if (raw && value.includes(`\\${this.#source[node.start + 1]}`)) {
      refuse('a raw text cannot hold a backslash before its quote', node)
    }
    if (NOT_ASCII.test(value)) this.#notAscii ??= node
    return text(value.length)
  }

  #list(node: ListNode, depth: number): Facts {
    let of: Scalar | null = null
    let chars = 0
    let longest = 0
    for (const part of node.args) {
      const facts = this.#walk(part, depth)
      of = this.#oneOf(of, facts, part)
      chars += facts.chars
      longest = Math.max(longest, facts.chars)
    }
    return list(of, node.args.length, chars, longest)
  }

  #oneOf(of: Scalar | null, { kind, ...rest }: Facts, node: CelNode): Scalar {
    if (kind === 'list' || kind === 'map') refuse('a list or a map cannot stand inside another', node)
    if (of !== null && of !== kind) {
      refuse(`${typeName({ kind, ...rest })} cannot stand in one list or map with ${of}`, node)
    }
    return kind
  }

  #map(node: MapNode, depth: number): Facts {
    const keys = new Set<unknown>()
    let of: Scalar | null = null
    let chars = 0
    let longest = 0
    for (const [key, value] of node.args) {
      const name = this.#key(key, depth)
      if (keys.has(name)) refuse('the key stands in the map already', key)
      keys.add(name)
      const facts = this.#walk(value, depth)
      of = this.#oneOf(of, facts, value)
      this.#cost += ITEM
      chars += facts.chars + name.length
      longest = Math.max(longest, facts.chars, name.length)
    }
    return map(of, node.args.length, chars, longest)
  }

  /** The library keeps a map as an object, so keys of other types, doubles and some names come out wrong. */
  #key(node: CelNode, depth: number): string {
    this.#walk(node, depth)
    if (node.op !== 'value' || typeof node.args !== 'string')
      return refuse('a key has to be a literal text', node)
    if (FORBIDDEN_KEYS.has(node.args)) refuse('this key is not available in a condition', node)
    return node.args
  }

  #call(
    table: typeof METHODS,
    name: string,
    node: CelNode,
    operands: readonly CelNode[],
    depth: number,
  ): Facts {
    const choices = table.get(name)
    if (!choices) return refuse(`${name}() is not available in a condition`, node)
    const args = operands.map((operand) => this.#walk(operand, depth))
    const choice = overload(choices, args)
    if (!choice) return refuse(`${name}() does not take ${args.map(typeName).join(', ') || 'nothing'}`, node)
    const last = operands.at(-1)!
    if (choice.separator && !(last.op === 'value' && last.args !== '')) {
      refuse(`${name}() takes a literal text that is not empty`, last)
    }
    if (choice.ascii) this.#asciiAlone ??= node
    this.#cost += choice.price(args)
    if (choice.fails) this.#mayFail(node)
    return choice.gives(args)
  }

  #entry(node: CelNode, holder: Facts, key: Facts): Facts {
    const due = holder.kind === 'list' ? 'int' : holder.kind === 'map' ? 'string' : null
    if (due === null || holder.of === null) return refuse(`${typeName(holder)} has no fields or items`, node)
    if (key.kind !== due) refuse(`${typeName(holder)} is read with ${due}, not ${typeName(key)}`, node)
    this.#cost += key.chars
    this.#mayFail(node)
    return item(holder.of, holder.longest)
  }

  #ternary([test, yes, no]: readonly [CelNode, CelNode, CelNode], depth: number): Facts {
    this.#bool(test, depth)
    const [a, b] = [this.#walk(yes, depth), this.#walk(no, depth)]
    return either(a, b) ?? refuse(`both branches need one type, not ${typeName(a)} and ${typeName(b)}`, no)
  }

  /** The least number is the one literal that fits with its sign alone. */
  #negative(node: CelNode, operand: CelNode, depth: number): Facts {
    if (operand.op === 'value' && operand.args === -MIN_INT) return int(MIN_INT, MIN_INT)
    return negation(node, this.#walk(operand, depth))
  }

  #binary(node: BinaryNode, depth: number): Facts {
    const left = this.#walk(node.args[0], depth - 1)
    const right = this.#walk(node.args[1], depth)
    this.#cost += left.chars + right.chars + (left.items + right.items) * ITEM
    const { facts, fails, ascii } = operation(node, left, right)
    if (fails) this.#mayFail(node)
    if (ascii) this.#asciiAlone ??= node
    return facts
  }

  /** An error costs more than most values, and in a macro each turn can make one. */
  #mayFail(node: CelNode): void {
    this.#cost += ERROR + ERROR_PER_CHARACTER * node.start
  }

  #macro(node: MethodNode, depth: number): Facts {
    const [name, source, args] = node.args
    if (this.#loop || this.#inRange) refuse(`${name}() cannot stand inside another macro`, node)
    const [variable, ...bodies] = args
    if (variable?.op !== 'id' || bodies.length !== (name === 'map' && args.length === 3 ? 2 : 1)) {
      return refuse(`${name}() takes a variable and an expression`, node)
    }
    this.#inRange = true
    const range = this.#walk(source, depth)
    this.#inRange = false
    const of = range.kind === 'list' ? range.of : range.kind === 'map' ? 'string' : null
    if (of === null) return refuse(`${name}() runs over lists and maps, not ${typeName(range)}`, node)
    const result = this.#turns(range, (longest) => {
      this.#loop = { name: variable.args, facts: item(of, longest) }
      return this.#body(name, bodies, depth)
    })
    this.#loop = null
    if (name === 'filter') return list(of, range.items, range.chars, range.longest)
    return name === 'map' ? result : BOOL
  }

  /** The body of a macro: tests are bool, the last expression of `map` is what it makes. */
  #body(name: string, bodies: readonly CelNode[], depth: number): Facts {
    for (const test of name === 'map' ? bodies.slice(0, -1) : bodies) this.#bool(test, depth)
    if (name !== 'map') return BOOL
    const last = bodies.at(-1)!
    const facts = this.#walk(last, depth)
    this.#oneOf(null, facts, last)
    return facts
  }

  /** Adds the price of all turns, and tells the list that their results make. */
  #turns({ items, chars, longest }: Facts, body: (longest: number) => Facts): Facts {
    const before = this.#cost
    const shortest = body(0)
    const least = this.#cost - before
    this.#cost = before
    const largest = body(longest)
    const most = this.#cost - before
    const share = longest === 0 ? 0 : chars / longest
    this.#cost = before + items * (TURN + least) + share * (most - least)
    const made = items * shortest.chars + share * (largest.chars - shortest.chars)
    return list(largest.kind as Scalar, items, made, largest.chars)
  }
}
