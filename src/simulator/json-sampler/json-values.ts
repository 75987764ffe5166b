/** Small truths about JSON values and schemas that both the maker and the checker rely on. */

export type Obj = Readonly<Record<string, unknown>>
export type Schema = boolean | Obj

export function isObject(value: unknown): value is Obj {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isObject(value)
}

/** An own member; schemas come from callers, so `constructor` and its like must not be found on a prototype. */
export function own(object: Obj, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** An own member that is an object, otherwise an empty one. */
export function ownObject(object: Obj, name: string): Obj {
  const value = own(object, name)
  return isObject(value) ? value : {}
}

export function ownList(object: Obj, name: string): readonly unknown[] | null {
  const value = own(object, name)
  return Array.isArray(value) ? value : null
}

export function ownNumber(object: Obj, name: string): number | null {
  const value = own(object, name)
  return typeof value === 'number' ? value : null
}

/** Sets an own member even where the name is `__proto__`. */
export function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

/** An own list's texts; what is no text among them is left out. */
export function ownNames(object: Obj, name: string): readonly string[] {
  return (ownList(object, name) ?? []).filter((item) => typeof item === 'string')
}

/** Whether a value is of a type of JSON Schema. */
export function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return typeof value === type && type !== 'undefined'
}

/** Length in code points, as JSON Schema counts. */
export function lengthOf(text: string): number {
  let length = text.length
  for (let i = 0; i + 1 < text.length; i++) {
    const pair = (text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
    if (pair) length--
  }
  return length
}
