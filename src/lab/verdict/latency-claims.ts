/** The latencies that a tool prints. */
import type { LoadToolReport } from '../run-summary.js'

export interface QuantileClaim {
  /** As the tool's report names it: `p99.9`. */
  readonly name: string
  /** 0 to 1. */
  readonly p: number
  readonly ms: number
}

/** The least number of steps of a tool's clock that make a latency more than its rounding. */
export const LEAST_QUANTA = 10

/** The report's percentiles, ascending by probability; names that are none are left out. */
export function latencyClaims({ percentiles }: LoadToolReport): QuantileClaim[] {
  return Object.entries(percentiles)
    .map(([name, ms]) => ({ name, p: probabilityOf(name), ms }))
    .filter(({ p, ms }) => p > 0 && p < 1 && Number.isFinite(ms))
    .sort((a, b) => a.p - b.p)
}

/** 0.999 of `p99.9`; NaN for a name that is none. */
export function probabilityOf(name: string): number {
  return name.startsWith('p') && name.length > 1 ? Number(name.slice(1)) / 100 : Number.NaN
}
