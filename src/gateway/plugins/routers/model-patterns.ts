/** Names of models as callers allow and exclude them: ids, with a `*` for any run of characters. */

/** Whether any of the patterns names the model. An empty list names none. */
export function namesModel(patterns: readonly string[], id: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, id))
}

/** Linear in the pattern: each piece between stars is looked for once, leftmost first. */
function matchesPattern(pattern: string, id: string): boolean {
  if (!pattern.includes('*')) return pattern === id
  const pieces = pattern.split('*')
  const first = pieces[0]!
  const last = pieces.at(-1)!
  if (id.length < first.length + last.length || !id.startsWith(first) || !id.endsWith(last)) return false
  const end = id.length - last.length
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = id.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}
