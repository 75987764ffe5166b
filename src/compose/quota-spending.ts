/** What rows of the ledger take out of quotas of money. */
import { keyMoneyQuota, organizationMoneyQuota } from '../gateway/accounting/claims.js'
import { COVERAGE_PERIODS, decodeCoverage } from '../store/ledger/coverage.js'
import { hourStart } from '../store/ledger/generation-time.js'
import type { UsageDelta } from '../store/ledger/ledger-batch.js'

/** An amount of one quota, in nano-dollars. */
interface QuotaSpending {
  readonly name: string
  readonly amount: number
  /** It was reserved from a lease. */
  readonly leased: boolean
}

/** Every quota that there may be for these, each at most once with a lease and once without; nothing of 0. */
export function quotaSpending(deltas: readonly UsageDelta[]): QuotaSpending[] {
  const amounts = new Map<string, { name: string; amount: number; leased: boolean }>()
  const add = (name: string, amount: number, leased: boolean): void => {
    const known = amounts.get(`${leased} ${name}`)
    if (known === undefined) amounts.set(`${leased} ${name}`, { name, amount, leased })
    else known.amount += amount
  }
  for (const { keyHash, organizationId, hour, coverage, cost, byok } of deltas) {
    const { key, organization, byok: counts = false } = decodeCoverage(coverage)
    for (const reset of COVERAGE_PERIODS) {
      for (const inclusive of [false, true]) {
        const name = keyMoneyQuota(keyHash, { reset, inclusive }, hourStart(hour))
        add(name, inclusive ? cost + byok : cost, key === reset && counts === inclusive)
      }
    }
    add(organizationMoneyQuota(organizationId), cost, organization)
  }
  return [...amounts.values()].filter(({ amount }) => amount > 0)
}
