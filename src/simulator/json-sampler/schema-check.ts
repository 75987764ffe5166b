import { canonicalText, sameJson } from './json-equality.js'
import {
  isObject,
  isOfType,
  isSchema,
  lengthOf,
  type Obj,
  own,
  ownList,
  ownNames,
  ownNumber,
  ownObject,
} from './json-values.js'
import { keywordBeyond, referenceName, type SchemaContext } from './schema-context.js'
import { stepsOfEntries, stepsOfText } from './schema-weight.js'

/** Deepest nesting of schemas that is followed; references may go in circles. */
const DEEPEST = 200

/**
 * Whether the value is valid under the schema (JSON Schema 2020-12 with `nullable`; formats are annotations).
 * Null when it is, otherwise the place in the schema and what is wrong there. Where the verdict would rest on
 * something that is not understood here, the value counts as wrong, also under `not`.
 */
export function schemaViolation(
  value: unknown,
  schema: unknown,
  context: SchemaContext,
  place = '#',
): string | null {
  context.doubted = null
  const wrong = violationAt(value, schema, context, place, 0)
  // What was not compared for want of budget is not known to be right.
  if (context.exhausted) context.doubt(`${place}: the schema is too complex`)
  return context.doubted ?? wrong
}

function violationAt(
  value: unknown,
  schema: unknown,
  context: SchemaContext,
  place: string,
  depth: number,
): string | null {
  if (schema === true) return null
  if (schema === false) return `${place} allows nothing`
  if (!isObject(schema)) return context.doubt(`${place} is no schema`)
  if (!context.visit(schema)) return context.doubt(`${place}: the schema is too complex`)
  if (depth > DEEPEST) return context.doubt(`${place} is nested too deeply`)
  if (value === null && own(schema, 'nullable') === true) return null
  return new Check(value, schema, context, place, depth).violation()
}

/** The rules of one schema object, in groups. */
class Check {
  constructor(
    private readonly value: unknown,
    private readonly schema: Obj,
    private readonly context: SchemaContext,
    private readonly place: string,
    private readonly depth: number,
  ) {}

  violation(): string | null {
    return this.anyType() ?? this.beyond() ?? this.ofItsType() ?? this.combined()
  }

  private anyType(): string | null {
    const { value, schema } = this
    const type = own(schema, 'type')
    const types = Array.isArray(type) ? type : [type]
    if (type !== undefined && !types.some((one) => isOfType(value, one))) return this.wrong('type')
    const list = ownList(schema, 'enum')
    if (list !== null && !list.some((one) => sameJson(one, value, this.context.spend)))
      return this.wrong('enum')
    if (Object.hasOwn(schema, 'const') && !sameJson(schema.const, value, this.context.spend))
      return this.wrong('const')
    return null
  }

  /** After the type: a value of another type is wrong whatever else the schema says. */
  private beyond(): string | null {
    const keyword = keywordBeyond(this.schema)
    return keyword === null ? null : this.context.doubt(`${this.place}: ${keyword} is not supported`)
  }

  private ofItsType(): string | null {
    const { value } = this
    if (typeof value === 'number') return this.number(value)
    if (typeof value === 'string') return this.string(value)
    if (Array.isArray(value)) return this.array(value)
    return isObject(value) ? this.object(value) : null
  }

  private number(value: number): string | null {
    const { schema } = this
    if (value < (ownNumber(schema, 'minimum') ?? value)) return this.wrong('minimum')
    if (value > (ownNumber(schema, 'maximum') ?? value)) return this.wrong('maximum')
    if (value <= (ownNumber(schema, 'exclusiveMinimum') ?? Number.NEGATIVE_INFINITY))
      return this.wrong('exclusiveMinimum')
    if (value >= (ownNumber(schema, 'exclusiveMaximum') ?? Number.POSITIVE_INFINITY))
      return this.wrong('exclusiveMaximum')
    const step = ownNumber(schema, 'multipleOf')
    return step !== null && !Number.isInteger(value / step) ? this.wrong('multipleOf') : null
  }

  private string(value: string): string | null {
    const { schema } = this
    if (!this.context.spend(stepsOfText(value.length))) return this.tooComplex()
    const length = lengthOf(value)
    if (length < (ownNumber(schema, 'minLength') ?? 0)) return this.wrong('minLength')
    if (length > (ownNumber(schema, 'maxLength') ?? length)) return this.wrong('maxLength')
    const pattern = own(schema, 'pattern')
    return pattern !== undefined && this.mismatch(pattern, value) ? this.wrong('pattern') : null
  }

  private mismatch(pattern: unknown, text: string): boolean {
    const compiled = typeof pattern === 'string' ? this.context.pattern(pattern) : null
    if (compiled !== null && this.context.spend(stepsOfText(compiled.cost(text))))
      return !compiled.matches(text)
    this.context.doubt(`${this.place}: the pattern is beyond what is supported`)
    return true
  }

  private array(value: readonly unknown[]): string | null {
    const { schema } = this
    if (!this.context.spend(stepsOfEntries(value.length))) return this.tooComplex()
    if (value.length < (ownNumber(schema, 'minItems') ?? 0)) return this.wrong('minItems')
    if (value.length > (ownNumber(schema, 'maxItems') ?? value.length)) return this.wrong('maxItems')
    if (own(schema, 'uniqueItems') === true && this.repeats(value)) return this.wrong('uniqueItems')
    const prefix = ownList(schema, 'prefixItems') ?? []
    const items = own(schema, 'items')
    for (const [i, item] of value.entries()) {
      const rule = i < prefix.length ? prefix[i] : items
      const wrong =
        rule === undefined ? null : this.inner(item, rule, i < prefix.length ? `prefixItems/${i}` : 'items')
      if (wrong !== null) return wrong
    }
    return Object.hasOwn(schema, 'contains') ? this.contains(value) : null
  }

  private repeats(value: readonly unknown[]): boolean {
    const seen = new Set<string>()
    for (const item of value) {
      const text = canonicalText(item)
      if (!this.context.spend(stepsOfText(text.length))) return true
      seen.add(text)
    }
    return seen.size < value.length
  }

  private contains(value: readonly unknown[]): string | null {
    const { schema } = this
    const found = value.filter((item) => this.inner(item, schema.contains, 'contains') === null).length
    if (found < (ownNumber(schema, 'minContains') ?? 1)) return this.wrong('contains')
    return found > (ownNumber(schema, 'maxContains') ?? found) ? this.wrong('maxContains') : null
  }

  private object(value: Obj): string | null {
    const { schema } = this
    const names = Object.keys(value)
    if (!this.context.spend(stepsOfEntries(names.length))) return this.tooComplex()
    if (names.length < (ownNumber(schema, 'minProperties') ?? 0)) return this.wrong('minProperties')
    if (names.length > (ownNumber(schema, 'maxProperties') ?? names.length))
      return this.wrong('maxProperties')
    for (const name of ownNames(schema, 'required')) {
      if (!Object.hasOwn(value, name)) return this.wrong(`required "${name}"`)
    }
    for (const name of names) {
      const wrong = this.member(name, value[name])
      if (wrong !== null) return wrong
    }
    return this.dependents(value)
  }

  private member(name: string, value: unknown): string | null {
    const { schema } = this
    if (Object.hasOwn(schema, 'propertyNames')) {
      const wrong = this.inner(name, schema.propertyNames, 'propertyNames')
      if (wrong !== null) return wrong
    }
    const rules = rulesFor(name, schema, (pattern) => !this.mismatch(pattern, name))
    for (const [rule, where] of rules) {
      const wrong = this.inner(value, rule, where)
      if (wrong !== null) return wrong
    }
    return null
  }

  private dependents(value: Obj): string | null {
    const { schema } = this
    const dependent = ownObject(schema, 'dependentRequired')
    for (const name of Object.keys(dependent)) {
      if (!Object.hasOwn(value, name)) continue
      const needed = ownNames(dependent, name)
      if (!this.context.spend(stepsOfEntries(needed.length))) return this.tooComplex()
      if (!needed.every((other) => Object.hasOwn(value, other))) return this.wrong('dependentRequired')
    }
    for (const [name, rule] of Object.entries(ownObject(schema, 'dependentSchemas'))) {
      const wrong = Object.hasOwn(value, name) ? this.inner(value, rule, `dependentSchemas/${name}`) : null
      if (wrong !== null) return wrong
    }
    return null
  }

  private combined(): string | null {
    const { schema, value } = this
    if (Object.hasOwn(schema, '$ref')) {
      const target = this.context.resolve(schema.$ref)
      if (target === null) {
        return this.context.doubt(`${this.place}: $ref ${referenceName(schema)} cannot be resolved`)
      }
      const wrong = violationAt(value, target, this.context, String(schema.$ref), this.depth + 1)
      if (wrong !== null) return wrong
    }
    for (const [i, rule] of (ownList(schema, 'allOf') ?? []).entries()) {
      const wrong = this.inner(value, rule, `allOf/${i}`)
      if (wrong !== null) return wrong
    }
    return this.choices() ?? this.conditions()
  }

  private choices(): string | null {
    const { schema, value } = this
    const any = ownList(schema, 'anyOf')
    if (any !== null && !any.some((rule, i) => this.inner(value, rule, `anyOf/${i}`) === null))
      return this.wrong('anyOf')
    const one = ownList(schema, 'oneOf')
    if (one === null) return null
    const fitting = one.filter((rule, i) => this.inner(value, rule, `oneOf/${i}`) === null).length
    return fitting === 1 ? null : this.wrong('oneOf')
  }

  private conditions(): string | null {
    const { schema, value } = this
    if (Object.hasOwn(schema, 'not') && this.inner(value, schema.not, 'not') === null)
      return this.wrong('not')
    if (!Object.hasOwn(schema, 'if')) return null
    const branch = this.inner(value, schema.if, 'if') === null ? 'then' : 'else'
    return isSchema(own(schema, branch)) ? this.inner(value, schema[branch], branch) : null
  }

  private inner(value: unknown, rule: unknown, where: string): string | null {
    return violationAt(value, rule, this.context, `${this.place}/${where}`, this.depth + 1)
  }

  private tooComplex(): string {
    return this.context.doubt(`${this.place}: the schema is too complex`)
  }

  private wrong(keyword: string): string {
    return `${this.place}: ${keyword}`
  }
}

/** The schemas that a member's value has to satisfy, each with its place. */
export function rulesFor(
  name: string,
  schema: Obj,
  matches: (pattern: string) => boolean,
): readonly (readonly [rule: unknown, where: string])[] {
  const rules: [unknown, string][] = []
  const properties = ownObject(schema, 'properties')
  if (Object.hasOwn(properties, name)) rules.push([properties[name], `properties/${name}`])
  for (const [pattern, rule] of Object.entries(ownObject(schema, 'patternProperties'))) {
    if (matches(pattern)) rules.push([rule, `patternProperties/${pattern}`])
  }
  const rest = own(schema, 'additionalProperties')
  if (rules.length === 0 && rest !== undefined) rules.push([rest, 'additionalProperties'])
  return rules
}
