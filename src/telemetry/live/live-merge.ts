/**
 * The live feed in the supervisor: asks the workers what has happened, twice a second and only while somebody
 * reads, and makes one text of it for each scope, whoever reads it and however many do.
 */
import type { Clock } from '../../base/clock.js'
import { Histogram } from '../../base/histogram.js'
import {
  type LiveBreaker,
  type LiveRefusal,
  type LiveReport,
  parseScope,
  type ScopeName,
  type WorkerReport,
} from './live-report.js'
import { MOST_ROWS } from './live-tap.js'
import { LiveWindow, QUANTILE_ROUNDS, quantiles, RATE_ROUNDS, roundFigure } from './live-window.js'

export const LIVE_PERIOD_MS = 500
/** Readers of all workers, and of one caller among them. */
export const MOST_READERS = 64
export const MOST_READERS_OF_CALLER = 8

/** What all workers have said of themselves in one round. */
interface MachineRound {
  readonly ms: number
  readonly overhead: Histogram
  readonly answers: readonly number[]
}

/** A text for the readers of a scope. */
export type LiveFrame = readonly [scope: ScopeName, text: string]

interface LiveMergePorts {
  readonly clock: Clock
  /** Numbers of the workers that serve. */
  readonly workers: () => readonly number[]
  /** Asks a worker what has happened in these scopes; `receive` gets the answer. */
  readonly ask: (worker: number, scopes: readonly ScopeName[]) => void
  /** Tells a worker that nobody reads any more. */
  readonly rest: (worker: number) => void
  readonly send: (worker: number, frames: readonly LiveFrame[]) => void
}

class ScopeFeed {
  readonly window = new LiveWindow()
  /** By worker: its readers, and its calls under way. */
  readonly readers = new Map<number, number>()
  readonly inFlight = new Map<number, number | null>()

  constructor(readonly isMachine: boolean) {}
}

export class LiveMerge {
  readonly #ports: LiveMergePorts
  readonly #scopes = new Map<ScopeName, ScopeFeed>()
  /** Readers by worker and caller. */
  readonly #callers = new Map<number, Map<string, number>>()
  readonly #asked = new Set<number>()
  /** Workers whose answer has not come: they are not asked again before. */
  readonly #owing = new Set<number>()
  readonly #workers = new Map<number, WorkerFeed>()
  /** Oldest first. */
  #rounds: MachineRound[] = []
  #seq = 0
  #roundAt = 0
  #cancel: (() => void) | null = null

  constructor(ports: LiveMergePorts) {
    this.#ports = ports
  }

  /** Takes a reader of a worker, or tells why not. */
  enter(worker: number, scope: ScopeName, caller: string): LiveRefusal | null {
    const callers = [...this.#callers.values()]
    const readers = callers.reduce((sum, each) => sum + sumOf(each.values()), 0)
    if (readers >= MOST_READERS) return 'server'
    if (sumOf(callers.map((each) => each.get(caller) ?? 0)) >= MOST_READERS_OF_CALLER) return 'caller'
    const feed = this.#scopes.get(scope) ?? new ScopeFeed(parseScope(scope).of === 'machine')
    this.#scopes.set(scope, feed)
    count(feed.readers, worker, 1)
    const own = this.#callers.get(worker) ?? new Map<string, number>()
    this.#callers.set(worker, own)
    count(own, caller, 1)
    if (this.#cancel === null) this.#begin()
    return null
  }

  leave(worker: number, scope: ScopeName, caller: string): void {
    const feed = this.#scopes.get(scope)
    if (feed === undefined || !feed.readers.has(worker)) return
    count(feed.readers, worker, -1)
    const own = this.#callers.get(worker)
    if (own !== undefined) count(own, caller, -1)
    this.#dropUnread()
  }

  receive(worker: number, report: LiveReport): void {
    this.#owing.delete(worker)
    for (const [name, part] of Object.entries(report.scopes)) {
      const feed = this.#scopes.get(name)
      feed?.window.add(part)
      feed?.inFlight.set(worker, part.inFlight)
    }
    if (report.worker === null) return
    const known = this.#workers.get(worker)
    if (known === undefined) this.#workers.set(worker, new WorkerFeed(report.worker, this.#now()))
    else known.take(report.worker, this.#now())
  }

  /** Its readers have gone with it. */
  workerDied(worker: number): void {
    this.#owing.delete(worker)
    this.#asked.delete(worker)
    this.#workers.delete(worker)
    this.#callers.delete(worker)
    for (const { readers, inFlight } of this.#scopes.values()) {
      readers.delete(worker)
      inFlight.delete(worker)
    }
    this.#dropUnread()
  }

  close(): void {
    this.#scopes.clear()
    this.#callers.clear()
    this.#end()
  }

  #now(): number {
    return this.#ports.clock.monotonicMs()
  }

  #begin(): void {
    this.#roundAt = this.#now()
    this.#askAll()
    this.#schedule()
  }

  #schedule(): void {
    this.#cancel = this.#ports.clock.runAfter(LIVE_PERIOD_MS, () => {
      this.#schedule()
      this.#round()
    })
  }

  #dropUnread(): void {
    for (const [name, { readers }] of this.#scopes) if (readers.size === 0) this.#scopes.delete(name)
    if (this.#scopes.size === 0) this.#end()
  }

  #end(): void {
    this.#cancel?.()
    this.#cancel = null
    for (const worker of this.#asked) this.#ports.rest(worker)
    this.#asked.clear()
    // Whoever is asked again says what came since it was told to rest, which is nothing.
    this.#owing.clear()
    this.#workers.clear()
    this.#rounds = []
  }

  #round(): void {
    const now = this.#now()
    const ms = now - this.#roundAt
    this.#roundAt = now
    this.#seq++
    const machine = [...this.#scopes.values()].some(({ isMachine }) => isMachine)
      ? this.#machine(ms, now)
      : null
    const frames = new Map<number, LiveFrame[]>()
    for (const [name, feed] of this.#scopes) {
      const text = this.#textOf(feed, ms, feed.isMachine ? machine : null)
      for (const worker of feed.readers.keys()) {
        const own = frames.get(worker)
        if (own === undefined) frames.set(worker, [[name, text]])
        else own.push([name, text])
      }
    }
    for (const [worker, own] of frames) this.#ports.send(worker, own)
    this.#askAll()
  }

  #askAll(): void {
    const scopes = [...this.#scopes.keys()]
    for (const worker of this.#ports.workers()) {
      if (this.#owing.has(worker)) continue
      this.#owing.add(worker)
      this.#asked.add(worker)
      this.#ports.ask(worker, scopes)
    }
  }

  #textOf(feed: ScopeFeed, ms: number, machine: object | null): string {
    const rows = feed.window.close(ms)
    const inFlight = [...feed.inFlight.values()]
    const sample = {
      seq: this.#seq,
      at: this.#ports.clock.unixSeconds(),
      ...feed.window.figures(),
      in_flight: inFlight.includes(null) ? null : sumOf(inFlight as number[]),
      machine,
    }
    const text = `event: sample\ndata: ${JSON.stringify(sample)}\n\n`
    if (rows.length === 0) return text
    return `${text}event: call\ndata: {"seq":${this.#seq},"data":[${rows.slice(-MOST_ROWS).join()}]}\n\n`
  }

  #machine(ms: number, now: number) {
    const workers = [...this.#workers].sort(([a], [b]) => a - b)
    const feeds = workers.map(([, feed]) => feed)
    this.#rounds.push({ ms, ...takeAll(feeds) })
    if (this.#rounds.length > QUANTILE_ROUNDS) this.#rounds.shift()
    const overhead = new Histogram()
    for (const round of this.#rounds) overhead.merge(round.overhead)
    const lately = this.#rounds.slice(-RATE_ROUNDS)
    const seconds = sumOf(lately.map((round) => round.ms)) / 1000
    const rate = (from: number, to: number): number => {
      const answers = sumOf(lately.flatMap((round) => round.answers.slice(from - 1, to)))
      return roundFigure(seconds === 0 ? 0 : answers / seconds)
    }
    return {
      requests_in_flight: sumOf(feeds.map(({ latest }) => latest.requests)),
      answers_per_second: rate(1, 5),
      answers_4xx_per_second: rate(4, 4),
      answers_5xx_per_second: rate(5, 5),
      overhead_ms: quantiles(overhead),
      breakers: worstBreakers(feeds.map(({ latest }) => latest.breakers)),
      supervisor_rss: process.memoryUsage.rss(),
      workers: workers.map(([index, worker]) => ({ worker: index, ...worker.describe(now) })),
    }
  }
}

/** What has come of all workers since the round before. */
function takeAll(feeds: readonly WorkerFeed[]): Omit<MachineRound, 'ms'> {
  const overhead = new Histogram()
  const answers = [0, 0, 0, 0, 0]
  for (const feed of feeds) {
    overhead.merge(feed.takeOverhead())
    for (const [at, n] of feed.takeAnswers().entries()) answers[at]! += n
  }
  return { overhead, answers }
}

/** What one worker has said of itself. */
class WorkerFeed {
  #overhead = new Histogram()
  #answers: number[]

  constructor(
    public latest: WorkerReport,
    private heardAt: number,
  ) {
    this.#answers = [...latest.answers]
    this.#overhead.merge(latest.overheadMs)
  }

  take(report: WorkerReport, now: number): void {
    this.latest = report
    this.heardAt = now
    this.#overhead.merge(report.overheadMs)
    for (const [at, n] of report.answers.entries()) this.#answers[at]! += n
  }

  /** Since it was asked before. */
  takeOverhead(): Histogram {
    const taken = this.#overhead
    this.#overhead = new Histogram()
    return taken
  }

  takeAnswers(): readonly number[] {
    const taken = this.#answers
    this.#answers = taken.map(() => 0)
    return taken
  }

  describe(now: number) {
    const { pid, uptimeS, connections, requests, loop, pool, rss, cpu } = this.latest
    const { p50, p99, max } = loop.lag
    return {
      pid,
      uptime_s: roundFigure(uptimeS),
      /** A worker whose loop stands still says nothing. */
      silent_ms: Math.round(now - this.heardAt),
      connections,
      requests_in_flight: requests,
      loop_utilization: roundFigure(loop.utilization),
      loop_lag_ms: { p50: roundFigure(p50), p99: roundFigure(p99), max: roundFigure(max) },
      pool_threads: pool.threads,
      pool_queue: pool.queue,
      pool_queued_rounds: pool.queuedRounds,
      rss,
      cpu: roundFigure(cpu),
    }
  }
}

const SEVERITY = ['half-open', 'cooling', 'open'] as const

/** Each endpoint once, as the worker has it that knows it at its worst. */
function worstBreakers(lists: readonly (readonly LiveBreaker[])[]): LiveBreaker[] {
  const worst = new Map<string, LiveBreaker>()
  for (const breaker of lists.flat()) {
    const known = worst.get(breaker.endpoint)
    if (known === undefined || SEVERITY.indexOf(breaker.state) > SEVERITY.indexOf(known.state)) {
      worst.set(breaker.endpoint, breaker)
    }
  }
  return [...worst.values()].sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1))
}

function sumOf(values: Iterable<number>): number {
  let sum = 0
  for (const value of values) sum += value
  return sum
}

/** Entries of nothing go. */
function count<K>(counts: Map<K, number>, key: K, change: number): void {
  const left = (counts.get(key) ?? 0) + change
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}
