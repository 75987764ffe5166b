/** How well one tape resembles another: recorded and replayed. */
import { type TapedStream, UNITS_PER_MS } from './tape.js'

/** Milliseconds; null where there is nothing to compare. */
export interface Fit {
  readonly kind: 'first token' | 'gap'
  readonly counts: readonly [number, number]
  readonly p50: readonly [number, number]
  readonly p99: readonly [number, number]
  /** Largest distance of the two distributions (Kolmogorov and Smirnov), from 0 to 1. */
  readonly distance: number
}

/** Streams that were held back say nothing of their provider and are left out. */
export function compareTapes(one: readonly TapedStream[], other: readonly TapedStream[]): Fit[] {
  const tapes = [one, other].map((tape) => tape.filter(({ held }) => held !== true)) as [
    TapedStream[],
    TapedStream[],
  ]
  const values = [
    ['first token', ({ ttft }: TapedStream) => (ttft === null ? [] : [ttft])],
    // Events of one read come together: their gaps of 0 count, on both tapes.
    ['gap', ({ gaps }: TapedStream) => gaps],
  ] as const
  return values.flatMap(([kind, of]) => {
    const [a, b] = tapes.map((tape) => Float64Array.from(tape.flatMap(of)).sort()) as [
      Float64Array,
      Float64Array,
    ]
    if (a.length === 0 || b.length === 0) return []
    const pair = (share: number) => [quantile(a, share), quantile(b, share)] as const
    const counts = [a.length, b.length] as const
    return [{ kind, counts, p50: pair(0.5), p99: pair(0.99), distance: distanceOf(a, b) }]
  })
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]! / UNITS_PER_MS
}

/** Of two sorted samples. */
function distanceOf(a: Float64Array, b: Float64Array): number {
  let largest = 0
  let at = 0
  let bt = 0
  while (at < a.length && bt < b.length) {
    const value = Math.min(a[at]!, b[bt]!)
    while (at < a.length && a[at]! <= value) at++
    while (bt < b.length && b[bt]! <= value) bt++
    largest = Math.max(largest, Math.abs(at / a.length - bt / b.length))
  }
  return largest
}
