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

/** What tells where names stand in a text that is known to be JSON. */
const TOKEN = /"(?:[^"\\]+|\\.)*"|[{}[\],]/g

/** Whether an object in a text that is known to be JSON names a member twice. Does not recurse. */
function repeatsName(json: string): boolean {
  const outer: (Set<string> | null)[] = []
  /** Names of the object we stand in; null in an array. */
  let names: Set<string> | null = null
  let nameIsDue = false
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      outer.push(names)
      names = token === '{' ? new Set() : null
      nameIsDue = names !== null
    } else if (token === '}' || token === ']') {
      names = outer.pop() ?? null
      nameIsDue = false
    } else if (token === ',') {
      nameIsDue = names !== null
    } else if (nameIsDue) {
      // Two spellings of a name are one name.
      const name = JSON.parse(token) as string
      if (names!.has(name)) return true
      names!.add(name)
      nameIsDue = false
    }
  }
  return false
}
