/** Parts of a condition while it is made ready: what is known of their values, how they are had, what they cost. */
import type { AbstractValue } from './abstract-value.js'
import type { CelNode } from './syntax-tree.js'
import type { CelProgram, CelValue } from './value.js'

/** Price of one item looked at, and of an error. Nanoseconds. */
export const ITEM = 40
export const ERROR = 3_000

/** A part of the tree: what is known of its value, and how it is had. */
export interface Part {
  readonly value: AbstractValue
  readonly run: CelProgram
}

/** The walk over the tree, as those see it who make the parts. Both end it when a rule is broken. */
export interface Walk {
  visit(node: CelNode, depth: number): Part
  /** As `visit`, of a part that has to be a bool. */
  bool(node: CelNode, depth: number): Part
  /** Adds to what an evaluation costs. */
  charge(nanoseconds: number): void
}

export function constant(value: AbstractValue, of: CelValue): Part {
  return { value, run: () => of }
}
