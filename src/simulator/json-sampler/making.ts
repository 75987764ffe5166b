import type { SeededRandom } from '../random.js'
import type { SchemaContext } from './schema-context.js'

/** No value could be made; the reason is kept in the maker. */
export const NONE = Symbol('none')

/** Levels of values below which nothing optional is made, so that recursive schemas end. */
export const ROOMY = 4

/** What the makers of objects and arrays need of the one that makes values of any schema. */
export interface Making {
  readonly random: SeededRandom
  readonly context: SchemaContext
  /** Leave out whatever may be left out. */
  readonly sparse: boolean
  /** A value, or `NONE`. `depth` counts the levels of values above. */
  make(schema: unknown, place: string, depth: number): unknown
  /** Keeps the first reason. */
  none(reason: string): typeof NONE
}
