import { type Obj, own, ownNames, ownNumber, ownObject, setOwn } from './json-values.js'
import { type Making, NONE, ROOMY } from './making.js'
import { rulesFor } from './schema-check.js'
import { both } from './schema-merge.js'
import { stringOfSchema } from './schema-strings.js'
import { stepsOfEntries, stepsOfText } from './schema-weight.js'

/** An object under the object rules of a flat schema, or `NONE`. */
export function objectOfSchema(flat: Obj, place: string, depth: number, maker: Making): unknown {
  return new ObjectMaking(flat, place, depth, maker).make()
}

class ObjectMaking {
  readonly #value: Record<string, unknown> = {}
  readonly #required: ReadonlySet<string>
  /** Members made so far, and required ones that are not among them. Counted: to list the members takes time. */
  #size = 0
  #missing: number

  constructor(
    private readonly flat: Obj,
    private readonly place: string,
    private readonly depth: number,
    private readonly maker: Making,
  ) {
    this.#required = new Set(ownNames(flat, 'required'))
    this.#missing = this.#required.size
  }

  make(): unknown {
    const { flat, maker } = this
    const required = this.#required
    const least = Math.max(ownNumber(flat, 'minProperties') ?? 0, required.size)
    if (least > maker.context.left) return maker.none(`${this.place}: minProperties asks for too many`)
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
    return !maker.sparse && this.depth < ROOMY && maker.random.nextBelow(4) > 0
  }

  /** Whether one more optional member leaves room for the required ones that are still missing. */
  #hasRoom(): boolean {
    const most = ownNumber(this.flat, 'maxProperties') ?? Number.POSITIVE_INFINITY
    return this.#size + this.#missing < most
  }

  /** False when the member has no value. */
  #setMember(name: string): boolean {
    const { maker, flat } = this
    if (!maker.context.spend(stepsOfText(name.length))) return false
    let rule: unknown = true
    for (const [one] of rulesFor(name, flat, (pattern) => this.#matches(pattern, name)))
      rule = both(rule, one)
    const made = maker.make(rule, `${this.place}/properties/${name}`, this.depth + 1)
    if (made === NONE) return false
    setOwn(this.#value, name, made)
    this.#size++
    if (this.#required.has(name)) this.#missing--
    return true
  }

  #matches(pattern: string, name: string): boolean {
    const { context } = this.maker
    const compiled = context.pattern(pattern)
    return compiled !== null && context.spend(stepsOfText(compiled.cost(name))) && compiled.matches(name)
  }

  #addDependents(): boolean {
    const dependent = ownObject(this.flat, 'dependentRequired')
    for (const name of Object.keys(dependent)) {
      if (!Object.hasOwn(this.#value, name)) continue
      const needed = ownNames(dependent, name)
      if (!this.maker.context.spend(stepsOfEntries(needed.length))) return false
      for (const other of needed) {
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
    for (let i = 0; this.#size < least; i++) {
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
