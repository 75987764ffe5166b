/** JSON of names that come again and again. */
const QUOTED = new Map<string, string>()
const MOST_QUOTED = 1_000
/** Characters that a name may have; some are words of providers, who may say a book. */
const LONGEST_NAME = 256

export function quoteCached(text: string | null): string {
  if (text === null) return 'null'
  if (text.length > LONGEST_NAME) return JSON.stringify(text.slice(0, LONGEST_NAME))
  let json = QUOTED.get(text)
  if (json === undefined) {
    json = JSON.stringify(text)
    if (QUOTED.size >= MOST_QUOTED) QUOTED.clear()
    QUOTED.set(text, json)
  }
  return json
}
