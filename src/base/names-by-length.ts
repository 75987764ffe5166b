/** Names by their length, which tells most others apart from them without a look at a letter. */
export type NamesByLength = readonly (readonly string[] | undefined)[]

export function namesByLength(names: Iterable<string>): NamesByLength {
  const found: string[][] = []
  for (const name of new Set(names)) (found[name.length] ??= []).push(name)
  return Array.from(found)
}
