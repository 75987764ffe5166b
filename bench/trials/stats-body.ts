import { requestOnce } from '../harness/http/connection.js'
import { STATS } from './requests.js'

/** The parts of `GET /stats` that the trials hold against their own counts. */
interface StatsBody {
  readonly worker: number
  readonly pid: number
  readonly requests: {
    readonly total: number
    readonly in_flight: number
    readonly aborted: number
    readonly by_status: Readonly<Record<string, number>>
  }
  readonly operations: Readonly<
    Record<string, { readonly count: number; readonly errors: number; readonly in_flight: number }>
  >
}

/** The last stats body of every worker, and how many such requests it took. */
export type StatsSweep = Awaited<ReturnType<typeof sweepStats>>

/**
 * Asks on fresh connections until `workers` different processes have answered.
 * Faults: Error after 400 connections, or when an answer is no stats body.
 */
export async function sweepStats(port: number, workers: number) {
  const last = new Map<number, StatsBody>()
  let asked = 0
  for (let attempt = 0; last.size < workers; attempt++) {
    if (attempt === 400)
      throw new Error(`only ${last.size} of ${workers} workers answered to 400 connections`)
    const answer = await requestOnce(port, STATS)
    if (answer?.status !== 200) throw new Error(`stats were answered with ${answer?.status ?? 'nothing'}`)
    const body = JSON.parse(answer.body.toString('utf8')) as StatsBody
    last.set(body.pid, body)
    asked++
  }
  return {
    workers: [...last.values()],
    /** Requests of the less used worker. */
    leastRequests: Math.min(...[...last.values()].map(({ requests }) => requests.total)),
    /** Stats requests that were answered. */
    asked,
    /** Of these, how many are certainly in the bodies: those that came before a worker's last one. */
    settled: asked - last.size,
  }
}
