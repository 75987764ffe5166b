/** The tree of a condition with what every part came to, for the admin who asks why it is not met. */
import type { ConditionPart, ConditionPartKind } from '../tasks.js'
import { ITERATIONS } from './macros.js'
import type { Observation } from './observation.js'
import { renderValue, shorten } from './rendering.js'
import type { CelNode, MethodNode } from './syntax-tree.js'
import type { CelScope, CelValue } from './value.js'

/** Most parts of a tree that is shown. */
const MAX_SHOWN_PARTS = 300
/** Items of a range whose turn is shown with all its parts. */
const MAX_TURNS = 4

/** @param textOf a part as the language writes it */
export function explainTree(
  tree: CelNode,
  observation: Observation,
  scope: CelScope,
  textOf: (node: CelNode) => string,
): ConditionPart {
  return new Explanation(observation, textOf).explain(tree, scope)
}

class Explanation {
  #left = MAX_SHOWN_PARTS

  constructor(
    private readonly observation: Observation,
    private readonly textOf: (node: CelNode) => string,
  ) {}

  explain(node: CelNode, scope: CelScope): ConditionPart {
    return this.#part(node, scope, kindOf(node), this.textOf(node), () => {
      const parts = operandsOf(node).filter((each) => this.observation.has(each))
      const shown = this.#someOf(parts, (each) => this.explain(each, scope))
      const turns = isMacro(node) ? this.#turns(node, scope) : []
      return { children: [...shown, ...turns], isCut: shown.length < parts.length }
    })
  }

  /** Each turn of a macro: the body for one item. */
  #turns(node: MethodNode, scope: CelScope): readonly ConditionPart[] {
    const [, range, [variable, body]] = node.args
    const items = itemsIn(this.observation.valueOf(range, scope).value)
    const name = variable!.args as string
    return this.#someOf(items.slice(0, MAX_TURNS), (item) => {
      const turn = this.observation.scopeOf(scope, item)
      const text = `${name} = ${renderValue(item).text}`
      return this.#part(body!, turn, 'turn', text, () => ({
        children: this.#someOf([body!], (each) => this.explain(each, turn)),
        isCut: false,
      }))
    })
  }

  #someOf<T>(all: readonly T[], explain: (one: T) => ConditionPart): readonly ConditionPart[] {
    const shown: ConditionPart[] = []
    for (const one of all) if (this.#left > 0) shown.push(explain(one))
    return shown
  }

  #part(
    node: CelNode,
    scope: CelScope,
    kind: ConditionPartKind,
    text: string,
    inside: () => { readonly children: readonly ConditionPart[]; readonly isCut: boolean },
  ): ConditionPart {
    this.#left--
    const { value, error } = this.observation.valueOf(node, scope)
    const shown = error === null ? renderValue(value as CelValue) : null
    const written = shorten(text)
    const { children, isCut } = inside()
    return {
      text: written.text,
      kind,
      type: this.observation.typeOf(node),
      value: shown?.text ?? null,
      error: error?.code ?? null,
      shortened: written.shortened || shown?.shortened === true || isCut,
      children,
    }
  }
}

export function isMacro(node: CelNode): node is MethodNode {
  return node.op === 'rcall' && ITERATIONS.has(node.args[0])
}

/** Items of a list; none of what is no list. */
export function itemsIn(value: CelValue | undefined): readonly CelValue[] {
  return Array.isArray(value) ? (value as readonly CelValue[]) : []
}

/** `a && b && c` is one part with three operands, however it is nested. */
export function operandsOfChain(node: CelNode, op: '&&' | '||'): readonly CelNode[] {
  const behind: CelNode[] = []
  let first = node
  while (first.op === op) {
    behind.unshift(first.args[1])
    first = first.args[0]
  }
  return [first, ...behind]
}

function operandsOf(node: CelNode): readonly CelNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return []
    case '&&':
    case '||':
      return operandsOfChain(node, node.op)
    case 'call':
      return node.args[0] === 'has' ? node.args[1].flatMap(operandsOf) : node.args[1]
    case 'rcall':
      return ITERATIONS.has(node.args[0]) ? [node.args[1]] : [node.args[1], ...node.args[2]]
    case 'map':
      return node.args.flat()
    case '!_':
    case '-_':
      return [node.args]
    case '.':
    case '.?':
      return [node.args[0]]
    default:
      return node.args
  }
}

const KINDS: Readonly<Partial<Record<CelNode['op'], ConditionPartKind>>> = {
  value: 'literal',
  id: 'name',
  list: 'list',
  map: 'map',
  '.': 'entry',
  '[]': 'entry',
  '&&': 'and',
  '||': 'or',
  '!_': 'not',
  '?:': 'choice',
  in: 'membership',
  call: 'call',
}
const COMPARISONS: readonly string[] = ['==', '!=', '<', '<=', '>', '>=']

function kindOf(node: CelNode): ConditionPartKind {
  if (node.op === 'rcall') return isMacro(node) ? 'macro' : 'call'
  return KINDS[node.op] ?? (COMPARISONS.includes(node.op) ? 'comparison' : 'arithmetic')
}
