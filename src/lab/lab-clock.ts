const NS_PER_MS = 1e6
const TRIES = 10

/**
 * Milliseconds to add to `performance.now()` for the clock that all processes of the machine share. The two clocks
 * cannot be read at once: of several tries the one counts that was interrupted least.
 */
export function measureMonotonicOffset(): number {
  let least = Number.POSITIVE_INFINITY
  let offset = 0
  for (let i = 0; i < TRIES; i++) {
    const before = performance.now()
    const shared = Number(process.hrtime.bigint()) / NS_PER_MS
    const after = performance.now()
    if (after - before >= least) continue
    least = after - before
    offset = shared - (before + after) / 2
  }
  return offset
}

/** CPU time of this process so far, its threads included. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
