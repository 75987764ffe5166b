/** What a batch adds to the sums of hours and of payers, as columns of a statement: each sum once, in the order of its key. */
import { CALENDAR_PERIODS, type CalendarPeriod, periodNumber } from '../../base/utc-period.js'
import { hourStart } from '../ledger/generation-time.js'
import { addUsage, noUsage, type UsageDelta, type UsageSums, usageByPayer } from '../ledger/ledger-batch.js'
import { USAGE_FIGURES } from '../ledger/ledger-query.js'
import { addFigures, noFigures } from '../ledger/usage-table.js'
import type { LedgerPayer, UsageFigures } from '../ledger-store.js'

/** Name of the sum of a period, as quotas of money name it; null is all time. */
export function periodName(
  period: { readonly name: CalendarPeriod; readonly number: number } | null,
): string {
  return period === null ? 'never' : `${period.name}${period.number}`
}

/** Names of the sums that a moment counts in. */
export function periodsAt(unixMs: number): string[] {
  return [
    periodName(null),
    ...CALENDAR_PERIODS.map((name) => periodName({ name, number: periodNumber(name, unixMs) })),
  ]
}

/** In the order of the parameters `hour_…` of `sluice.take_journals`. */
export function hourColumns(deltas: readonly UsageDelta[]): readonly unknown[] {
  const hours = new Map<string, { readonly of: UsageDelta; readonly used: UsageFigures }>()
  for (const of of deltas) {
    const { hour, organizationId, keyHash, workspaceId, model, provider } = of
    const name = [organizationId, hour, keyHash, workspaceId ?? '', model, provider].join('\0')
    const known = hours.get(name)
    if (known === undefined) hours.set(name, { of, used: addFigures(noFigures(), of) })
    else addFigures(known.used, of)
  }
  const sums = [...hours].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
  return [
    sums.map(({ of }) => of.hour),
    sums.map(({ of }) => of.organizationId),
    sums.map(({ of }) => of.keyHash),
    sums.map(({ of }) => of.workspaceId ?? ''),
    sums.map(({ of }) => of.model),
    sums.map(({ of }) => of.provider),
    ...USAGE_FIGURES.map((member) => sums.map(({ used }) => used[member])),
  ]
}

/** In the order of the parameters `sum_…` of `sluice.take_journals`. */
export function sumColumns(deltas: readonly UsageDelta[]): readonly unknown[] {
  const parts: Sum<readonly [LedgerPayer, string]>[] = []
  const periodsOf = new Map<number, readonly string[]>()
  for (const delta of deltas) {
    const periods = periodsOf.get(delta.hour) ?? periodsAt(hourStart(delta.hour))
    periodsOf.set(delta.hour, periods)
    for (const { payer, used } of usageByPayer(delta)) {
      for (const period of periods) parts.push({ key: [payer, period], used })
    }
  }
  const sums = sumUp(parts)
  return [sums.map(({ key }) => key[0]), sums.map(({ key }) => key[1]), ...usageColumns(sums)]
}

interface Sum<K> {
  readonly key: K
  readonly used: UsageSums
}

function sumUp<K extends readonly (string | number)[]>(parts: readonly Sum<K>[]): Sum<K>[] {
  const sums = new Map<string, Sum<K>>()
  for (const { key, used } of parts) {
    const name = key.join(' ')
    const known = sums.get(name)
    if (known === undefined) {
      const sum = noUsage()
      addUsage(sum, used)
      sums.set(name, { key, used: sum })
    } else addUsage(known.used, used)
  }
  // Any order does, as long as all machines have the same.
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}

function usageColumns(sums: readonly Sum<unknown>[]): readonly unknown[] {
  return [
    sums.map(({ used }) => used.cost),
    sums.map(({ used }) => used.promptTokens),
    sums.map(({ used }) => used.completionTokens),
    sums.map(({ used }) => used.calls),
  ]
}
