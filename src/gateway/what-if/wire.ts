/** The answer to a what-if as callers get it: dollars, ISO times, snake_case. */
import { isoTime } from '../../base/clock.js'
import { NANOS_PER_DOLLAR } from '../../base/money.js'
import type { Catalog } from '../catalog/catalog.js'
import type { WhatIfLine, WhatIfReport } from './report.js'
import type { Interval, Quantiles } from './sums.js'

interface Asked {
  readonly catalog: Pick<Catalog, 'version'>
  readonly since: number
  readonly until: number
  readonly historySince: number
  readonly replicates: number
  readonly seed: number
  /** How long the ledger keeps rows. */
  readonly ledgerDays: number
}

export type WhatIfAnswer = ReturnType<typeof whatIfAnswer>

export function whatIfAnswer(report: WhatIfReport, asked: Asked) {
  const { calls, refused, failed, money, firstEventMs, totalMs, by } = report
  return {
    since: isoTime(asked.since),
    until: isoTime(asked.until),
    history_since: isoTime(asked.historySince),
    config_version: asked.catalog.version,
    replicates: asked.replicates,
    seed: asked.seed,
    notes: notesOf(report, asked),
    calls,
    refused,
    failed,
    cost: { before: dollars(money.before), after: dollarsOf(money.after), unknown: dollars(money.unknown) },
    first_event_ms: times(firstEventMs),
    total_ms: times(totalMs),
    by: { model: by.model.map(line), provider: by.provider.map(line), key: by.key.map(line) },
  }
}

const dollars = (nanos: number): number => Math.round(nanos) / NANOS_PER_DOLLAR

function dollarsOf({ value, low, high, basis }: Interval): Interval {
  return { value: dollars(value), low: dollars(low), high: dollars(high), basis }
}

/** What makes figures say less than they seem to. */
function notesOf({ calls, refused, limits }: WhatIfReport, { ledgerDays }: Asked): string[] {
  if (calls.all === 0)
    return [`there is no call in this time; rows are kept for ${ledgerDays} days (SLUICE_LEDGER_DAYS)`]
  return [
    ...(refused.no_endpoint.value === calls.all ? [NO_MODEL] : []),
    ...limits.unmet.slice(0, MOST_NAMED).map((entry) => `limits.${entry} ${IDLE}`),
    ...(limits.unmet.length > MOST_NAMED
      ? [`nor have ${limits.unmet.length - MOST_NAMED} more entries of limits`]
      : []),
  ]
}

const MOST_NAMED = 20
const IDLE = 'has no effect: no call of this time is of it'

const NO_MODEL =
  'none of the calls has an endpoint in this configuration: are its models those that were called?'

function line({ name, before, after }: WhatIfLine) {
  return { name, before: dollars(before), after: dollarsOf(after) }
}

function times({ before, after }: WhatIfReport['totalMs']): {
  readonly before: Quantiles<number> | null
  readonly after: Quantiles<Interval> | null
} {
  return { before, after }
}
