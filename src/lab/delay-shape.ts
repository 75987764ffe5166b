/** How long the report operation takes on purpose: every shape with its parameters, as data. Milliseconds. */
import type { DelayShape } from './control/requests.js'

export type { DelayShape } from './control/requests.js'

/**
 * A shape from the words of a setting: `random`, `quasi`, `constant 200`, `uniform 50 150`, `log-normal 300 900`
 * (median, p99), `bimodal 100 2000 0.05` (fast, slow, share of slow ones) or `load 50 2` (base, more per call under
 * way). Null when it is none.
 */
export function parseDelayShape(words: string, seed: number | null): DelayShape | null {
  const [shape, ...rest] = words.trim().split(/\s+/)
  const numbers = rest.map(Number)
  if (rest.some((text) => !/^[0-9]+(\.[0-9]+)?$/.test(text))) return null
  const [a = 0, b = 0, c = 0] = numbers
  const given = (count: number): boolean => numbers.length === count && numbers.every((n) => n <= MOST_MS)
  if (shape === 'random' && given(0)) return { shape, seed }
  if (shape === 'quasi' && given(0)) return { shape, seed: seed ?? 0 }
  if (shape === 'constant' && given(1)) return { shape, ms: a }
  if (shape === 'uniform' && given(2) && a <= b) return { shape, fromMs: a, toMs: b, seed }
  if (shape === 'log-normal' && given(2) && a > 0 && a <= b) return { shape, medianMs: a, p99Ms: b, seed }
  if (shape === 'bimodal' && given(3) && c <= 1) return { shape, fastMs: a, slowMs: b, slowShare: c, seed }
  if (shape === 'load' && given(2)) return { shape, baseMs: a, perCallMs: b }
  return null
}

const MOST_MS = 600_000
