/**
 * The HTTP driver. Open loop: requests go out when they are due, whatever the server does, and latency counts from the
 * due time. Closed loop: every connection asks again when it has its answer. Raw sockets, no retries, nothing dropped.
 */

import type { ArrivalSchedule } from './arrival-schedule.js'
import { ConnectionPool } from './connection-pool.js'
import { LoadFigures } from './load-figures.js'
import { Pacer } from './pacer.js'
import type { Destination, HttpResponse, RawConnection, RequestLoss } from './raw-connection.js'

/** A request as it goes out. `head` lacks the empty line at its end, so that headers can be added. */
export interface OutgoingRequest {
  readonly head: string
  readonly body: Buffer | null
  /** Index into the plan's kinds. */
  readonly kind: number
}

export interface LoadPlan {
  readonly to: Destination
  /** Null: closed loop for `seconds`. */
  readonly schedule: ArrivalSchedule | null
  readonly seconds: number
  /** Connections opened before the start; an open loop opens more when all are busy. */
  readonly connections: number
  readonly mostConnections: number
  /** Patience from the due time on. */
  readonly timeoutMs: number
  /** Names of the kinds of requests. */
  readonly kinds: readonly string[]
  /** The request with this number, counted from 0. */
  readonly request: (index: number) => OutgoingRequest
  /** Adds `X-Lab-Due` and `X-Lab-Sent`. */
  readonly labHeaders?: boolean
  /** A connection is closed, by us, after so many requests. */
  readonly requestsPerConnection?: number
  /** What an open loop does with a request that is due while every connection is busy; `wait` unless it says. */
  readonly whenBusy?: 'wait' | 'skip'
  /** Called when the connections are open and the clock starts. */
  readonly onStart?: () => void
  /** Sees every answer with its body, and its latency. */
  readonly onAnswer?: (answer: HttpResponse, latencyMs: number) => void
  /** Sees every sample: when it was due (ms from the start), its kind and latency. */
  readonly onSample?: (dueMs: number, kind: number, latencyMs: number) => void
}

/** A finished run. */
export type LoadOutcome = Awaited<ReturnType<HttpLoad['run']>>

const SWEEP_MS = 10

interface QueuedRequest {
  readonly dueAt: number
  readonly request: OutgoingRequest
}

export class HttpLoad {
  readonly figures: LoadFigures
  readonly #plan: LoadPlan
  readonly #pool: ConnectionPool
  readonly #pacer = new Pacer(() => this.#step())
  /** Due requests without a connection. */
  readonly #queue: QueuedRequest[] = []
  #index = 0
  #startedAt = performance.now()
  #nextDue = Number.POSITIVE_INFINITY
  #endsAt = Number.POSITIVE_INFINITY
  #sweptAt = 0
  #interrupted = false
  #resolveRun: (() => void) | null = null
  /** Nanoseconds of the shared clock minus those of `performance.now()`. */
  readonly #clockOffset = Number(process.hrtime.bigint()) - performance.now() * 1e6

  constructor(plan: LoadPlan) {
    const figures = new LoadFigures(plan.kinds.length)
    this.figures = figures
    this.#plan = plan
    this.#pool = new ConnectionPool({
      to: plan.to,
      maxConnections: plan.mostConnections,
      keepsAnswers: plan.onAnswer !== undefined,
      answered: (lane, status) => this.#answered(lane, status),
      lost: (lane, why) => this.#lost(lane, why),
      opened: (size) => {
        figures.connectionsOpened++
        figures.connectionsPeak = Math.max(figures.connectionsPeak, size)
      },
    })
  }

  /** Milliseconds since the start. */
  get elapsedMs(): number {
    return performance.now() - this.#startedAt
  }

  get #lengthMs(): number {
    return this.#plan.schedule?.lengthMs ?? this.#plan.seconds * 1000
  }

  /** Ends the schedule now; what is under way is cut. */
  interrupt(): void {
    this.#interrupted = true
  }

  /** Opens the connections, runs the schedule, waits for the last answers. Rejects when nobody accepts connections. */
  async run() {
    await this.#pool.openFirst(this.#plan.connections)
    this.#plan.onStart?.()
    const startNs = process.hrtime.bigint()
    const began = performance.now()
    const cpuBefore = process.cpuUsage()
    await this.#drive(began)
    const cpu = process.cpuUsage(cpuBefore)
    const passedMs = performance.now() - began
    this.#pool.close()
    const ranMs = Math.min(this.#lengthMs, passedMs)
    const workedMs = Math.max(0, (cpu.user + cpu.system) / 1000 - this.#pacer.idleMs)
    return {
      figures: this.figures,
      /** Of the clock all processes of a machine share. */
      startNs,
      endNs: startNs + BigInt(Math.round(ranMs * 1e6)),
      /** From the start to the end of the schedule, without the wait for the last answers. */
      seconds: ranMs / 1000,
      secondsToLastAnswer: passedMs / 1000,
      /** Share of the time in which the driver had work; the rest it slept or watched the clock. */
      busyShare: workedMs / passedMs,
      /** Interrupted before its end. */
      partial: this.#interrupted,
    }
  }

  #drive(began: number): Promise<void> {
    const { schedule } = this.#plan
    this.#startedAt = began
    this.#endsAt = began + this.#lengthMs
    if (schedule !== null) this.#nextDue = began + schedule.next()
    else for (const lane of this.#pool.acquireAll()) this.#askAgain(lane, performance.now())
    return new Promise((resolve) => {
      this.#resolveRun = resolve
      this.#pacer.start()
    })
  }

  /** One turn: sends what is due, gives up on what took too long, and says when it wants to be called again. */
  #step(): number {
    const now = performance.now()
    if (this.#interrupted) {
      this.figures.cut += this.#inFlight()
      return this.#finish()
    }
    if (now - this.#sweptAt >= SWEEP_MS) this.#sweep(now)
    this.#sendDue()
    if (this.#isOver(now)) return this.#finish()
    // An idle driver still looks around now and then, for timeouts and for the end.
    return Math.min(this.#nextDue, now < this.#endsAt ? this.#endsAt : now + SWEEP_MS)
  }

  #sendDue(): void {
    while (this.#nextDue <= performance.now()) {
      const due = this.#nextDue
      this.#nextDue = this.#startedAt + this.#plan.schedule!.next()
      this.#fire(due)
    }
  }

  #isOver(now: number): boolean {
    if (this.#nextDue !== Number.POSITIVE_INFINITY) return false
    if (now >= this.#endsAt && this.#inFlight() === 0) return true
    // A closed loop whose connections were all refused has nobody left to ask.
    return this.#plan.schedule === null && this.#pool.empty
  }

  #inFlight(): number {
    let busy = this.#queue.length
    for (const lane of this.#pool.connections) if (lane.busy) busy++
    return busy
  }

  #finish(): number {
    this.#pacer.stop()
    this.#resolveRun?.()
    return Number.POSITIVE_INFINITY
  }

  #fire(dueAt: number): void {
    this.figures.due++
    this.#pacer.markBusy()
    const request = this.#plan.request(this.#index++)
    const lane = this.#pool.acquire()
    if (lane !== null) {
      this.#send(lane, request, dueAt)
      return
    }
    if (this.#plan.whenBusy === 'skip') {
      this.figures.skipped++
      return
    }
    this.#queue.push({ dueAt, request })
    if (this.#pool.opening < this.#queue.length) this.#openAnother()
  }

  #openAnother(): void {
    this.#pool.openAnother(
      (lane) => this.#useFreeConnection(lane),
      () => {
        // Whoever waits would wait for ever when the server refuses everybody.
        const waiting = this.#queue.shift()
        if (waiting === undefined) return
        this.figures.countUnanswered(waiting.request.kind, 'refused', performance.now() - waiting.dueAt)
      },
    )
  }

  #send(lane: RawConnection, request: OutgoingRequest, dueAt: number): void {
    const now = performance.now()
    lane.dueAt = dueAt
    lane.kind = request.kind
    this.figures.countSent(now - dueAt)
    const stamps = this.#plan.labHeaders ? this.#stamps(dueAt, now) : ''
    lane.send(`${request.head}${stamps}\r\n`, request.body)
  }

  #stamps(dueAt: number, sentAt: number): string {
    const due = Math.round(dueAt * 1e6 + this.#clockOffset)
    const sent = Math.round(sentAt * 1e6 + this.#clockOffset)
    return `X-Lab-Due: ${due}\r\nX-Lab-Sent: ${sent}\r\n`
  }

  /** Closed loop: the next request of a connection is due when the last one is answered. */
  #askAgain(lane: RawConnection, now: number): void {
    this.figures.due++
    this.#send(lane, this.#plan.request(this.#index++), now)
  }

  #answered(lane: RawConnection, status: number): void {
    const now = performance.now()
    this.#pacer.markBusy()
    const ms = now - lane.dueAt
    this.figures.countAnswered(lane.kind, status, ms)
    this.#plan.onSample?.(lane.dueAt - this.#startedAt, lane.kind, ms)
    this.#plan.onAnswer?.(lane.response!, ms)
    const { requestsPerConnection } = this.#plan
    const spent = requestsPerConnection !== undefined && lane.requestsSent >= requestsPerConnection
    if (lane.open && !spent) this.#useFreeConnection(lane)
    else {
      this.#pool.retire(lane)
      this.#replace(now)
    }
    // Answers that come all at once must not hold up what is due while they are read.
    if (this.#nextDue <= now) this.#sendDue()
  }

  /** A connection without work takes what waits, or waits itself. */
  #useFreeConnection(lane: RawConnection): void {
    const now = performance.now()
    if (this.#plan.schedule === null) {
      if (now < this.#endsAt && !this.#interrupted) this.#askAgain(lane, now)
      return
    }
    const waiting = this.#queue.shift()
    if (waiting === undefined) this.#pool.release(lane)
    else this.#send(lane, waiting.request, waiting.dueAt)
  }

  #lost(lane: RawConnection, why: RequestLoss): void {
    const now = performance.now()
    this.#pacer.markBusy()
    if (lane.busy) this.figures.countUnanswered(lane.kind, why, now - lane.dueAt)
    this.#replace(now)
  }

  /** A closed loop keeps its number of connections; an open one opens on demand. */
  #replace(now: number): void {
    const closedLoop = this.#plan.schedule === null && now < this.#endsAt
    if (closedLoop || this.#queue.length > this.#pool.opening) this.#openAnother()
  }

  #sweep(now: number): void {
    this.#sweptAt = now
    const latest = now - this.#plan.timeoutMs
    for (const lane of this.#pool.connections) {
      if (!lane.busy || lane.dueAt > latest) continue
      this.#timedOut(lane.dueAt, lane.kind, now)
      this.#pool.retire(lane)
      this.#replace(now)
    }
    while (this.#queue.length > 0 && this.#queue[0]!.dueAt <= latest) {
      const { dueAt, request } = this.#queue.shift()!
      this.#timedOut(dueAt, request.kind, now)
    }
  }

  #timedOut(dueAt: number, kind: number, now: number): void {
    this.figures.countUnanswered(kind, 'timeout', now - dueAt)
    this.#plan.onSample?.(dueAt - this.#startedAt, kind, now - dueAt)
  }
}
