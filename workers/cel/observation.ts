/** What the parts of a condition come to, looked at one by one and each evaluated once for the same claims. */
import type { ConditionClaims } from '../tasks.js'
import { typeName } from './abstract-value.js'
import type { PartObserver } from './compile.js'
import type { Part } from './part.js'
import type { CelNode } from './syntax-tree.js'
import { CelError, type CelScope, type CelValue } from './value.js'

/** A value, or the code of the error that stands in its place. */
export type Evaluated =
  | { readonly value: CelValue; readonly error: null }
  | { readonly value: undefined; readonly error: CelError }

interface Memory {
  readonly known: Map<CelNode, Evaluated>
  /** The item of the macro is set and stays. */
  readonly isTurn: boolean
}

/**
 * Without the memory, to look at every part of a tree would run each as often as it is nested deep. A macro moves the
 * item of its scope on, so parts of its body are remembered only in scopes that stand at one item.
 */
export class Observation {
  readonly #parts = new Map<CelNode, Part>()
  readonly #memories = new WeakMap<CelScope, Memory>()

  readonly observe: PartObserver = (node, part, isInLoop) => {
    const run = (scope: CelScope): CelValue => {
      const memory = this.#memories.get(scope)
      if (memory === undefined || (isInLoop && !memory.isTurn)) return part.run(scope)
      let evaluated = memory.known.get(node)
      if (evaluated === undefined) {
        evaluated = evaluate(part, scope)
        memory.known.set(node, evaluated)
      }
      if (evaluated.error !== null) throw evaluated.error
      return evaluated.value
    }
    const observed = { value: part.value, run }
    this.#parts.set(node, observed)
    return observed
  }

  /** A scope for these claims; with an item, one for the body of a macro. */
  scopeOf({ subject, audience, scopes, token_type }: ConditionClaims, item?: CelValue): CelScope {
    const scope: CelScope = { subject, audience, scopes, token_type, item: item ?? null }
    this.#memories.set(scope, { known: new Map(), isTurn: item !== undefined })
    return scope
  }

  /** Whether the node is a part with a value of its own: names of variables of macros are none. */
  has(node: CelNode): boolean {
    return this.#parts.has(node)
  }

  typeOf(node: CelNode): string {
    return typeName(this.#parts.get(node)!.value)
  }

  valueOf(node: CelNode, scope: CelScope): Evaluated {
    return evaluate(this.#parts.get(node)!, scope)
  }
}

function evaluate(part: Part, scope: CelScope): Evaluated {
  try {
    return { value: part.run(scope), error: null }
  } catch (error) {
    if (error instanceof CelError) return { value: undefined, error }
    throw error
  }
}
