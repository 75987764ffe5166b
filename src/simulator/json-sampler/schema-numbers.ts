import type { SeededRandom } from '../random.js'
import { type Obj, ownNumber } from './json-values.js'
import type { SchemaContext } from './schema-context.js'

/** Width of the range where the schema gives one bound only. */
const WIDTH = 100

/** Of trying a few multiples, and then many. */
const STEPS_OF_FEW = 4
const STEPS_OF_MANY = 64

/** A number under the number rules of a flat schema, or null when none can be made. */
export function numberOfSchema(
  schema: Obj,
  integer: boolean,
  random: SeededRandom,
  context: SchemaContext,
): number | null {
  const [low, high] = range(schema)
  const step = ownNumber(schema, 'multipleOf')
  if (step !== null) return multiple(schema, step, low, high, integer, random, context)
  if (integer) return integerBetween(schema, low, high, random)
  return fractionBetween(schema, low, high, random)
}

/** Bounds as they are given, with a range of our own where one is missing. */
function range(schema: Obj): readonly [number, number] {
  const low = greatest(ownNumber(schema, 'minimum'), ownNumber(schema, 'exclusiveMinimum'))
  const high = least(ownNumber(schema, 'maximum'), ownNumber(schema, 'exclusiveMaximum'))
  if (low === null && high === null) return [0, WIDTH]
  if (low === null) return [high! > 0 ? 0 : high! - WIDTH, high!]
  return [low, high ?? Math.max(low + WIDTH, low * 2)]
}

function greatest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b)
}

function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}

function allowed(schema: Obj, value: number): boolean {
  return (
    Number.isFinite(value) &&
    value >= (ownNumber(schema, 'minimum') ?? Number.NEGATIVE_INFINITY) &&
    value <= (ownNumber(schema, 'maximum') ?? Number.POSITIVE_INFINITY) &&
    value > (ownNumber(schema, 'exclusiveMinimum') ?? Number.NEGATIVE_INFINITY) &&
    value < (ownNumber(schema, 'exclusiveMaximum') ?? Number.POSITIVE_INFINITY)
  )
}

function integerBetween(schema: Obj, low: number, high: number, random: SeededRandom): number | null {
  const first = Math.ceil(low)
  const drawn = first + random.nextBelow(Math.max(1, Math.floor(high) - first + 1))
  return firstOf([drawn, first, first + 1, Math.floor(high), Math.floor(high) - 1], (n) => allowed(schema, n))
}

function fractionBetween(schema: Obj, low: number, high: number, random: SeededRandom): number | null {
  const drawn = low + (high - low) * random.nextUnit()
  const candidates = [
    Math.round(drawn * 100) / 100,
    drawn,
    low + (high - low) / 2,
    low / 2 + high / 2,
    low,
    high,
  ]
  return firstOf(candidates, (value) => allowed(schema, value))
}

/** Multiples that are so in floating point too: 0.3 is none of 0.1 there. */
function multiple(
  schema: Obj,
  step: number,
  low: number,
  high: number,
  integer: boolean,
  random: SeededRandom,
  context: SchemaContext,
): number | null {
  if (!(step > 0) || !context.spend(STEPS_OF_FEW)) return null
  const first = Math.ceil(low / step)
  const last = Math.floor(high / step)
  const start = first + random.nextBelow(Math.max(1, Math.min(last - first + 1, 1000)))
  const holds = (value: number) =>
    Number.isInteger(value / step) && (!integer || Number.isInteger(value)) && allowed(schema, value)
  const found = firstOf(multiplesOf(step, [start, first, first + 1, last, last - 1, 0]), holds)
  if (found !== null || !context.spend(STEPS_OF_MANY)) return found
  const more = Array.from({ length: 63 }, (_, i) => [start + 1 + i, first + 1 + i])
  return firstOf(multiplesOf(step, more.flat()), holds)
}

/** Each as it comes out, and without the last digits that floating point adds. */
function multiplesOf(step: number, factors: readonly number[]): readonly number[] {
  return factors.flatMap((factor) => [factor * step, Number((factor * step).toPrecision(12))])
}

/** The first that holds; -0 becomes 0, which is what its text says. */
function firstOf(values: readonly number[], holds: (value: number) => boolean): number | null {
  const found = values.find(holds)
  return found === undefined ? null : found + 0
}
