/** Three versions of one record: what two people have made of it, told apart field by field. */

/** Who has changed a field, against what both began with. */
type Party = 'nobody' | 'mine' | 'theirs' | 'both'

/** `both` only where the two differ from each other: who did the same has no conflict. */
export function changedBy<T>(base: T, theirs: T, mine: T): Party {
  if (mine === theirs) return mine === base ? 'nobody' : 'theirs'
  if (mine === base) return 'theirs'
  return theirs === base ? 'mine' : 'both'
}

/** The lines of a text, each with whether the other text lacks it. */
export function linesAgainst(
  text: string,
  other: string,
): readonly { readonly line: string; readonly isNew: boolean }[] {
  const known = new Map<string, number>()
  for (const line of other.split('\n')) known.set(line, (known.get(line) ?? 0) + 1)
  return text.split('\n').map((line) => {
    const left = known.get(line) ?? 0
    known.set(line, left - 1)
    return { line, isNew: left < 1 }
  })
}
