/** What the sampler knows about JSON values and schemas. Schemas come from callers: only own members are read. */

export type SchemaObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An own member; `constructor` and its like must not be found on a prototype. */
export function ownMember(object: SchemaObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** An own member that is an object, otherwise an empty one. */
export function ownObject(object: SchemaObject, name: string): SchemaObject {
  const value = ownMember(object, name)
  return isObject(value) ? value : {}
}

/** An own member that is a list, otherwise an empty one. */
export function ownList(object: SchemaObject, name: string): readonly unknown[] {
  const value = ownMember(object, name)
  return Array.isArray(value) ? value : []
}

export function ownNumber(object: SchemaObject, name: string): number | null {
  const value = ownMember(object, name)
  return typeof value === 'number' ? value : null
}

/** The texts of `required`; other entries are ignored. */
export function requiredNames(schema: SchemaObject): readonly string[] {
  return ownList(schema, 'required').filter((item) => typeof item === 'string')
}

/** The rules of one schema for the member `name`. */
export function memberRules(schema: SchemaObject, name: string): readonly unknown[] {
  const properties = ownObject(schema, 'properties')
  if (Object.hasOwn(properties, name)) return [properties[name]]
  return Object.hasOwn(schema, 'additionalProperties') ? [schema.additionalProperties] : []
}

/** The rules of one schema for the item at `index`. */
export function itemRules(schema: SchemaObject, index: number): readonly unknown[] {
  const prefix = ownList(schema, 'prefixItems')
  if (index < prefix.length) return [prefix[index]]
  return Object.hasOwn(schema, 'items') ? [schema.items] : []
}

/** Sets an own member even where the name is `__proto__`. */
export function setOwnMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

/** Whether a value is of a type of JSON Schema. */
export function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return typeof value === type && type !== 'undefined'
}

const TYPES: readonly string[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

const KEYWORDS_OF_TYPES: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'propertyNames', 'minProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'uniqueItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

/** The types that all schemas allow; where none names any, the one that their keywords are about. */
export function allowedTypes(schemas: readonly SchemaObject[]): readonly string[] {
  const lists = schemas.filter((schema) => Object.hasOwn(schema, 'type')).map(({ type }) => [type].flat())
  if (lists.length === 0) {
    const found = KEYWORDS_OF_TYPES.find(([, keywords]) =>
      schemas.some((schema) => keywords.some((keyword) => Object.hasOwn(schema, keyword))),
    )
    return [found?.[0] ?? 'string']
  }
  const allowed = TYPES.filter((type) =>
    lists.every((types) => types.includes(type) || (type === 'integer' && types.includes('number'))),
  )
  // An integer is a number: it is of its own only where a number would be too much.
  return allowed.includes('number') ? allowed.filter((type) => type !== 'integer') : allowed
}

/** Length in code points, as JSON Schema counts. */
export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
