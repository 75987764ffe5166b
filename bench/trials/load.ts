/** The load of a trial: the HTTP driver on a fixed number of connections to 127.0.0.1. */
import type { SampleSet } from '../harness/figures/sample-set.js'
import { arrivalSchedule } from '../harness/http/arrival-schedule.js'
import { HttpLoad, type OutgoingRequest } from '../harness/http/http-load.js'
import type { HttpResponse } from '../harness/http/raw-connection.js'
import { splitRequestBytes } from '../harness/http/request-text.js'

/** What a generator saw. Latencies are milliseconds. */
export interface LoadResult {
  readonly latency: SampleSet
  readonly answered: number
  readonly statuses: Readonly<Record<string, number>>
  /** Requests that got no complete answer. */
  readonly lost: number
  /** Due requests that were not sent because every connection was busy (`whenBusy: 'skip'` only). */
  readonly notOffered: number
  /** How late requests were sent, compared with the schedule. */
  readonly lateness: SampleSet
  /** From the start to the last answer, seconds. */
  readonly seconds: number
}

interface LoadSettings {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  readonly request: () => Buffer
  /** Called when every connection is open and the clock starts. */
  readonly onStart?: () => void
  /** Sees every answer; milliseconds are counted from the due time (open loop) or the sending (closed loop). */
  readonly onAnswer?: (answer: HttpResponse, ms: number) => void
}

/** Open loop settings: the schedule, and what happens to a due request while every connection is busy. */
interface OpenLoopSettings extends LoadSettings {
  readonly perSecond: number
  readonly whenBusy: 'wait' | 'skip'
}

const PATIENCE_MS = 60_000

/** Each connection sends its next request when the last one is answered; all begun within `seconds` are counted. */
export function closedLoop(settings: LoadSettings): Promise<LoadResult> {
  return runLoad(settings, null, 'wait')
}

/**
 * Requests are sent at a fixed schedule whatever the server does, and latency counts from the due time, so a stall is
 * felt by every request that fell due during it.
 */
export function openLoop(settings: OpenLoopSettings): Promise<LoadResult> {
  return runLoad(settings, settings.perSecond, settings.whenBusy)
}

async function runLoad(
  { request, port, connections, seconds, onStart, onAnswer }: LoadSettings,
  rate: number | null,
  whenBusy: 'wait' | 'skip',
): Promise<LoadResult> {
  const known = new WeakMap<Buffer, OutgoingRequest>()
  const outgoing = (bytes: Buffer): OutgoingRequest => {
    const one = known.get(bytes) ?? splitRequestBytes(bytes)
    known.set(bytes, one)
    return one
  }
  const { figures, secondsToLastAnswer: wholeSeconds } = await new HttpLoad({
    to: { address: '127.0.0.1', port },
    schedule: rate === null ? null : arrivalSchedule([{ seconds, rate }], 'constant', 0),
    seconds,
    connections,
    mostConnections: connections,
    timeoutMs: PATIENCE_MS,
    kinds: ['all'],
    request: () => outgoing(request()),
    whenBusy,
    ...(onStart !== undefined && { onStart }),
    ...(onAnswer !== undefined && { onAnswer }),
  }).run()
  const { latency, lateness, statuses, done, due, skipped } = figures
  return {
    latency,
    lateness,
    statuses,
    answered: done,
    lost: due - done - skipped,
    notOffered: skipped,
    seconds: wholeSeconds,
  }
}

/** How many answers had a status in `from`..`to`. */
export function countStatuses({ statuses }: LoadResult, from: number, to = from): number {
  return Object.entries(statuses).reduce(
    (sum, [status, count]) => (Number(status) >= from && Number(status) <= to ? sum + count : sum),
    0,
  )
}

/** Answers outside 2xx plus requests that got none. */
export function failedRequests(result: LoadResult): number {
  return result.answered - countStatuses(result, 200, 299) + result.lost
}
