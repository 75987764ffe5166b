/** What rows of the ledger take out of quotas of money. */
import { keyMoneyQuota, organizationMoneyQuota } from '../gateway/accounting/claims.js'
import { hourStart } from '../store/ledger/generation-time.js'
import type { UsageDelta } from '../store/ledger/ledger-batch.js'
import { COVERAGE_PERIODS, decodeCoverage } from '../store/ledger/row-text.js'

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
  for (const { keyHash, organizationId, hour, coverage, cost } of deltas) {
    if (cost === 0) continue
    const { key, organization } = decodeCoverage(coverage)
    for (const reset of COVERAGE_PERIODS)
      add(keyMoneyQuota(keyHash, reset, hourStart(hour)), cost, key === reset)
    add(organizationMoneyQuota(organizationId), cost, organization)
  }
  return [...amounts.values()]
}
