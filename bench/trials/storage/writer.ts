import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from '../../../src/base/histogram.js'
import { Connection, ConnectionLost } from '../../harness/http/connection.js'
import { runPaced } from '../../harness/http/pacer.js'
import type { HttpResponse } from '../../harness/http/raw-connection.js'
import { apiRequest } from '../requests.js'
import { type LedgerEntry, parseItem, type WriteLedger } from './write-ledger.js'

const PER_SECOND = 500
// Groups that fall due together keep several writes in flight, so that a kill has something to hit.
const BURST = 8
const LANES = 16
const RECONNECT_MS = 5
/** A write that is refused or lost this often is given up as unknown. */
const MAX_ATTEMPTS = 2_000
const PATH = '/items'

type WriteKind = 'create' | 'update' | 'delete'

/** Seven creates, two updates and one deletion in ten writes. */
const MIX = 'create create update create create delete create update create create'.split(
  ' ',
) as readonly WriteKind[]

/** Moments in a writer's life that are unlucky for a kill: a group is being sent, a write was just acknowledged. */
type WriterMoment = 'sending' | 'acknowledgement'

interface WriterConnection {
  connection: Connection | null
}

/**
 * Writes at a fixed schedule from several keep-alive connections and books every outcome in the ledger. A lost
 * update or deletion is repeated until it is answered; a lost create is followed by another one with a content
 * of its own, so that both can be told apart afterwards.
 */
export class Writer {
  /** From the due time to the acknowledgement, milliseconds. */
  readonly latency = new Histogram()
  /** Answers that were neither success nor the expected 404, by status. */
  readonly refusals = new Map<number, number>()
  readonly #lanes: WriterConnection[] = Array.from({ length: LANES }, () => ({ connection: null }))
  readonly #idle: WriterConnection[] = [...this.#lanes]
  readonly #waiting: number[] = []
  readonly #targets: LedgerEntry[] = []
  readonly #running = new Set<Promise<void>>()
  #turn = 0
  #inFlight = 0
  #writing = false
  #abandoned = false
  #pacing: Promise<unknown> = Promise.resolve()
  readonly #awaited = new Map<WriterMoment, () => void>()

  constructor(
    readonly port: number,
    readonly ledger: WriteLedger,
  ) {}

  /** Writes that were sent and not yet answered. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Begins (again) to write, on new connections, so that they spread over the workers that live now. */
  start(): void {
    for (const lane of this.#idle) this.#forget(lane)
    this.#writing = true
    const running = (): boolean => this.#writing
    this.#pacing = runPaced({ perSecond: PER_SECOND, burst: BURST, running }, (due) => this.#due(due))
  }

  /** Stops the schedule and waits until everything that fell due has been answered or given up. */
  async pause(): Promise<void> {
    this.#writing = false
    await this.#pacing
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  /** Stops at once, whatever is under way; for the end of a trial, also of a broken one. */
  abandon(): void {
    this.#writing = false
    this.#abandoned = true
    for (const lane of this.#lanes) this.#forget(lane)
  }

  /** Resolves at the next such moment, before anything else is done. One caller at a time. */
  next(moment: WriterMoment): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited.set(moment, resolve)
    })
  }

  #due(due: number): void {
    const lane = this.#idle.shift()
    if (!lane) this.#waiting.push(due)
    else {
      const served = this.#serve(lane, due)
      this.#running.add(served)
      void served.finally(() => this.#running.delete(served))
    }
    this.#reached('sending')
  }

  #reached(moment: WriterMoment): void {
    this.#awaited.get(moment)?.()
    this.#awaited.delete(moment)
  }

  async #serve(lane: WriterConnection, firstDue: number): Promise<void> {
    for (let due: number | undefined = firstDue; due !== undefined; due = this.#waiting.shift()) {
      await this.#write(lane)
      this.latency.record(performance.now() - due)
    }
    this.#idle.push(lane)
  }

  #write(lane: WriterConnection): Promise<void> {
    const job = MIX[this.#turn++ % MIX.length]!
    const target = job === 'create' ? undefined : this.#takeTarget()
    if (!target) return this.#create(lane)
    return job === 'update' ? this.#update(lane, target) : this.#delete(lane, target)
  }

  #tries(attempt: number): boolean {
    return attempt < MAX_ATTEMPTS && !this.#abandoned
  }

  async #create(lane: WriterConnection): Promise<void> {
    for (let attempt = 0; this.#tries(attempt); attempt++) {
      const content = this.ledger.newContent()
      const floor = this.ledger.highest
      const answer = await this.#ask(lane, apiRequest('POST', PATH, content))
      if (answer?.status === 201) {
        const entry = this.ledger.created(content, parseItem(answer.body), floor)
        if (entry) this.#targets.push(entry)
        return
      }
      this.ledger.createUnknown(content)
    }
  }

  async #update(lane: WriterConnection, entry: LedgerEntry): Promise<void> {
    const content = this.ledger.newContent()
    const request = apiRequest('PUT', `${PATH}/${entry.id}`, content)
    for (let attempt = 0; this.#tries(attempt); attempt++) {
      const answer = await this.#ask(lane, request)
      if (answer?.status === 200) {
        this.ledger.updated(entry, content, parseItem(answer.body))
        break
      }
      if (answer?.status === 404) return this.ledger.missing(entry, 'an update')
      this.ledger.updateUnknown(entry, content)
    }
    this.#targets.push(entry)
  }

  async #delete(lane: WriterConnection, entry: LedgerEntry): Promise<void> {
    const request = apiRequest('DELETE', `${PATH}/${entry.id}`)
    for (let attempt = 0; this.#tries(attempt); attempt++) {
      const answer = await this.#ask(lane, request)
      if (answer?.status === 204) return this.ledger.deleted(entry)
      if (answer?.status === 404) {
        if (entry.state === 'unsure') return this.ledger.deleted(entry)
        return this.ledger.missing(entry, 'a deletion')
      }
      this.ledger.deleteUnknown(entry)
    }
  }

  /** One attempt; null when it was sent and got no complete answer. Waits for a connection as long as it takes. */
  async #ask(lane: WriterConnection, request: Buffer): Promise<HttpResponse | null> {
    const connection = await this.#connected(lane)
    if (!connection) return null
    this.#inFlight++
    try {
      const answer = await connection.send(request)
      if (answer.status >= 400 && answer.status !== 404) {
        this.refusals.set(answer.status, (this.refusals.get(answer.status) ?? 0) + 1)
        await sleep(RECONNECT_MS)
      }
      if (answer.status < 300) this.#reached('acknowledgement')
      return answer
    } catch (error) {
      if (error instanceof ConnectionLost) return null
      throw error
    } finally {
      this.#inFlight--
    }
  }

  /** The lane's connection, reopened until it holds; null when the writer was abandoned. */
  async #connected(lane: WriterConnection): Promise<Connection | null> {
    while (!lane.connection?.usable && !this.#abandoned) {
      try {
        lane.connection = await Connection.open(this.port)
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        await sleep(RECONNECT_MS)
      }
    }
    return this.#abandoned ? null : lane.connection
  }

  /** A random live item that no other lane works on; the caller gives it back when it still lives. */
  #takeTarget(): LedgerEntry | undefined {
    const at = Math.floor(Math.random() * this.#targets.length)
    const target = this.#targets[at]
    const last = this.#targets.pop()
    if (last && last !== target) this.#targets[at] = last
    return target
  }

  #forget(lane: WriterConnection): void {
    lane.connection?.drop()
    lane.connection = null
  }
}
