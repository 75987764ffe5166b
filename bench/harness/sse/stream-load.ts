/** The SSE driver: streams that begin when they are due, or so many at a time; some given up, some read slowly. */

import { SampleSet } from '../figures/sample-set.js'
import type { Destination } from '../http/lane.js'
import { Pacer } from '../http/pacer.js'
import type { Schedule } from '../http/schedule.js'
import { type AbortRule, StreamCall, type StreamTimes } from './stream-call.js'
import { StreamLane, type StreamLaneEvents } from './stream-lane.js'

export interface StreamPlan {
  readonly to: Destination
  /** Null: `streams` at a time, each followed by the next. */
  readonly schedule: Schedule | null
  readonly seconds: number
  readonly streams: number
  /** The whole request with this number. */
  readonly request: (index: number) => Buffer
  readonly abort: (index: number) => AbortRule | null
  /** Bytes a second at which stream `index` is read; null as fast as it comes. */
  readonly bytesPerS: (index: number) => number | null
  /** A stream that is silent for so long has failed. */
  readonly silenceMs: number
  /** Gap that the model promises, from which drift counts; null when it promises none. */
  readonly paceMs: number | null
  /** What a good stream keeps; null: every complete one is good. */
  readonly goal: { readonly firstTokenMs: number; readonly gapMs: number } | null
  readonly onStream?: (times: StreamTimes) => void
}

const SWEEP_MS = 50
/** A server that refuses at once must not make the closed loop spin. */
const AFTER_FAILURE_MS = 20

/** `started = sum of ends + cut`. */
export class StreamFigures {
  started = 0
  /** Under way when the run was interrupted. */
  cut = 0
  tokens = 0
  good = 0
  readonly ends: Record<string, number> = {}
  readonly statuses: Record<string, number> = {}
  readonly firstToken = new SampleSet()
  readonly gap = new SampleSet()
  readonly total = new SampleSet()
  readonly drift = new SampleSet()
  readonly lateness = new SampleSet()
  connectionsOpened = 0
}

export interface StreamRun {
  readonly figures: StreamFigures
  readonly seconds: number
  readonly startNs: bigint
  readonly endNs: bigint
  readonly partial: boolean
}

export class StreamLoad {
  readonly figures = new StreamFigures()
  readonly #plan: StreamPlan
  readonly #pacer = new Pacer(() => this.#step())
  readonly #busy = new Set<StreamLane>()
  #idle: StreamLane[] = []
  #opening = 0
  #index = 0
  #startedAt = performance.now()
  #nextDue = Number.POSITIVE_INFINITY
  #endsAt = Number.POSITIVE_INFINITY
  #sweptAt = 0
  #interrupted = false
  #over: (() => void) | null = null

  constructor(plan: StreamPlan) {
    this.#plan = plan
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt
  }

  get underWay(): number {
    return this.#busy.size + this.#opening
  }

  interrupt(): void {
    this.#interrupted = true
  }

  /** Runs to the end of the schedule and waits for the streams under way. */
  async run(): Promise<StreamRun> {
    const { schedule, seconds, streams } = this.#plan
    const startNs = process.hrtime.bigint()
    const began = performance.now()
    this.#startedAt = began
    const lengthMs = schedule?.lengthMs ?? seconds * 1000
    this.#endsAt = began + lengthMs
    if (schedule !== null) this.#nextDue = began + schedule.next()
    else for (let i = 0; i < streams; i++) this.#begin(performance.now())
    await new Promise<void>((resolve) => {
      this.#over = resolve
      this.#pacer.start()
    })
    const ranMs = Math.min(lengthMs, performance.now() - began)
    for (const lane of [...this.#busy, ...this.#idle]) lane.close()
    return {
      figures: this.figures,
      seconds: ranMs / 1000,
      startNs,
      endNs: startNs + BigInt(Math.round(ranMs * 1e6)),
      partial: this.#interrupted,
    }
  }

  #step(): number {
    const now = performance.now()
    if (now - this.#sweptAt >= SWEEP_MS) {
      this.#sweptAt = now
      for (const lane of this.#busy) lane.sweep(now)
    }
    while (this.#nextDue <= performance.now() && !this.#interrupted) {
      const due = this.#nextDue
      this.#nextDue = this.#startedAt + this.#plan.schedule!.next()
      this.#begin(due)
    }
    const scheduled = this.#plan.schedule !== null && this.#nextDue !== Number.POSITIVE_INFINITY
    const done = !scheduled && now >= this.#endsAt && this.underWay === 0
    if (this.#interrupted || done) {
      this.figures.cut = this.underWay
      this.#pacer.stop()
      this.#over?.()
      return Number.POSITIVE_INFINITY
    }
    return Math.min(this.#nextDue, now + SWEEP_MS)
  }

  #begin(dueAt: number): void {
    const index = this.#index++
    this.figures.started++
    const bytesPerS = this.#plan.bytesPerS(index)
    // A slow reader's connection stays slow, so it is never shared.
    const lane = bytesPerS === null ? this.#freeLane() : undefined
    if (lane !== undefined) {
      this.#start(lane, index, dueAt)
      return
    }
    this.#opening++
    let opened = false
    const events: StreamLaneEvents = {
      opened: (fresh) => {
        opened = true
        this.#opening--
        this.figures.connectionsOpened++
        this.#start(fresh, index, dueAt)
      },
      ended: (ended, times) => this.#ended(ended, times, bytesPerS === null),
      gone: (gone) => {
        this.#idle = this.#idle.filter((one) => one !== gone)
        if (opened) return
        this.#opening--
        this.figures.ends.refused = (this.figures.ends.refused ?? 0) + 1
        this.#next(false)
      },
    }
    new StreamLane(this.#plan.to, bytesPerS, this.#plan.silenceMs, events)
  }

  #freeLane(): StreamLane | undefined {
    for (;;) {
      const lane = this.#idle.pop()
      if (lane === undefined || lane.open) return lane
    }
  }

  #start(lane: StreamLane, index: number, dueAt: number): void {
    this.#busy.add(lane)
    lane.start(this.#plan.request(index), this.#callOf(dueAt), this.#plan.abort(index))
  }

  #callOf(dueAt: number): StreamCall {
    const now = performance.now()
    this.#pacer.worked()
    this.figures.lateness.record(now - dueAt)
    return new StreamCall(dueAt, now, this.#plan.paceMs, (gapMs) => this.#token(gapMs))
  }

  #token(gapMs: number): void {
    this.figures.tokens++
    if (gapMs >= 0) this.figures.gap.record(gapMs)
  }

  #ended(lane: StreamLane, times: StreamTimes, reusable: boolean): void {
    this.#pacer.worked()
    this.#busy.delete(lane)
    this.#book(times)
    if (lane.open && reusable) this.#idle.push(lane)
    else lane.close()
    this.#next(times.end === 'complete' || times.end === 'aborted')
  }

  /** A closed loop begins the next stream where one has ended. */
  #next(good: boolean): void {
    if (this.#plan.schedule !== null) return
    const again = (): void => {
      const now = performance.now()
      if (now < this.#endsAt && !this.#interrupted) this.#begin(now)
    }
    if (good) again()
    else setTimeout(again, AFTER_FAILURE_MS)
  }

  #book(times: StreamTimes): void {
    const { figures } = this
    const { end, status, tokens, firstTokenMs, totalMs, driftMs } = times
    figures.ends[end] = (figures.ends[end] ?? 0) + 1
    if (status > 0) figures.statuses[status] = (figures.statuses[status] ?? 0) + 1
    if (tokens > 0) figures.firstToken.record(firstTokenMs)
    if (end === 'complete') {
      figures.total.record(totalMs)
      if (this.#plan.paceMs !== null) figures.drift.record(driftMs)
      if (isGood(times, this.#plan.goal)) figures.good++
    }
    this.#plan.onStream?.(times)
  }
}

function isGood({ firstTokenMs, worstGapMs, tokens }: StreamTimes, goal: StreamPlan['goal']): boolean {
  if (goal === null) return true
  return tokens > 0 && firstTokenMs <= goal.firstTokenMs && worstGapMs <= goal.gapMs
}
