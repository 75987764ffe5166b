/**
 * What a client must see when everything between it and the server is perfect, by formula. Quantiles are given by a
 * probability of 0 to 1; times are milliseconds.
 */

/** An even distribution, as the report operation delays by: 100 to 500 ms unless configured otherwise. */
interface Uniform {
  readonly lowMs: number
  readonly highMs: number
}

const REPORT_DELAY: Uniform = { lowMs: 100, highMs: 500 }

export function uniformQuantile(p: number, { lowMs, highMs }: Uniform = REPORT_DELAY): number {
  return lowMs + p * (highMs - lowMs)
}

export function uniformMean({ lowMs, highMs }: Uniform = REPORT_DELAY): number {
  return (lowMs + highMs) / 2
}

export function uniformDeviation({ lowMs, highMs }: Uniform = REPORT_DELAY): number {
  return (highMs - lowMs) / Math.sqrt(12)
}

/** Standard error of a quantile of `count` independent even draws: the density is the same at every quantile. */
export function uniformQuantileError(
  p: number,
  count: number,
  { lowMs, highMs }: Uniform = REPORT_DELAY,
): number {
  return (highMs - lowMs) * Math.sqrt((p * (1 - p)) / count)
}

/**
 * The ranks (from 1, clipped to the sample) between which the true quantile lies with 95 %, whatever the distribution.
 */
export function orderStatisticRanks(p: number, count: number): readonly [low: number, high: number] {
  const half = 1.96 * Math.sqrt(count * p * (1 - p))
  const clip = (rank: number) => Math.min(count, Math.max(1, rank))
  return [clip(Math.floor(count * p - half)), clip(Math.ceil(count * p + half))]
}

/** Requests per second of a closed loop, by Little's law. */
export function closedLoopRate(connections: number, meanMs: number, roundTripMs = 0): number {
  return (connections * 1000) / (meanMs + roundTripMs)
}

/**
 * Connections that an open loop needs so that it never has to wait for one: requests in flight spread like Poisson
 * around `rate` times the mean, and four deviations above it are as good as never.
 */
export function connectionsNeeded(rate: number, meanMs: number): number {
  const inFlight = (rate * meanMs) / 1000
  return Math.ceil(inFlight + 4 * Math.sqrt(inFlight))
}

/** One stop of `stallMs` within an even, open schedule of `windowMs` of a fast operation: the mean latency. */
export function stallMean(stallMs: number, windowMs: number, baseMs = 0): number {
  return stallMs ** 2 / (2 * windowMs) + baseMs
}

/** The same stop: the share `stallMs / windowMs` of the requests waits evenly between 0 and `stallMs`. */
export function stallQuantile(p: number, stallMs: number, windowMs: number, baseMs = 0): number {
  return 1 - p < stallMs / windowMs ? stallMs - (1 - p) * windowMs + baseMs : baseMs
}

/**
 * Mean wait before a worker that needs `serviceMs` for each request, at utilisation `rho` below 1: nothing for even
 * spacing, M/D/1 for Poisson arrivals. From a utilisation of 1 on no wait is the last one.
 */
export function queueWait(serviceMs: number, rho: number, pattern: 'constant' | 'poisson'): number {
  if (rho >= 1) return Number.POSITIVE_INFINITY
  return pattern === 'constant' ? 0 : (rho * serviceMs) / (2 * (1 - rho))
}
