/**
 * Makes a parsed condition ready to run, and reckons what that can cost: known names and functions, exact types, no
 * macro inside another, and a bounded price.
 *
 * A thread cannot be interrupted while it evaluates. So the cost is reckoned before: every value carries an upper
 * bound of its size, every step a price, and a comprehension multiplies its body. As macros do not nest, there is
 * one loop variable at most, and the cost of its body grows with the variable's length along a convex curve: two
 * walks, with the empty and the longest text, bound the sum over all items from above.
 */
import {
  type AbstractValue,
  BOOL_VALUE,
  bytesValue,
  DOUBLE_VALUE,
  emptiest,
  INT_VALUE,
  joinValues,
  listValue,
  NULL_VALUE,
  requireBounded,
  TYPE_VALUE,
  textValue,
  typeName,
  UINT_VALUE,
} from './abstract-value.js'
import { callPart, selectPart, TYPES, typePart } from './calls.js'
import { hasPart, indexPart, listPart, mapPart } from './collections.js'
import { FUNCTIONS, METHODS } from './functions.js'
import { decide, ITERATIONS } from './macros.js'
import { applyNegation, applyOperator } from './operators.js'
import { constant, ERROR, ITEM, type Part, type Walk } from './part.js'
import {
  type BinaryNode,
  type CelNode,
  type MethodNode,
  rejectCondition,
  type ValueNode,
} from './syntax-tree.js'
import { type CelProgram, MAX_INT, MIN_INT, uintOf } from './value.js'

/** What an evaluation may cost by our reckoning, nanoseconds on a warm thread. */
const BUDGET = 3_000_000
/** Price of evaluating one node, and of one turn of a comprehension. Nanoseconds. */
const NODE = 60
const TURN = 120
/** No condition of use is nested deeper. Left operands do not count: `a || b || c` is flat. */
const MAX_DEPTH = 40

/** A subject, an audience or a scope has at most 512 characters, each of two UTF-16 units at most. */
export const CLAIM_CHARS = 1024
export const SCOPES = 16
/** A subject token has at most 16,384 characters: 12,288 bytes, so all its texts together stay below. */
export const TOKEN_CHARS = 12_288

export interface CompiledTree {
  /** Most nanoseconds an evaluation takes, by our reckoning. */
  readonly cost: number
  readonly nodes: number
  /** Throws a `CelError` where the condition has no value. */
  readonly run: CelProgram
}

/** The sizes of a token that no rule of the exchange bounds but the size of the token itself. */
export interface TokenSizeLimits {
  readonly audiences: number
  /** UTF-16 units of `token_type`. */
  readonly typeChars: number
}

/**
 * A parsed condition, judged for tokens of up to a size. Throws a `ConditionRejection` that says what is wrong and
 * where. `source` is the text of the tree.
 */
export function compileTree(
  tree: CelNode,
  source: string,
  size: TokenSizeLimits,
  observe?: PartObserver,
): CompiledTree {
  return new Compilation(source, size, observe).compile(tree)
}

/**
 * Sees each part when it is ready, and gives the one to run in its place. A body of a macro is made ready twice: the
 * later part counts. `isInLoop`: it is a part of such a body.
 */
export type PartObserver = (node: CelNode, part: Part, isInLoop: boolean) => Part

type VariableName = 'subject' | 'audience' | 'scopes' | 'token_type'

class Compilation implements Walk {
  readonly #source: string
  readonly #observe: PartObserver | undefined
  readonly #variables: ReadonlyMap<string, Part>
  #cost = 0
  #nodes = 0
  #loop: { readonly name: string; readonly value: AbstractValue } | null = null
  #inRange = false

  constructor(source: string, { audiences, typeChars }: TokenSizeLimits, observe?: PartObserver) {
    this.#source = source
    this.#observe = observe
    const claim = textValue(CLAIM_CHARS)
    const variable = (name: VariableName, value: AbstractValue): [string, Part] => [
      name,
      { value, run: (scope) => scope[name] },
    ]
    this.#variables = new Map([
      variable('subject', claim),
      variable('audience', listValue(claim, audiences, TOKEN_CHARS)),
      variable('scopes', listValue(claim, SCOPES, SCOPES * CLAIM_CHARS)),
      variable('token_type', textValue(typeChars)),
    ])
  }

  compile(tree: CelNode): CompiledTree {
    const { value, run } = this.visit(tree, 0)
    if (value.kind !== 'bool') rejectCondition(`the condition has to be a bool, not ${typeName(value)}`, tree)
    if (this.#cost > BUDGET) rejectCondition('the condition can take too long for a large token', tree)
    return { cost: this.#cost, nodes: this.#nodes, run }
  }

  visit(node: CelNode, depth: number): Part {
    if (depth > MAX_DEPTH) rejectCondition('the condition is nested too deeply', node)
    this.#nodes++
    this.#cost += NODE
    const part = this.#partOf(node, depth + 1)
    requireBounded(part.value, node)
    return this.#observe?.(node, part, this.#loop !== null) ?? part
  }

  charge(nanoseconds: number): void {
    this.#cost += nanoseconds
  }

  #partOf(node: CelNode, depth: number): Part {
    switch (node.op) {
      case 'value':
        return this.#literal(node, node.args)
      case 'id':
        return this.#name(node, node.args)
      case 'list':
        return listPart(this, node.args, depth)
      case 'map':
        return mapPart(this, node, depth)
      case 'call':
        if (node.args[0] === 'has') return hasPart(this, node, node.args[1], depth)
        if (node.args[0] === 'type') return typePart(this, node, node.args[1], depth)
        return callPart(this, FUNCTIONS, node.args[0], node, node.args[1], depth)
      case 'rcall':
        if (ITERATIONS.has(node.args[0])) return this.#macro(node, depth)
        return callPart(this, METHODS, node.args[0], node, [node.args[1], ...node.args[2]], depth)
      case '.':
        return selectPart(this, node, node.args, depth)
      case '[]':
        return indexPart(this, node, this.visit(node.args[0], depth), this.visit(node.args[1], depth))
      case '||':
      case '&&':
        return this.#logic(node.op, node.args, depth)
      case '?:':
        return this.#ternary(node.args, depth)
      case '!_': {
        const { run } = this.bool(node.args, depth)
        return { value: BOOL_VALUE, run: (scope) => !run(scope) }
      }
      case '-_':
        return this.#negation(node, node.args, depth)
      case '.?':
      case '[?]':
        return rejectCondition('optional values are not available in a condition', node)
      default:
        return this.#binary(node, depth)
    }
  }

  bool(node: CelNode, depth: number): Part {
    const part = this.visit(node, depth)
    if (part.value.kind !== 'bool') {
      rejectCondition(`a bool is due here, not ${typeName(part.value)}`, node)
    }
    return part
  }

  #literal(node: ValueNode, value: ValueNode['args']): Part {
    if (typeof value === 'string') return this.#text(node, value)
    if (typeof value === 'bigint') {
      if (value > MAX_INT) rejectCondition('the number does not fit into 64 bits', node)
      return constant(INT_VALUE, value)
    }
    if (typeof value === 'number') return constant(DOUBLE_VALUE, value)
    if (typeof value === 'boolean') return constant(BOOL_VALUE, value)
    if (value === null) return constant(NULL_VALUE, value)
    if (value instanceof Uint8Array) return constant(bytesValue(value.length), value)
    return constant(UINT_VALUE, uintOf(value.valueOf() as bigint))
  }

  /** The library lets a backslash protect a quote in a raw text too; there it has no meaning. */
  #text(node: ValueNode, value: string): Part {
    const isRaw = this.#source[node.start]?.toLowerCase() === 'r'
    if (isRaw && value.includes(`\\${this.#source[node.start + 1]}`)) {
      rejectCondition('a raw text cannot hold a backslash before its quote', node)
    }
    return constant(textValue(value.length), value)
  }

  #name(node: CelNode, name: string): Part {
    if (this.#loop?.name === name) return { value: this.#loop.value, run: ({ item }) => item }
    const type = TYPES.get(name)
    const part = this.#variables.get(name) ?? (type && constant(TYPE_VALUE, type))
    return part ?? rejectCondition(`unknown name: ${name}`, node)
  }

  /**
   * An operand that errs does not count where another decides. A chain is one part: through nested ones an error
   * would be thrown anew for each operand behind it, at a price nobody has reckoned.
   */
  #logic(op: '||' | '&&', [left, right]: readonly [CelNode, CelNode], depth: number): Part {
    const behind = [right]
    let first = left
    while (first.op === op) {
      behind.unshift(first.args[1])
      first = first.args[0]
    }
    const operands = [this.bool(first, depth - 1), ...behind.map((node) => this.bool(node, depth))]
    const run: CelProgram = (scope) => decide(operands, op === '||', (operand) => operand.run(scope))
    return { value: BOOL_VALUE, run }
  }

  #ternary([test, yes, no]: readonly [CelNode, CelNode, CelNode], depth: number): Part {
    const { run } = this.bool(test, depth)
    const [a, b] = [this.visit(yes, depth), this.visit(no, depth)]
    const value = joinValues(a.value, b.value)
    if (value === null) {
      const types = `${typeName(a.value)} and ${typeName(b.value)}`
      return rejectCondition(`both branches need one type, not ${types}`, no)
    }
    return { value, run: (scope) => (run(scope) === true ? a.run(scope) : b.run(scope)) }
  }

  #negation(node: CelNode, operand: CelNode, depth: number): Part {
    // The least number is the one literal that fits with its sign alone.
    if (operand.op === 'value' && operand.args === -MIN_INT) return constant(INT_VALUE, MIN_INT)
    const part = this.visit(operand, depth)
    const { value, run } = applyNegation(node, part.value)
    this.#cost += ERROR
    return { value, run: (scope) => run(part.run(scope)) }
  }

  #binary(node: BinaryNode, depth: number): Part {
    const left = this.visit(node.args[0], depth - 1)
    const right = this.visit(node.args[1], depth)
    const { value, run, fails } = applyOperator(node, left.value, right.value)
    const [a, b] = [left.value, right.value]
    this.#cost += a.chars + b.chars + (a.parts + b.parts) * ITEM + (fails === true ? ERROR : 0)
    return { value, run: (scope) => run(left.run(scope), right.run(scope)) }
  }

  #macro(node: MethodNode, depth: number): Part {
    const [name, source, [variable, ...bodies]] = node.args
    if (this.#loop || this.#inRange) rejectCondition(`${name}() cannot stand inside another macro`, node)
    if (variable?.op !== 'id' || (bodies.length !== 1 && !(name === 'map' && bodies.length === 2))) {
      return rejectCondition(`${name}() takes a variable and an expression`, node)
    }
    this.#inRange = true
    const range = this.visit(source, depth)
    this.#inRange = false
    const item = range.value.kind === 'list' ? range.value.of : range.value.key
    if (item === null) {
      return rejectCondition(`${name}() runs over lists and maps, not ${typeName(range.value)}`, node)
    }
    const { made, runs } = this.#repeat(range.value, item, (value) => {
      this.#loop = { name: variable.args, value }
      return this.#macroBody(name, bodies, depth)
    })
    this.#loop = null
    const run = ITERATIONS.get(name)!(range.run, runs)
    if (name === 'map') return { value: made, run }
    if (name !== 'filter') return { value: BOOL_VALUE, run }
    const { items, parts, chars } = range.value
    return { value: { kind: 'list', key: null, of: item, items, parts, chars }, run }
  }

  /** Tests are bool; the last expression of `map` is what it makes. */
  #macroBody(name: string, bodies: readonly CelNode[], depth: number): readonly Part[] {
    return bodies.map((body, at) =>
      name === 'map' && at === bodies.length - 1 ? this.visit(body, depth) : this.bool(body, depth),
    )
  }

  /** Adds the price of all turns, and tells the list that their results make. */
  #repeat(
    { items, chars }: AbstractValue,
    item: AbstractValue,
    body: (item: AbstractValue) => readonly Part[],
  ): { readonly made: AbstractValue; readonly runs: readonly CelProgram[] } {
    const before = this.#cost
    const shortest = body(emptiest(item)).at(-1)!.value
    const least = this.#cost - before
    this.#cost = before
    const parts = body(item)
    const largest = parts.at(-1)!.value
    const most = this.#cost - before
    // So many of the longest texts there can be at once; other items are all taken for the largest.
    const share = emptiest(item) === item ? items : Math.min(items, chars / Math.max(1, item.chars))
    this.#cost = before + items * (TURN + least) + share * (most - least)
    const made = items * shortest.chars + share * (largest.chars - shortest.chars)
    return { made: listValue(largest, items, made), runs: parts.map(({ run }) => run) }
  }
}
