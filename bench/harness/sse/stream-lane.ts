/** One connection of the SSE driver: one stream at a time, read as fast as it comes or slowly on purpose. */
import { connect, type Socket } from 'node:net'
import { BadAnswer } from '../http/answer-head.js'
import type { Destination } from '../http/lane.js'
import { SseReader } from './sse-reader.js'
import type { AbortRule, StreamCall, StreamEnd, StreamTimes } from './stream-call.js'

export interface StreamLaneEvents {
  opened(lane: StreamLane): void
  /** The stream under way has ended; the lane can take another one when `lane.open`. */
  ended(lane: StreamLane, times: StreamTimes): void
  /** The connection is gone with no stream under way. */
  gone(lane: StreamLane): void
}

/** The reader copies what it keeps, and each read is used up before the next. */
const SHARED = Buffer.allocUnsafe(256 * 1024)
/** Slow readers take so many sips a second. */
const SIPS_PER_SECOND = 4
/** Right behind the request, before any model could have answered. */
const BEFORE_FIRST_MS = 5

export class StreamLane {
  open = false
  readonly #socket: Socket
  readonly #reader: SseReader
  readonly #events: StreamLaneEvents
  readonly #silenceMs: number
  #call: StreamCall | null = null
  #abort: AbortRule | null = null
  #abortTimer: NodeJS.Timeout | undefined
  #readAt = 0
  #lastReadAt = 0
  #closes = false
  #gone = false

  /** `bytesPerS`: reads no faster than that; null reads all that comes. */
  constructor(to: Destination, bytesPerS: number | null, silenceMs: number, events: StreamLaneEvents) {
    this.#events = events
    this.#silenceMs = silenceMs
    this.#reader = new SseReader({
      head: (status) => {
        if (this.#call !== null) this.#call.status = status
      },
      event: (bytes, from, to) => this.#event(bytes, from, to),
      ended: (closes) => {
        this.#closes = closes
        this.#settle(null)
      },
    })
    const buffer =
      bytesPerS === null ? SHARED : Buffer.alloc(Math.max(1, Math.round(bytesPerS / SIPS_PER_SECOND)))
    const callback = (length: number): boolean => {
      this.#read(buffer.subarray(0, length))
      if (bytesPerS === null) return true
      setTimeout(() => this.#socket.resume(), (length * 1000) / bytesPerS)
      return false
    }
    this.#socket = connect({ host: to.address, port: to.port, noDelay: true, onread: { buffer, callback } })
    this.#socket.once('connect', () => {
      this.open = true
      events.opened(this)
    })
    this.#socket.on('end', () => {
      if (this.#call === null || !this.#reader.endedByClose()) this.#lose('closed')
    })
    this.#socket.on('error', () => this.#lose(this.open ? 'reset' : 'refused'))
    this.#socket.on('close', () => this.#lose(this.open ? 'closed' : 'refused'))
  }

  /** Sends a request whose answer is `call`. */
  start(request: Buffer, call: StreamCall, abort: AbortRule | null): void {
    this.#call = call
    this.#abort = abort
    this.#lastReadAt = performance.now()
    this.#socket.write(request)
    const after = abort?.kind === 'time' ? abort.ms : abort?.kind === 'before-first' ? BEFORE_FIRST_MS : null
    if (after !== null) this.#abortTimer = setTimeout(() => this.#giveUp(), after)
  }

  /** Ends a stream that has been silent for too long. */
  sweep(now: number): void {
    if (this.#call !== null && now - this.#lastReadAt > this.#silenceMs) this.#lose('timeout')
  }

  /** Ends the connection without a word to the events; a stream under way is forgotten. */
  close(): void {
    this.#gone = true
    clearTimeout(this.#abortTimer)
    this.#socket.destroy()
  }

  #read(bytes: Buffer): void {
    this.#lastReadAt = this.#readAt = performance.now()
    try {
      this.#reader.feed(bytes)
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error
      this.#lose('garbled')
    }
  }

  #event(bytes: Buffer, from: number, to: number): void {
    const call = this.#call
    if (call === null) return
    const kind = call.event(bytes, from, to, this.#readAt)
    if (kind === 'token' && this.#abort?.kind === 'token' && call.tokens >= this.#abort.token) this.#giveUp()
  }

  #giveUp(): void {
    this.#lose('aborted')
  }

  #settle(lost: Exclude<StreamEnd, 'complete' | 'cut' | 'error'> | null): void {
    const call = this.#call
    this.#call = null
    clearTimeout(this.#abortTimer)
    if (this.#closes) {
      this.open = false
      this.#gone = true
      this.#socket.destroy()
    }
    if (call !== null) this.#events.ended(this, call.times(lost, performance.now()))
  }

  #lose(why: Exclude<StreamEnd, 'complete' | 'cut' | 'error'>): void {
    if (this.#gone) return
    this.#gone = true
    this.open = false
    this.#socket.destroy()
    if (this.#call === null) this.#events.gone(this)
    else this.#settle(why)
  }
}
