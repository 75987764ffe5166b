/** Days or hours one after the other, also those in which nothing was. */
import type { Sums, UsageLine } from './wire.ts'

export type Span = 'day' | 'hour'

export interface Slot extends Sums {
  readonly at: string
}

const NOTHING: Sums = {
  ...{ calls: 0, failed: 0, prompt_tokens: 0, completion_tokens: 0, cost: 0, byok_cost: 0 },
}
const LENGTH_MS: Readonly<Record<Span, number>> = { day: 24 * 60 * 60 * 1000, hour: 60 * 60 * 1000 }

export function slotsOf(span: Span, from: string, count: number, lines: readonly UsageLine[]): Slot[] {
  const known = new Map(lines.map((line) => [Date.parse(line.hour ?? line.day ?? ''), line]))
  const begin = Date.parse(from)
  return Array.from({ length: count }, (_, n) => {
    const at = begin + n * LENGTH_MS[span]
    return { ...NOTHING, ...known.get(at), at: new Date(at).toISOString() }
  })
}

export function sumOf(lines: readonly Sums[]): Sums {
  const names = Object.keys(NOTHING) as (keyof Sums)[]
  const sum = (name: keyof Sums): number => lines.reduce((before, line) => before + line[name], 0)
  return Object.fromEntries(names.map((name) => [name, sum(name)])) as unknown as Sums
}
