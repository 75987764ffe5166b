/** JSON of texts that come again and again: names of models, providers and kinds. */

const QUOTED = new Map<string, string>()
const MOST_QUOTED = 1_000
const LONGEST_NAME = 256

/** As `JSON.stringify`, which is asked once for a short text. */
export function quoteCached(text: string | null): string {
  if (text === null) return 'null'
  if (text.length > LONGEST_NAME) return JSON.stringify(text)
  let json = QUOTED.get(text)
  if (json === undefined) {
    json = JSON.stringify(text)
    if (QUOTED.size >= MOST_QUOTED) QUOTED.clear()
    QUOTED.set(text, json)
  }
  return json
}
