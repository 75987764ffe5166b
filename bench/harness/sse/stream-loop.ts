/** The loop of the SSE driver: streams that begin when they are due, or so many at a time; some given up, some read slowly. */

import type { ArrivalSchedule } from '../http/arrival-schedule.js'
import { Pacer } from '../http/pacer.js'
import type { Destination } from '../http/raw-connection.js'
import { RawStreamConnection, type RawStreamEvents } from './raw-stream-connection.js'
import type { AbortRule, StreamObserver } from './timed-stream.js'

/** Spare connections for the arrivals of a trace, which come in bursts. */
export const SPARE_FOR_BURSTS = 16

export interface StreamLoopPlan {
  readonly to: Destination
  /** Null: `streams` at a time, each followed by the next. */
  readonly schedule: ArrivalSchedule | null
  readonly seconds: number
  readonly streams: number
  /**
   * Connections that are open before the first stream is due, and again when one was taken: so none of a burst waits for
   * one to open. Without it each opens its own where none is free.
   */
  readonly spare?: number
  /** The first ones begin spread over this time, so that streams of one length do not march in step. */
  readonly spreadMs?: number
  /** The whole request with this number. */
  readonly request: (index: number) => Buffer
  readonly abort?: (index: number) => AbortRule | null
  /** Bytes a second at which stream `index` is read; null as fast as it comes. */
  readonly bytesPerS?: (index: number) => number | null
  /** A stream that is silent for so long has failed. */
  readonly silenceMs: number
}

/** What a loop asks for and tells. */
interface StreamLoopEvents<Outcome> {
  /** The stream with this number is sent now. */
  call(index: number, dueAt: number, now: number): StreamObserver<Outcome>
  /** It has ended; true when that was well, and a closed loop may begin the next one at once. */
  ended(outcome: Outcome, index: number): boolean
  /** No connection could be opened for it. */
  refused(index: number): void
  opened?(): void
  /** The first streams of a closed loop have all begun. */
  allBegun?(): void
}

export interface StreamLoopResult {
  readonly seconds: number
  readonly startNs: bigint
  readonly endNs: bigint
  /** Streams under way when the run was interrupted. */
  readonly cut: number
  readonly partial: boolean
}

const SWEEP_MS = 50
/** A server that refuses at once must not make the closed loop spin. */
const AFTER_FAILURE_MS = 20

export class StreamLoop<Outcome> {
  /** Streams that were due so far. */
  started = 0
  readonly #plan: StreamLoopPlan
  readonly #events: StreamLoopEvents<Outcome>
  readonly #pacer = new Pacer(() => this.#step())
  readonly #busy = new Set<RawStreamConnection<Outcome>>()
  #idle: RawStreamConnection<Outcome>[] = []
  #opening = 0
  /** Of them those that no stream waits for. */
  #openingSpare = 0
  /** One could not be opened, or was closed unused: no spare ones are tried until a stream has ended well. */
  #isRefusing = false
  #startedAt = performance.now()
  #nextDue = Number.POSITIVE_INFINITY
  #endsAt = Number.POSITIVE_INFINITY
  /** Of a closed loop: how many of the first streams have begun. */
  #begun = 0
  #sweptAt = 0
  #interrupted = false
  #resolveInterruption: () => void = () => {}
  readonly #interruption = new Promise<void>((resolve) => {
    this.#resolveInterruption = resolve
  })
  #isOver = false
  #resolveRun: (() => void) | null = null

  constructor(plan: StreamLoopPlan, events: StreamLoopEvents<Outcome>) {
    this.#plan = plan
    this.#events = events
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt
  }

  get underWay(): number {
    return this.#busy.size + this.#opening - this.#openingSpare
  }

  /** Ends the run now; what is under way is cut. */
  interrupt(): void {
    this.#interrupted = true
    this.#resolveInterruption()
  }

  /** Runs to the end of the schedule and waits for the streams under way. */
  async run(): Promise<StreamLoopResult> {
    const { schedule, seconds } = this.#plan
    await Promise.race([this.#openSpares(), this.#interruption])
    const startNs = process.hrtime.bigint()
    const began = performance.now()
    this.#startedAt = began
    const lengthMs = schedule?.lengthMs ?? seconds * 1000
    this.#endsAt = began + lengthMs
    this.#nextDue = schedule === null ? this.#nextFirst() : began + schedule.next()
    await new Promise<void>((resolve) => {
      this.#resolveRun = resolve
      this.#pacer.start()
    })
    const ranMs = Math.min(lengthMs, performance.now() - began)
    const cut = this.underWay
    this.#isOver = true
    for (const lane of [...this.#busy, ...this.#idle]) lane.close()
    return {
      seconds: ranMs / 1000,
      startNs,
      endNs: startNs + BigInt(Math.round(ranMs * 1e6)),
      cut,
      partial: this.#interrupted,
    }
  }

  /** When the next of the first streams of a closed loop begins; Infinity when all have. */
  #nextFirst(): number {
    const { streams, spreadMs = 0 } = this.#plan
    if (this.#begun >= streams) return Number.POSITIVE_INFINITY
    return this.#startedAt + (this.#begun++ * spreadMs) / streams
  }

  #step(): number {
    const now = performance.now()
    if (now - this.#sweptAt >= SWEEP_MS) {
      this.#sweptAt = now
      for (const lane of this.#busy) lane.failIfSilentSince(now - this.#plan.silenceMs)
    }
    while (this.#nextDue <= performance.now() && !this.#interrupted) {
      const due = this.#nextDue
      const { schedule } = this.#plan
      this.#nextDue = schedule === null ? this.#nextFirst() : this.#startedAt + schedule.next()
      this.#begin(schedule === null ? performance.now() : due)
      if (schedule === null && this.#nextDue === Number.POSITIVE_INFINITY) this.#events.allBegun?.()
    }
    const scheduled = this.#nextDue !== Number.POSITIVE_INFINITY
    const done = !scheduled && now >= this.#endsAt && this.underWay === 0
    if (this.#interrupted || done) {
      this.#pacer.stop()
      this.#resolveRun?.()
      return Number.POSITIVE_INFINITY
    }
    return Math.min(this.#nextDue, now + SWEEP_MS)
  }

  #begin(dueAt: number): void {
    const index = this.started++
    const bytesPerS = this.#plan.bytesPerS?.(index) ?? null
    // A slow reader's connection stays slow, so it is never shared.
    const lane = bytesPerS === null ? this.#idleConnection() : undefined
    if (lane !== undefined) this.#start(lane, index, dueAt)
    else
      this.#open(bytesPerS, (fresh) => {
        if (fresh === null) this.#refuse(index)
        else this.#start(fresh, index, dueAt)
      })
    if (this.#missingSpares > 0) void this.#openSpares()
  }

  #refuse(index: number): void {
    this.#events.refused(index)
    this.#next(false)
  }

  get #missingSpares(): number {
    if (this.#isRefusing || this.#isOver) return 0
    return (this.#plan.spare ?? 0) - this.#idle.length - this.#openingSpare
  }

  /** Resolves when as many connections as the plan wants are open, or could not be. */
  async #openSpares(): Promise<void> {
    const missing = Math.max(0, this.#missingSpares)
    await Promise.all(Array.from({ length: missing }, () => this.#openSpare()))
  }

  #openSpare(): Promise<void> {
    this.#openingSpare++
    return new Promise((resolve) =>
      this.#open(null, (fresh) => {
        this.#openingSpare--
        if (fresh === null) this.#isRefusing = true
        if (this.#isOver) fresh?.close()
        else if (fresh !== null) this.#idle.push(fresh)
        resolve()
      }),
    )
  }

  /** `then` gets the connection, or null where none could be opened. */
  #open(bytesPerS: number | null, then: (fresh: RawStreamConnection<Outcome> | null) => void): void {
    this.#opening++
    let opened = false
    // One connection may carry many streams: what it tells is of the one it carries now.
    const events: RawStreamEvents<Outcome> = {
      opened: (fresh) => {
        opened = true
        this.#opening--
        this.#events.opened?.()
        then(fresh)
      },
      ended: (ended, outcome) => this.#ended(ended, outcome, bytesPerS === null),
      gone: (gone) => {
        this.#idle = this.#idle.filter((one) => one !== gone)
        this.#isRefusing = true
        if (opened) return
        this.#opening--
        then(null)
      },
    }
    new RawStreamConnection(this.#plan.to, bytesPerS, events)
  }

  #idleConnection(): RawStreamConnection<Outcome> | undefined {
    for (;;) {
      const lane = this.#idle.pop()
      if (lane === undefined || lane.open) return lane
    }
  }

  #start(lane: RawStreamConnection<Outcome>, index: number, dueAt: number): void {
    this.#busy.add(lane)
    this.#pacer.markBusy()
    lane.index = index
    const call = this.#events.call(index, dueAt, performance.now())
    lane.start(this.#plan.request(index), call, this.#plan.abort?.(index) ?? null)
  }

  #ended(lane: RawStreamConnection<Outcome>, outcome: Outcome, reusable: boolean): void {
    this.#pacer.markBusy()
    this.#busy.delete(lane)
    const good = this.#events.ended(outcome, lane.index)
    if (good) this.#isRefusing = false
    if (lane.open && reusable) this.#idle.push(lane)
    else lane.close()
    this.#next(good)
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
}
