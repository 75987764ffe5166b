/** How many connections the limit of open files leaves a worker. */
import { InvalidConfigError } from '../config/config.js'

/** What a worker holds besides connections: its loop, the store, journals, messages; measured: 35 and 3 a thread. */
const OF_A_WORKER = 48
const OF_A_THREAD = 4
/** What the supervisor holds, alone and for each worker; measured: 25 and 2. */
const OF_THE_SUPERVISOR = 40
const OF_A_SLOT = 4
/** Below that nothing sensible can be served. */
const LEAST_CONNECTIONS = 32
/** Of a machine without a limit; the number travels as JSON, which has no infinity. */
const MOST_CONNECTIONS = 10_000_000

/** Two thirds of what is left: calls need files and connections to providers beside their own. */
function connectionsWithin(limit: number, poolThreads: number): number {
  return Math.floor(((limit - OF_A_WORKER - OF_A_THREAD * poolThreads) * 2) / 3)
}

/**
 * Connections that a worker may hold: as many as are asked for, or as the limit allows. Throws
 * `InvalidConfigError` when the limit is too low for them, or for the processes themselves.
 */
export function connectionBudget(
  asked: number | 'auto',
  limit: number,
  workers: number,
  poolThreads: number,
): number {
  const allowed = connectionsWithin(limit, poolThreads)
  const wanted = asked === 'auto' ? LEAST_CONNECTIONS : asked
  const ofWorker = Math.ceil((wanted * 3) / 2) + OF_A_WORKER + OF_A_THREAD * poolThreads
  const least = Math.max(ofWorker, OF_THE_SUPERVISOR + OF_A_SLOT * workers)
  if (limit < least || allowed < wanted) {
    const what =
      asked === 'auto' ? `${workers} workers with ${poolThreads} pool threads` : `${asked} connections`
    const problem = `${limit} files may be open at once, and ${what} need at least ${least}: raise the limit`
    throw new InvalidConfigError([{ source: 'ulimit -n', problem }])
  }
  return Math.min(MOST_CONNECTIONS, asked === 'auto' ? allowed : asked)
}
