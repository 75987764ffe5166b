/** A what-if for people. */
import type { WhatIfAnswer } from '../../gateway/what-if/wire.js'
import { formatTable } from '../command.js'

interface Range {
  readonly value: number
  readonly low: number
  readonly high: number
  readonly basis: 'exact' | 'estimated'
}

const MOST_LINES = 10

export function formatWhatIf(answer: WhatIfAnswer): string {
  const { calls, cost, by, notes } = answer
  const share = (part: number): string => (calls.all === 0 ? '0' : ((part / calls.all) * 100).toFixed(1))
  const head =
    `${calls.all} calls from ${answer.since} to ${answer.until}: ${calls.exact} exact (${share(calls.exact)} %), ` +
    `${calls.estimated} estimated (${share(calls.estimated)} %), ${calls.unknown} unknown (${share(calls.unknown)} %)\n` +
    `configuration ${answer.config_version}, played ${answer.replicates} times, seed ${answer.seed}; ranges hold with 95 % certainty\n` +
    notes.map((note) => `note: ${note}\n`).join('')
  if (calls.all === 0) return head
  const money = formatTable([
    ['', 'before', 'after', 'range'],
    ['cost', dollars(cost.before), ...rangeOf(cost.after, dollars)],
    ...(calls.unknown === 0 ? [] : [['of unknown calls', dollars(cost.unknown), '-', '-']]),
    ['calls without an answer', String(answer.failed.before), ...rangeOf(answer.failed.after, whole)],
    ...Object.entries(answer.refused)
      .filter(([, { high }]) => high > 0)
      .map(([kind, range]) => [`refused: ${kind.replaceAll('_', ' ')}`, '0', ...rangeOf(range, whole)]),
    ...timesOf('first event', answer.first_event_ms),
    ...timesOf('whole answer', answer.total_ms),
  ])
  const groups = (['model', 'provider', 'key'] as const).map((group) => {
    const rows = by[group].slice(0, MOST_LINES).map(({ name, before, after }) => {
      return [group === 'key' ? name.slice(0, 12) : name, dollars(before), ...rangeOf(after, dollars)]
    })
    const left = by[group].length - rows.length
    return (
      formatTable([[group, 'before', 'after', 'range'], ...rows]) + (left > 0 ? `and ${left} more\n` : '')
    )
  })
  return [head, money, ...groups].join('\n')
}

function timesOf(what: string, { before, after }: WhatIfAnswer['total_ms']): (readonly (string | null)[])[] {
  if (after === null) return []
  return (['p50', 'p95', 'p99'] as const).map((name) => [
    `${what} ${name}`,
    before === null ? null : milliseconds(before[name]),
    ...rangeOf(after[name], milliseconds),
  ])
}

/** The figure, and its range unless nothing of it was drawn: a range without width is none the less an estimate. */
function rangeOf(
  { value, low, high, basis }: Range,
  format: (value: number) => string,
): readonly [string, string] {
  return [format(value), basis === 'exact' ? 'exact' : `${format(low)} to ${format(high)}`]
}

const dollars = (amount: number): string => `$${amount.toFixed(6)}`
const milliseconds = (ms: number): string => `${ms < 100 ? ms.toFixed(1) : Math.round(ms)} ms`
const whole = (count: number): string => String(Math.round(count))
