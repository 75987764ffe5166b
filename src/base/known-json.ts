/**
 * Values that have come before and cannot change any more: frozen throughout. What is worked out of one can be kept
 * beside it, and is gone when the value is.
 */

const known = new WeakSet<object>()

/** The same value, frozen throughout; from now on a known one. Goes through it without recursion: it may be deep. */
export function keepKnown<T extends object>(value: T): T {
  if (known.has(value)) return value
  const waiting: object[] = [value]
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    Object.freeze(each)
    for (const name in each) {
      const member: unknown = (each as Readonly<Record<string, unknown>>)[name]
      if (typeof member === 'object' && member !== null) waiting.push(member)
    }
  }
  known.add(value)
  return value
}

export function isKnown(value: object): boolean {
  return known.has(value)
}

/** The same work, done once for a value that is known, and anew for every other one. */
export function oncePerKnown<V extends object, T extends object | string | number | boolean>(
  work: (value: V) => T,
): (value: V) => T {
  const results = new WeakMap<V, T>()
  return (value) => {
    const before = results.get(value)
    if (before !== undefined) return before
    const result = work(value)
    if (known.has(value)) results.set(value, result)
    return result
  }
}

/** The JSON text of a value. */
export const textOfKnown: (value: object) => string = oncePerKnown((value: object) => JSON.stringify(value))
