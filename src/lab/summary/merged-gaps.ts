import { Histogram, type HistogramSnapshot } from '../../base/histogram.js'
import type { ArrivalTimes } from '../worker-snapshots.js'

/** Gaps between the arrivals of all workers together. */
export interface MergedGaps {
  readonly gap: HistogramSnapshot
  readonly gapSquares: number
}

export function mergeGaps(workers: readonly ArrivalTimes[]): MergedGaps {
  const times = Float64Array.from(workers.flatMap((arrivals) => [...decodeArrivalTimes(arrivals)])).sort()
  const histogram = new Histogram()
  let gapSquares = 0
  for (let i = 1; i < times.length; i++) {
    const gap = times[i]! - times[i - 1]!
    histogram.record(gap)
    gapSquares += gap * gap
  }
  return { gap: histogram.snapshot(), gapSquares }
}

function* decodeArrivalTimes({ firstMs, gaps }: ArrivalTimes): Generator<number> {
  if (firstMs === null) return
  const bytes = Buffer.from(gaps, 'base64')
  let time = firstMs
  yield time
  for (let at = 0; at + 4 <= bytes.byteLength; at += 4) yield (time += bytes.readFloatLE(at))
}
