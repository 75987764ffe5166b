import { canonicalText } from './json-equality.js'
import { isObject, type Obj, own, ownList, ownNumber } from './json-values.js'
import { type Making, NONE, ROOMY } from './making.js'
import { both } from './schema-merge.js'
import { stepsOfEntries, stepsOfText } from './schema-weight.js'

/** Draws of one item that has to differ from those before it. */
const DRAWS = 24

/** An array under the array rules of a flat schema, or `NONE`. */
export function arrayOfSchema(flat: Obj, place: string, depth: number, maker: Making): unknown {
  const contained = Object.hasOwn(flat, 'contains') ? (ownNumber(flat, 'minContains') ?? 1) : 0
  const { left } = maker.context
  if ((ownNumber(flat, 'minItems') ?? 0) > left) return maker.none(`${place}: minItems asks for too many`)
  if (contained > left) return maker.none(`${place}: minContains asks for too many`)
  return new ArrayMaking(flat, place, depth, maker, contained).make()
}

class ArrayMaking {
  readonly #value: unknown[] = []
  /** Texts of the items so far where no two may be equal. */
  readonly #seen: Set<string> | null
  readonly #prefix: readonly unknown[]

  constructor(
    private readonly flat: Obj,
    private readonly place: string,
    private readonly depth: number,
    private readonly maker: Making,
    /** Items that have to satisfy `contains`. */
    private readonly contained: number,
  ) {
    this.#prefix = ownList(flat, 'prefixItems') ?? []
    this.#seen = own(flat, 'uniqueItems') === true ? new Set() : null
  }

  make(): unknown {
    const { flat, contained } = this
    const prefix = this.#prefix.length
    const items = own(flat, 'items') ?? true
    const least = ownNumber(flat, 'minItems') ?? 0
    const length = this.#length()
    for (let i = 0; i < length; i++) {
      const rule = i < prefix ? this.#prefix[i] : items
      // What has to be contained comes behind the prefix, whose places have rules of their own.
      const contains = i >= prefix && i < prefix + contained
      const where = i < prefix ? `${this.place}/prefixItems/${i}` : `${this.place}/items`
      const made = this.#item(contains ? both(rule, flat.contains) : rule, where)
      if (made !== NONE) this.#value.push(made)
      else if (i < least || contains) return NONE
      else break
    }
    return this.#value
  }

  #length(): number {
    const { flat, maker, contained } = this
    const prefix = this.#prefix.length
    const roomy = !maker.sparse && this.depth < ROOMY
    const asked = ownNumber(flat, 'minItems') ?? (roomy ? 1 : 0)
    const least = Math.max(asked, contained === 0 ? 0 : prefix + contained)
    const places = own(flat, 'items') === false ? prefix : Number.POSITIVE_INFINITY
    const most = Math.min(ownNumber(flat, 'maxItems') ?? Number.POSITIVE_INFINITY, places)
    const wished = roomy ? Math.max(least, prefix) + maker.random.nextBelow(3) : least
    return Math.min(wished, most)
  }

  /** An item that differs from those before it where that is asked. */
  #item(rule: unknown, place: string): unknown {
    const { maker, depth } = this
    if (this.#seen === null) return maker.make(rule, place, depth + 1)
    const narrowed = this.#withoutSeen(rule)
    for (let draw = 0; draw < DRAWS; draw++) {
      const made = maker.make(narrowed, place, depth + 1)
      if (made === NONE) return NONE
      const text = canonicalText(made)
      if (!maker.context.spend(stepsOfText(text.length))) break
      if (this.#seen.has(text)) continue
      this.#seen.add(text)
      return made
    }
    return maker.none(`${place}: uniqueItems`)
  }

  /** The rule without the entries of its enum that are taken. */
  #withoutSeen(rule: unknown): unknown {
    const list = isObject(rule) ? ownList(rule, 'enum') : null
    if (list === null || !this.maker.context.spend(stepsOfEntries(list.length))) return rule
    const fresh = list.filter((one) => {
      const text = canonicalText(one)
      return this.maker.context.spend(stepsOfText(text.length)) && !this.#seen!.has(text)
    })
    return { ...(rule as Obj), enum: fresh }
  }
}
