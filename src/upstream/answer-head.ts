/** What is read of the head of an answer. */

/** The headers anybody decides by; the rest of a head is not even made into text. */
const READ_HEADERS = ['retry-after', 'content-type', 'content-length', 'content-encoding', 'location']

/** Names in lower case by their length, which tells most others apart from them without a look at a byte. */
type NamesByLength = readonly (readonly string[] | undefined)[]

function byLength(names: readonly string[]): NamesByLength {
  const found: string[][] = []
  for (const name of names) (found[name.length] ??= []).push(name)
  return Array.from(found)
}

const READ_NAMES = byLength(READ_HEADERS)

/**
 * The headers of a raw head, names and values by turns, that say what the body is, where else it is and when to come
 * again, and those of `more`, which are in lower case. Of a repeated one the first counts.
 */
export function readHeaders(raw: readonly Buffer[], more?: readonly string[]): Record<string, string> {
  const wanted = more === undefined ? READ_NAMES : byLength([...READ_HEADERS, ...more])
  const headers: Record<string, string> = {}
  for (let i = 0; i < raw.length; i += 2) {
    const field = raw[i]!
    const names = wanted[field.length]
    if (names === undefined) continue
    for (const name of names) if (isNamed(field, name)) headers[name] ??= raw[i + 1]!.toString('latin1')
  }
  return headers
}

/** Names of fields hold no control characters, so setting the bit of lower case mixes up none of them. */
function isNamed(field: Buffer, name: string): boolean {
  for (let at = 0; at < name.length; at++) if ((field[at]! | 0x20) !== name.charCodeAt(at)) return false
  return true
}
