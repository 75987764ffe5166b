/** Which limits cover a row of the ledger, as the number that stands in its line. */
import type { LimitCoverage } from '../ledger-store.js'

/** Periods that a key's limit may have. */
export const COVERAGE_PERIODS = ['never', 'daily', 'weekly', 'monthly'] as const

/** Codes of coverage without what goes on the caller's own accounts; those with it follow. */
const PLAIN_COVERAGES = 2 * (COVERAGE_PERIODS.length + 1)

/** Which limits cover a row, as a number: twice the period of the key's limit, plus one for the organization's. */
export function encodeCoverage({ key, organization, byok }: LimitCoverage): number {
  const plain = (key === null ? 0 : 2 * (COVERAGE_PERIODS.indexOf(key) + 1)) + (organization ? 1 : 0)
  return byok === true ? plain + PLAIN_COVERAGES : plain
}

const COVERAGES: readonly LimitCoverage[] = Array.from({ length: 2 * PLAIN_COVERAGES }, (_, number) => {
  const code = number % PLAIN_COVERAGES
  return Object.freeze({
    key: code < 2 ? null : COVERAGE_PERIODS[(code >> 1) - 1]!,
    organization: (code & 1) === 1,
    ...(number >= PLAIN_COVERAGES && { byok: true as const }),
  })
})

/** What the number of a line stands for. */
export function decodeCoverage(code: number): LimitCoverage {
  return COVERAGES[code]!
}
