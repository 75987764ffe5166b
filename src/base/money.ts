/**
 * Money in integer nano-dollars (contract/decisions 12): sums never drift, and a price per token of
 * 0.0000000375 dollars is still whole, because prices are kept per million tokens.
 */

/** Nano-dollars of one dollar. */
export const NANOS_PER_DOLLAR = 1_000_000_000
/** Largest amount in dollars whose nano-dollars are still an exact integer. */
export const MAX_DOLLARS = 9_000_000

/** Nano-dollars as the JSON number of dollars that goes on the wire. */
export function nanosToDollars(nanos: number): number {
  return nanos / NANOS_PER_DOLLAR
}

/** Dollars as whole nano-dollars; what is finer is rounded. */
export function dollarsToNanos(dollars: number): number
export function dollarsToNanos(dollars: number | null): number | null
export function dollarsToNanos(dollars: number | null): number | null {
  return dollars === null ? null : Math.round(dollars * NANOS_PER_DOLLAR)
}

/**
 * The sum as an amount of money: nano-dollars that can be added up exactly. Throws `RangeError` for anything else;
 * it would corrupt every sum that it goes into.
 */
export function checkedNanos(nanos: number): number {
  if (!Number.isSafeInteger(nanos) || nanos < 0) throw new RangeError('no amount of money')
  return nanos
}

const DECIMAL = /^(\d{1,9})(?:\.(\d{1,18}))?$/

/**
 * A decimal text of dollars per token as nano-dollars per million tokens. Null when it is no decimal, when it is
 * finer than a nano-dollar per million tokens (15 places), or when it is too large for an exact integer.
 */
export function nanosPerMillion(dollarsPerToken: string): number | null {
  const match = DECIMAL.exec(dollarsPerToken)
  if (match === null) return null
  const fraction = (match[2] ?? '').padEnd(15, '0')
  if (/[1-9]/.test(fraction.slice(15))) return null
  const value = Number(BigInt(match[1]!) * 10n ** 15n + BigInt(fraction.slice(0, 15)))
  return Number.isSafeInteger(value) ? value : null
}
