/** JSON that may come from an enemy: taken only when every parser reads the same in it. */
import { isUtf8 } from 'node:buffer'

export type JsonObject = Readonly<Record<string, unknown>>

/**
 * The object a JSON text (RFC 8259) stands for; null when the bytes are no UTF-8, begin with a byte order mark, are
 * no JSON or no object, or when an object at any level names a member twice: two parsers could then read two things.
 */
export function parseStrictJsonObject(bytes: Uint8Array): JsonObject | null {
  if (!isUtf8(bytes)) return null
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const value = parseOrUndefined(text)
  return isObject(value) && !repeatsName(text) ? value : null
}

/** The member of that name, or undefined; never what an object inherits. */
export function ownMember(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const BEGIN_ARRAY = 0x5b
const END_ARRAY = 0x5d
const BEGIN_OBJECT = 0x7b
const END_OBJECT = 0x7d

/** Whether an object in a text that is known to be JSON names a member twice. Does not recurse. */
function repeatsName(json: string): boolean {
  const outer: (Set<string> | null)[] = []
  /** Names of the object we stand in; null in an array. */
  let names: Set<string> | null = null
  let nameIsDue = false
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(json, at)
        if (nameIsDue) {
          const name = stringAt(json, at, end)
          if (names!.has(name)) return true
          names!.add(name)
          nameIsDue = false
        }
        at = end
        break
      }
      case BEGIN_OBJECT:
      case BEGIN_ARRAY:
        outer.push(names)
        nameIsDue = json.charCodeAt(at) === BEGIN_OBJECT
        names = nameIsDue ? new Set() : null
        break
      case END_OBJECT:
      case END_ARRAY:
        names = outer.pop() ?? null
        nameIsDue = false
        break
      case COMMA:
        nameIsDue = names !== null
    }
  }
  return false
}

/** Index of the quote that ends the string beginning at `start`. */
function endOfString(json: string, start: number): number {
  let at = start + 1
  for (;;) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) return at
    at += code === BACKSLASH ? 2 : 1
  }
}

/** Two spellings of a name are one name. */
function stringAt(json: string, start: number, end: number): string {
  const inside = json.slice(start + 1, end)
  return inside.includes('\\') ? (JSON.parse(`"${inside}"`) as string) : inside
}
