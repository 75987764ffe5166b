/**
 * A function that makes a text of up to four values, and knows the latest one again: rows that follow each other mostly
 * have the same names, and to compare four of them costs less than to put them together.
 */
export function rememberLatest<T extends string | null>(
  make: (a: T, b: T, c: T, d: T) => string,
): (a: T, b: T, c: T, d: T) => string {
  let latest: readonly [T, T, T, T] | null = null
  let text = ''
  return (a, b, c, d) => {
    if (latest === null || latest[0] !== a || latest[1] !== b || latest[2] !== c || latest[3] !== d) {
      text = make(a, b, c, d)
      latest = [a, b, c, d]
    }
    return text
  }
}
