/** Sums over lists and over counts by name, and members of plain data. */

export function addUp(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

export function sumOf<T>(values: readonly T[], of: (value: T) => number): number {
  return addUp(values.map(of))
}

export function maximumOf(values: readonly number[]): number {
  return values.reduce((top, value) => Math.max(top, value), 0)
}

/** The sums of the named members. */
export function sumMembers<K extends string>(
  parts: readonly Readonly<Record<K, number>>[],
  names: readonly K[],
): Record<K, number> {
  const sums = names.map((name) => [name, sumOf(parts, (part) => part[name])] as const)
  return Object.fromEntries(sums) as Record<K, number>
}

/** The named members alone. */
export function pickMembers<T, K extends keyof T>(value: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, value[name]])) as Pick<T, K>
}

/** Of counts by status, reason or the like those whose name matches. */
export function countMatching(counts: Readonly<Record<string, number>>, name: RegExp): number {
  return sumOf(Object.entries(counts), ([each, count]) => (name.test(each) ? count : 0))
}

/** Variance over mean of counts; 0 where nothing can be said. */
export function indexOfDispersion(counts: readonly number[]): number {
  const mean = addUp(counts) / counts.length
  if (counts.length < 2 || mean === 0) return 0
  return sumOf(counts, (count) => (count - mean) ** 2) / (counts.length - 1) / mean
}
