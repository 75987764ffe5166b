/** Names of models as callers allow and exclude them: ids, with a `*` for any run of characters. */

/** What stands before the first star, between stars, and behind the last. */
interface Pattern {
  readonly first: string
  readonly inner: readonly string[]
  readonly last: string
}

/** A list of patterns, read once: there may be a thousand of them, and as many models. */
export class ModelPatterns {
  readonly #ids = new Set<string>()
  readonly #patterns: readonly Pattern[]

  constructor(patterns: readonly string[]) {
    const starred = new Set<string>()
    for (const pattern of patterns) {
      if (pattern.includes('*')) starred.add(pattern.replace(/\*+/g, '*'))
      else this.#ids.add(pattern)
    }
    this.#patterns = Array.from(starred, (pattern) => {
      const pieces = pattern.split('*')
      return { first: pieces[0]!, inner: pieces.slice(1, -1), last: pieces.at(-1)! }
    })
  }

  /** Pieces that may have to be looked for in each id. */
  get pieces(): number {
    return this.#patterns.reduce((sum, { inner }) => sum + 2 + inner.length, 0)
  }

  /** Whether any of them names the model. An empty list names none. */
  names(id: string): boolean {
    return this.#ids.has(id) || this.#patterns.some((pattern) => matches(pattern, id))
  }
}

/** Each piece between stars is looked for once, leftmost first. */
function matches({ first, inner, last }: Pattern, id: string): boolean {
  if (id.length < first.length + last.length || !id.startsWith(first) || !id.endsWith(last)) return false
  const end = id.length - last.length
  let at = first.length
  for (const piece of inner) {
    const found = id.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}
