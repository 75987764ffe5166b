/** The load of a trial: the HTTP driver on a fixed number of connections to 127.0.0.1. */
import { arrivalSchedule } from '../harness/http/arrival-schedule.js'
import { HttpLoad, type OutgoingRequest } from '../harness/http/http-load.js'
import type { HttpResponse } from '../harness/http/raw-connection.js'
import { splitRequestBytes } from '../harness/http/requests.js'

/** What a generator saw. Latencies are milliseconds. */
export type LoadResult = Awaited<ReturnType<typeof runLoad>>

interface LoadSettings {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  readonly request: Buffer | (() => Buffer)
  /** Called when every connection is open and the clock starts. */
  readonly onStart?: () => void
  /** Sees every answer; milliseconds are counted from the due time (open loop) or the sending (closed loop). */
  readonly onAnswer?: (answer: HttpResponse, ms: number) => void
}

/** Open loop settings: the schedule, and what happens to a due request while every connection is busy; it waits by default. */
interface OpenLoopSettings extends LoadSettings {
  readonly perSecond: number
  readonly whenBusy?: 'wait' | 'skip'
}

const PATIENCE_MS = 60_000

/** Each connection sends its next request when the last one is answered; all begun within `seconds` are counted. */
export const closedLoop = (settings: LoadSettings): Promise<LoadResult> => runLoad(settings)

/**
 * Requests are sent at a fixed schedule whatever the server does, and latency counts from the due time, so a stall is
 * felt by every request that fell due during it.
 */
export const openLoop = (settings: OpenLoopSettings): Promise<LoadResult> => runLoad(settings)

async function runLoad(settings: LoadSettings & Partial<OpenLoopSettings>) {
  const { request, port, perSecond: rate, ...plan } = settings
  const known = new WeakMap<Buffer, OutgoingRequest>()
  const next = (): OutgoingRequest => {
    const bytes = Buffer.isBuffer(request) ? request : request()
    const one = known.get(bytes) ?? splitRequestBytes(bytes)
    known.set(bytes, one)
    return one
  }
  const { figures, secondsToLastAnswer } = await new HttpLoad({
    ...plan,
    to: { address: '127.0.0.1', port },
    schedule: rate === undefined ? null : arrivalSchedule([{ seconds: plan.seconds, rate }], 'constant', 0),
    mostConnections: plan.connections,
    timeoutMs: PATIENCE_MS,
    kinds: ['all'],
    request: next,
  }).run()
  const { latency, lateness, statuses, done, due, skipped } = figures
  return {
    latency,
    /** How late requests were sent, compared with the schedule. */
    lateness,
    statuses,
    answered: done,
    /** Requests that got no complete answer. */
    lost: due - done - skipped,
    /** Due requests that were not sent because every connection was busy (`whenBusy: 'skip'` only). */
    notOffered: skipped,
    /** From the start to the last answer. */
    seconds: secondsToLastAnswer,
  }
}

/** How many answers had a status in `from`..`to`. */
export function countStatuses({ statuses }: LoadResult, from: number, to = from): number {
  const within = Object.entries(statuses).filter(([status]) => Number(status) >= from && Number(status) <= to)
  return within.reduce((sum, [, count]) => sum + count, 0)
}

/** Answers outside 2xx plus requests that got none. */
export function failedRequests(result: LoadResult): number {
  return result.answered - countStatuses(result, 200, 299) + result.lost
}
