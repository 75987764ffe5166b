/** How long after a peak the latency is back where it was before. */
import { quantileOfSorted } from '../../harness/figures/statistics.js'

const STEP_MS = 250
/** Back is less than this many times the p99 before the peak; and what is below this many milliseconds is no trouble. */
const BACK_FACTOR = 1.5
const UNTROUBLED_MS = 2

/**
 * Milliseconds from `peakEndsMs` to the begin of the first step from which on every step has a p99 as before the peak.
 * `samples` are due times and latencies; the time before the peak is taken to be as long as the time behind it.
 */
export function recoveryMs(
  samples: readonly (readonly [dueMs: number, latencyMs: number])[],
  peakEndsMs: number,
  endMs: number,
): number {
  const calm = samples.filter(([dueMs]) => dueMs < endMs - peakEndsMs).map(([, ms]) => ms)
  const limit = Math.max(UNTROUBLED_MS, p99Of(calm) * BACK_FACTOR)
  let back = peakEndsMs
  for (let from = peakEndsMs; from < endMs; from += STEP_MS) {
    const step = samples.filter(([dueMs]) => dueMs >= from && dueMs < from + STEP_MS).map(([, ms]) => ms)
    if (p99Of(step) > limit) back = from + STEP_MS
  }
  return back - peakEndsMs
}

function p99Of(values: readonly number[]): number {
  return quantileOfSorted(Float64Array.from(values).sort(), 0.99)
}
