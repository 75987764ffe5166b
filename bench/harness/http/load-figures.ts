/** What a run of the HTTP driver has seen. Every request that was due is in exactly one of these places. */

import { SampleSet } from '../figures/sample-set.js'
import type { RequestLoss } from './raw-connection.js'

/**
 * `due = done + timeouts + lost + skipped + cut`. Latencies count from the due time. A request that timed out is a sample too,
 * at the latency it had by then; a lost one is none, because it ended without an answer at a moment that says nothing
 * about how long an answer takes: it counts in `losses`.
 */
export class LoadFigures {
  due = 0
  sent = 0
  done = 0
  /** Under way, or still without a connection, when the run was interrupted. */
  cut = 0
  /** Not sent because every connection was busy, where the plan says so. */
  skipped = 0
  connectionsOpened = 0
  connectionsPeak = 0
  readonly statuses: Record<string, number> = {}
  readonly losses: Record<string, number> = {}
  readonly latency = new SampleSet()
  /** Sent minus due. */
  readonly lateness = new SampleSet()
  /** Latencies by kind of request, in the order of the plan's kinds. */
  readonly byKind: readonly SampleSet[]

  constructor(kinds: number) {
    this.byKind = Array.from({ length: kinds }, () => new SampleSet())
  }

  get lost(): number {
    const all = Object.values(this.losses).reduce((sum, count) => sum + count, 0)
    return all - (this.losses.timeout ?? 0)
  }

  countSent(ms: number): void {
    this.sent++
    this.lateness.record(ms)
  }

  countAnswered(kind: number, status: number, ms: number): void {
    this.done++
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
    this.#recordLatency(kind, ms)
  }

  countUnanswered(kind: number, why: RequestLoss, ms: number): void {
    this.losses[why] = (this.losses[why] ?? 0) + 1
    if (why === 'timeout') this.#recordLatency(kind, ms)
  }

  #recordLatency(kind: number, ms: number): void {
    this.latency.record(ms)
    this.byKind[kind]!.record(ms)
  }
}
