const NS_PER_MS = 1e6

/** Milliseconds to add to `performance.now()` for the clock that all processes of the machine share. */
export function toMonotonicMs(): number {
  const before = performance.now()
  const shared = Number(process.hrtime.bigint()) / NS_PER_MS
  return shared - (before + performance.now()) / 2
}

/** CPU time of this process so far, its threads included. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
