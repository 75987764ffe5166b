/** Keys that begin with a prefix. */

export function beginsWith(key: Uint8Array, prefix: Uint8Array): boolean {
  return key.length >= prefix.length && Buffer.compare(key.subarray(0, prefix.length), prefix) === 0
}

/** The first key behind all that begin with the prefix; null when there is none. */
export function endOfPrefix(prefix: Uint8Array): Buffer | null {
  const end = Buffer.from(prefix)
  for (let last = end.length - 1; last >= 0; last--) {
    if (end[last]! < 0xff) {
      end[last]!++
      return end.subarray(0, last + 1)
    }
  }
  return null
}
