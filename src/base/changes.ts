/** A record after changes: members that are absent stay as they are. */
export function applyChanges<T extends object>(
  current: T,
  changes: { readonly [K in keyof T]?: T[K] | undefined },
): T {
  const present = Object.entries(changes).filter(([, value]) => value !== undefined)
  return { ...current, ...Object.fromEntries(present) }
}
