import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from '../../src/base/histogram.js'
import type { Answer } from '../harness/http/connection.js'
import { Connection, ConnectionLost } from '../harness/http/connection.js'
import { pace } from './pace.js'

/** What a generator saw. Latencies are milliseconds. */
export interface LoadResult {
  readonly latency: Histogram
  readonly statuses: ReadonlyMap<number, number>
  /** Requests that got no complete answer. */
  readonly lost: number
  /** Due requests that were not sent because every connection was busy (`whenBusy: 'skip'` only). */
  readonly notOffered: number
  /** How late requests were sent, compared with the schedule; empty for a closed loop. */
  readonly lateness: Histogram
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
  readonly onAnswer?: (answer: Answer, ms: number) => void
}

// A server that is gone refuses at once: without a rest the loop would only burn CPU.
const AFTER_LOSS_MS = 5

class Tally {
  readonly latency = new Histogram()
  readonly statuses = new Map<number, number>()
  lost = 0
  notOffered = 0
  readonly #start = performance.now()

  constructor(readonly onAnswer: LoadSettings['onAnswer']) {}

  answered(answer: Answer, since: number): void {
    const ms = performance.now() - since
    this.latency.record(ms)
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1)
    this.onAnswer?.(answer, ms)
  }

  result(lateness: Histogram): LoadResult {
    const { latency, statuses, lost, notOffered } = this
    return {
      latency,
      statuses,
      lost,
      notOffered,
      lateness,
      seconds: (performance.now() - this.#start) / 1_000,
    }
  }
}

/** Opens `count` connections one after the other. Faults: ConnectionLost. */
export async function openAll(port: number, count: number): Promise<Connection[]> {
  const all: Connection[] = []
  for (let i = 0; i < count; i++) all.push(await Connection.open(port))
  return all
}

/** A keep-alive connection that may be used again, or a new one in its place. Faults: ConnectionLost. */
function usableOrNew(connection: Connection, port: number): Connection | Promise<Connection> {
  return connection.usable ? connection : Connection.open(port)
}

/**
 * Closed loop: each connection sends its next request when the last one is answered. Requests begun within
 * `seconds` are all counted, also those answered later, so that slow answers are not cut off.
 */
export async function closedLoop(settings: LoadSettings): Promise<LoadResult> {
  const connections = await openAll(settings.port, settings.connections)
  settings.onStart?.()
  const tally = new Tally(settings.onAnswer)
  const end = performance.now() + settings.seconds * 1_000
  const lane = async (first: Connection): Promise<void> => {
    let connection = first
    while (performance.now() < end) {
      try {
        connection = await usableOrNew(connection, settings.port)
        const sent = performance.now()
        tally.answered(await connection.send(settings.request()), sent)
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        tally.lost++
        await sleep(AFTER_LOSS_MS)
      }
    }
    connection.drop()
  }
  await Promise.all(connections.map(lane))
  return tally.result(new Histogram())
}

/** Open loop settings: the schedule, and what happens to a due request while every connection is busy. */
export interface OpenLoopSettings extends LoadSettings {
  readonly perSecond: number
  readonly whenBusy: 'wait' | 'skip'
  readonly precise?: boolean
}

/**
 * Open loop: requests are sent at a fixed schedule whatever the server does, and latency counts from the due
 * time, so a stall is felt by every request that fell due during it.
 */
export async function openLoop(settings: OpenLoopSettings): Promise<LoadResult> {
  const free = await openAll(settings.port, settings.connections)
  settings.onStart?.()
  const tally = new Tally(settings.onAnswer)
  const waiting: number[] = []
  const running = new Set<Promise<void>>()
  // A connection serves its own request and then whatever fell due meanwhile; it is freed when nothing waits.
  const serve = async (first: Connection, firstDue: number): Promise<void> => {
    let connection = first
    for (let due: number | undefined = firstDue; due !== undefined; due = waiting.shift()) {
      try {
        if (!connection.usable) connection = await Connection.open(settings.port)
        tally.answered(await connection.send(settings.request()), due)
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        tally.lost++
      }
    }
    free.push(connection)
  }
  // The oldest free connection is next: all of them stay in use and none reaches the server's idle limit.
  let head = 0
  const lateness = await pace(settings, (due) => {
    const connection = free[head]
    if (!connection) {
      if (settings.whenBusy === 'wait') waiting.push(due)
      else tally.notOffered++
      return
    }
    head++
    if (head > 4_096) {
      free.splice(0, head)
      head = 0
    }
    const served = serve(connection, due)
    running.add(served)
    void served.finally(() => running.delete(served))
  })
  await Promise.all(running)
  for (const connection of free) connection.drop()
  return tally.result(lateness)
}

/** How many answers had a status in `from`..`to`. */
export function countStatuses(result: LoadResult, from: number, to = from): number {
  let sum = 0
  for (const [status, count] of result.statuses) if (status >= from && status <= to) sum += count
  return sum
}

/** Answers outside 2xx plus requests that got none. */
export function failuresOf(result: LoadResult): number {
  return result.latency.count - countStatuses(result, 200, 299) + result.lost
}
