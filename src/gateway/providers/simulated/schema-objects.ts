import { type Obj, own, ownList, ownNumber, ownObject, setOwn } from './json-values.js'
import { type Making, NONE, ROOMY } from './making.js'
import { rulesFor } from './schema-check.js'
import { both } from './schema-merge.js'
import { stringOfSchema } from './schema-strings.js'

/** An object under the object rules of a flat schema, or `NONE`. */
export function objectOfSchema(flat: Obj, place: string, depth: number, maker: Making): unknown {
  return new ObjectMaking(flat, place, depth, maker).make()
}

class ObjectMaking {
  readonly #value: Record<string, unknown> = {}
  readonly #required: ReadonlySet<string>

  constructor(
    private readonly flat: Obj,
    private readonly place: string,
    private readonly depth: number,
    private readonly maker: Making,
  ) {
    this.#required = new Set((ownList(flat, 'required') ?? []).map(String))
  }

  make(): unknown {
    const { flat } = this
    const required = this.#required
    const least = Math.max(ownNumber(flat, 'minProperties') ?? 0, required.size)
    const declared = Object.keys(ownObject(flat, 'properties'))
    const wanted = this.#wanted(declared, least)
    for (const name of [...declared, ...required]) {
      if (Object.hasOwn(this.#value, name)) continue
      if (!required.has(name) && !(wanted.has(name) && this.#hasRoom())) continue
      if (!this.#setMember(name) && required.has(name)) return NONE
    }
    return this.#addDependents() && this.#addExtras(least) ? this.#value : NONE
  }

  /** The optional members to make: some, and as many as the least number needs. */
  #wanted(declared: readonly string[], least: number): ReadonlySet<string> {
    const optional = declared.filter((name) => !this.#required.has(name))
    const wanted = new Set(optional.filter(() => this.#wantsOptional()))
    for (const name of optional) if (this.#required.size + wanted.size < least) wanted.add(name)
    return wanted
  }

  #wantsOptional(): boolean {
    const { maker } = this
    return !maker.sparse && this.depth < ROOMY && maker.random.below(4) > 0
  }

  /** Whether one more optional member leaves room for the required ones that are still missing. */
  #hasRoom(): boolean {
    let missing = 0
    for (const name of this.#required) if (!Object.hasOwn(this.#value, name)) missing++
    const most = ownNumber(this.flat, 'maxProperties') ?? Number.POSITIVE_INFINITY
    return Object.keys(this.#value).length + missing < most
  }

  /** False when the member has no value. */
  #setMember(name: string): boolean {
    const { maker, flat } = this
    const matches = (pattern: string) => maker.context.pattern(pattern)?.matches(name) === true
    let rule: unknown = true
    for (const [one] of rulesFor(name, flat, matches)) rule = both(rule, one)
    const made = maker.make(rule, `${this.place}/properties/${name}`, this.depth + 1)
    if (made === NONE) return false
    setOwn(this.#value, name, made)
    return true
  }

  #addDependents(): boolean {
    for (const [name, needed] of Object.entries(ownObject(this.flat, 'dependentRequired'))) {
      if (!Object.hasOwn(this.#value, name) || !Array.isArray(needed)) continue
      for (const other of needed.map(String)) {
        if (!Object.hasOwn(this.#value, other) && !this.#setMember(other)) return false
      }
    }
    return true
  }

  /** Members beyond the declared ones, up to the least number: names of a pattern, or names of our own. */
  #addExtras(least: number): boolean {
    const { flat, maker, place } = this
    const pattern = Object.keys(ownObject(flat, 'patternProperties'))[0]
    const byPattern = pattern !== undefined && own(flat, 'additionalProperties') === false
    const rule = byPattern ? { pattern } : { minLength: 3, ...ownObject(flat, 'propertyNames') }
    for (let i = 0; Object.keys(this.#value).length < least; i++) {
      const outOfTries = i > least * 4 + 16 || !maker.context.spend()
      const name = outOfTries ? null : stringOfSchema(rule, maker.random, maker.context)
      if (name === null) {
        maker.none(`${place}: no further member can be named`)
        return false
      }
      if (!Object.hasOwn(this.#value, name) && !this.#setMember(name)) return false
    }
    return true
  }
}
