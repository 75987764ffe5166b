/** Lenient readers of what a server sent: a value of the expected shape, or nothing. */
export type JsonObject = Readonly<Record<string, unknown>>

export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text that says something; undefined for `''` and for anything else. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** An integer from 0 on that is exact; undefined for anything else. */
export function asCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

/** The objects in a list; none when it is no list. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return asList(value).filter((item): item is JsonObject => asObject(item) !== null)
}

/** The value of a JSON text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The member as an object to be spread; an empty one where there is no value. */
export function optionalMember<K extends string, V>(
  name: K,
  value: V | undefined,
): { readonly [N in K]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in K]?: V }
}
