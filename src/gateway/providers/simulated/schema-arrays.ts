import { isObject, type Obj, own, ownList, ownNumber, sameJson } from './json-values.js'
import { type Making, NONE, ROOMY } from './making.js'
import { both } from './schema-merge.js'

/** Draws of one item that has to differ from those before it. */
const DRAWS = 24

/** An array under the array rules of a flat schema, or `NONE`. */
export function arrayOfSchema(flat: Obj, place: string, depth: number, maker: Making): unknown {
  const prefix = ownList(flat, 'prefixItems') ?? []
  const contained = Object.hasOwn(flat, 'contains') ? (ownNumber(flat, 'minContains') ?? 1) : 0
  const length = lengthOf(flat, prefix.length, contained, depth, maker)
  const items = own(flat, 'items') ?? true
  const value: unknown[] = []
  for (let i = 0; i < length; i++) {
    const rule = i < prefix.length ? prefix[i] : items
    // What has to be contained comes behind the prefix, whose places have rules of their own.
    const contains = i >= prefix.length && i < prefix.length + contained
    const where = i < prefix.length ? `${place}/prefixItems/${i}` : `${place}/items`
    const made = itemOf(contains ? both(rule, flat.contains) : rule, flat, value, where, depth, maker)
    if (made !== NONE) value.push(made)
    else if (i < (ownNumber(flat, 'minItems') ?? 0) || contains) return NONE
    else break
  }
  return value
}

function lengthOf(flat: Obj, prefix: number, contained: number, depth: number, maker: Making): number {
  const roomy = !maker.sparse && depth < ROOMY
  const asked = ownNumber(flat, 'minItems') ?? (roomy ? 1 : 0)
  const least = Math.max(asked, contained === 0 ? 0 : prefix + contained)
  const places = own(flat, 'items') === false ? prefix : Number.POSITIVE_INFINITY
  const most = Math.min(ownNumber(flat, 'maxItems') ?? Number.POSITIVE_INFINITY, places)
  const wished = roomy ? Math.max(least, prefix) + maker.random.below(3) : least
  return Math.min(wished, most)
}

/** An item that differs from those before it where that is asked. */
function itemOf(
  rule: unknown,
  flat: Obj,
  before: readonly unknown[],
  place: string,
  depth: number,
  maker: Making,
): unknown {
  if (own(flat, 'uniqueItems') !== true) return maker.make(rule, place, depth + 1)
  const list = isObject(rule) ? ownList(rule, 'enum') : null
  const fresh = list?.filter((one) => !before.some((other) => sameJson(one, other)))
  const narrowed = fresh === undefined ? rule : { ...(rule as Obj), enum: fresh }
  for (let draw = 0; draw < DRAWS; draw++) {
    const made = maker.make(narrowed, place, depth + 1)
    if (made === NONE) return NONE
    if (!before.some((other) => sameJson(made, other))) return made
  }
  return maker.none(`${place}: uniqueItems`)
}
