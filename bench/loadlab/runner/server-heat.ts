/** Latencies by time as the server knows them, for tools that do not say when their samples were. */
import type { RunSummary } from '../../../src/lab/run-summary.js'
import { latencyBandEdges } from '../drivers/heat.js'
import type { HeatCells } from '../report/repetition.js'
import type { LabControl, ServiceSpan } from './control.js'

/** Null where the run is not cut into windows. */
export async function serverHeat(
  control: LabControl,
  run: string,
  operation: string,
  { window, slices }: RunSummary,
): Promise<HeatCells | null> {
  if (slices === undefined || window.seconds <= 0) return null
  const steps = Math.min(slices.count, Math.ceil(window.seconds / slices.seconds))
  const spans: ServiceSpan[] = []
  for (let step = 0; step < steps; step++) {
    const from = step * slices.seconds
    spans.push(await control.serviceTimes(run, operation, from, from + slices.seconds))
  }
  const edgesMs = latencyBandEdges(Math.max(...spans.map(({ max }) => max)))
  return {
    stepMs: slices.seconds * 1000,
    edgesMs,
    counts: spans.map((span) => bandCounts(span, edgesMs)),
    side: 'server',
  }
}

/** Whole numbers whose sum is the span's count: what is below an edge is rounded, not what is between two. */
export function bandCounts(span: ServiceSpan, edgesMs: readonly number[]): number[] {
  const below = edgesMs.map((edge, i) => {
    if (i === 0) return 0
    return i === edgesMs.length - 1 ? span.count : Math.round(span.count * shareBelow(span, edge))
  })
  return below.slice(1).map((count, i) => count - below[i]!)
}

function shareBelow({ points, max }: ServiceSpan, edge: number): number {
  if (edge >= max) return 1
  const next = points.findIndex(({ ms }) => ms > edge)
  if (next === 0) return 0
  const low = points[next < 0 ? points.length - 1 : next - 1] ?? { percentile: 0, ms: 0 }
  const high = next < 0 ? { percentile: 100, ms: max } : points[next]!
  const along = high.ms === low.ms ? 0 : (edge - low.ms) / (high.ms - low.ms)
  return (low.percentile + (high.percentile - low.percentile) * along) / 100
}
