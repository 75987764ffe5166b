/**
 * What clients must have seen, by replay: every arrival waits for the end of the stop that it falls into and is then
 * served. For stops that the server saw arrivals during (hold) its own arrivals are replayed; for stops that it was
 * blind in (block) the schedule that the client declared.
 */

/** A stop of the server; milliseconds on the clock of the arrivals. */
interface ServerStop {
  readonly fromMs: number
  readonly toMs: number
}

interface ArrivalSchedule {
  /** Arrivals per second. */
  readonly rate: number
  readonly pattern: 'constant' | 'poisson'
  readonly fromMs: number
  readonly forMs: number
}

/** More arrivals than this say nothing more about a percentile; a faster schedule is thinned out. */
const MOST_ARRIVALS = 50_000

/**
 * Latencies of `arrivalsMs` in their order: `max(arrival, end of the stop) + delay − arrival`. `delayOf` gives the time
 * of service of the i-th arrival.
 */
export function replayArrivals(
  arrivalsMs: readonly number[],
  stops: readonly ServerStop[],
  delayOf: (index: number) => number,
): number[] {
  const ordered = mergeStops(stops)
  return arrivalsMs.map((arrival, index) => waitUntilStopEnds(arrival, ordered) + delayOf(index))
}

/** Latencies of a declared schedule; Poisson gaps come from a fixed seed, so that a verdict can be repeated. */
export function replaySchedule(
  schedule: ArrivalSchedule,
  stops: readonly ServerStop[],
  delayOf: (index: number) => number,
): number[] {
  return replayArrivals(scheduleArrivals(schedule), stops, delayOf)
}

/** The arrivals of a schedule, in milliseconds, ascending. */
export function scheduleArrivals({ rate, pattern, fromMs, forMs }: ArrivalSchedule): number[] {
  const count = Math.max(1, Math.min(MOST_ARRIVALS, Math.round((rate * forMs) / 1000)))
  const gapMs = forMs / count
  if (pattern === 'constant') return Array.from({ length: count }, (_, i) => fromMs + (i + 0.5) * gapMs)
  return poissonArrivals(fromMs, fromMs + forMs, gapMs)
}

/** The value at probability `p` of values in any order: the least one that at least `p` of all do not exceed. */
export function quantileOf(values: readonly number[], p: number): number {
  return quantileOfSorted(Float64Array.from(values).sort(), p)
}

/** As `quantileOf`, of ascending values; 0 for none. */
export function quantileOfSorted(sorted: ArrayLike<number>, p: number): number {
  const rank = Math.max(1, Math.ceil(p * sorted.length - 1e-9))
  return sorted[rank - 1] ?? 0
}

function poissonArrivals(fromMs: number, toMs: number, meanGapMs: number): number[] {
  const draw = fixedDraws()
  const gap = () => -Math.log(draw()) * meanGapMs
  const arrivals: number[] = []
  for (let at = fromMs + gap(); at < toMs; at += gap()) arrivals.push(at)
  return arrivals
}

function waitUntilStopEnds(arrival: number, stops: readonly ServerStop[]): number {
  for (const { fromMs, toMs } of stops) {
    if (arrival < fromMs) return 0
    if (arrival < toMs) return toMs - arrival
  }
  return 0
}

/** Stops in order; those that touch are one. */
function mergeStops(stops: readonly ServerStop[]): ServerStop[] {
  const result: ServerStop[] = []
  for (const stop of [...stops].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = result.at(-1)
    if (last !== undefined && stop.fromMs <= last.toMs) {
      result[result.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, stop.toMs) }
    } else {
      result.push(stop)
    }
  }
  return result
}

/** Even draws in (0, 1]: a 32-bit counter, mixed. */
function fixedDraws(): () => number {
  let state = 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return (((mixed ^ (mixed >>> 15)) >>> 0) + 1) / 2 ** 32
  }
}
