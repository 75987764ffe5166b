/** How many processes and threads suit a machine. */

/** Up to this many cores every core gets an event loop. */
const SMALL = 4

/**
 * Worker processes for `cores` usable cores: one each up to four, then three for every four. Loops and pool
 * threads share the cores (the pool yields); on larger machines a quarter is left to them, the kernel and the
 * store's writer, which all workers wait for. 1 → 1, 2 → 2, 4 → 4, 16 → 12.
 */
export function workersFor(cores: number): number {
  return cores <= SMALL ? Math.max(1, cores) : Math.max(SMALL, Math.floor((cores * 3) / 4))
}

/** Pool threads per worker, so that all pools together can use every core: cores ÷ workers, at least one. */
export function poolThreadsFor(cores: number, workers: number): number {
  return Math.max(1, Math.floor(cores / workers))
}
