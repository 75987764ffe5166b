/** One connection of the SSE driver: one stream at a time, read as fast as it comes or slowly on purpose. */
import { connect, type Socket } from 'node:net'
import type { Destination } from '../http/raw-connection.js'
import { MalformedResponse, ResponseFraming } from '../http/response-framing.js'
import type { AbortRule, StreamLoss, StreamObserver } from './timed-stream.js'

/** What a reader tells. Bytes are borrowed: valid in the call only. */
interface SseListener {
  head(status: number): void
  /** One event or comment, without the blank line that ends it. */
  event(bytes: Buffer, from: number, to: number): void
  /** The answer is complete by its own framing. */
  ended(closes: boolean): void
}

const EVENT_END = Buffer.from('\n\n')
const EMPTY = Buffer.alloc(0)

export class SseReader {
  readonly #listener: SseListener
  readonly #framing: ResponseFraming
  /** The unfinished event. */
  #partialEvent: Buffer = EMPTY

  constructor(parts: SseListener) {
    this.#listener = parts
    this.#framing = new ResponseFraming({
      head: ({ status }) => parts.head(status),
      data: (bytes, from, to) => this.#events(bytes, from, to),
    })
  }

  /** Takes the next bytes of the connection. Faults: MalformedResponse. */
  feed(bytes: Buffer): void {
    if (this.#framing.feed(bytes)) this.#finish()
  }

  /** The peer sent its FIN: true when that is how the answer under way ends. */
  endedByClose(): boolean {
    if (!this.#framing.endedByClose()) return false
    this.#finish()
    return true
  }

  #events(bytes: Buffer, from: number, to: number): void {
    if (this.#partialEvent.length > 0) {
      const joined = Buffer.concat([this.#partialEvent, bytes.subarray(from, to)])
      this.#partialEvent = EMPTY
      this.#events(joined, 0, joined.length)
      return
    }
    let at = from
    while (at < to) {
      const end = bytes.indexOf(EVENT_END, at)
      if (end < 0 || end + EVENT_END.length > to) break
      this.#listener.event(bytes, at, end)
      at = end + EVENT_END.length
    }
    if (at < to) this.#partialEvent = Buffer.from(bytes.subarray(at, to))
  }

  #finish(): void {
    // A body that is no event stream ends without a blank line: it counts as one event.
    const rest = this.#partialEvent
    this.#partialEvent = EMPTY
    if (rest.length > 0) this.#listener.event(rest, 0, rest.length)
    this.#listener.ended(this.#framing.closes)
  }
}

export interface RawStreamEvents<Outcome> {
  opened(lane: RawStreamConnection<Outcome>): void
  /** The stream under way has ended; the lane can take another one when `lane.open`. */
  ended(lane: RawStreamConnection<Outcome>, outcome: Outcome): void
  /** The connection is gone with no stream under way. */
  gone(lane: RawStreamConnection<Outcome>): void
}

/** The reader copies what it keeps, and each read is used up before the next. */
const SHARED_READ_BUFFER = Buffer.allocUnsafe(256 * 1024)
/** Slow readers take so many sips a second. */
const SIPS_PER_SECOND = 4
/** Right behind the request, before any model could have answered. */
const BEFORE_FIRST_MS = 5

export class RawStreamConnection<Outcome> {
  open = false
  /** Number of the stream it carries, for who drives it. */
  index = 0
  readonly #socket: Socket
  readonly #reader: SseReader
  readonly #events: RawStreamEvents<Outcome>
  #call: StreamObserver<Outcome> | null = null
  #abort: AbortRule | null = null
  #abortTimer: NodeJS.Timeout | undefined
  #readAt = 0
  #lastReadAt = 0
  #closes = false
  #gone = false

  /** `bytesPerS`: reads no faster than that; null reads all that comes. */
  constructor(to: Destination, bytesPerS: number | null, events: RawStreamEvents<Outcome>) {
    this.#events = events
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
      bytesPerS === null
        ? SHARED_READ_BUFFER
        : Buffer.alloc(Math.max(1, Math.round(bytesPerS / SIPS_PER_SECOND)))
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
    this.#socket.on('timeout', () => this.#lose('timeout'))
  }

  /** Sends a request whose answer is `call`. */
  start(request: Buffer, call: StreamObserver<Outcome>, abort: AbortRule | null = null): void {
    this.#call = call
    this.#abort = abort
    this.#lastReadAt = performance.now()
    this.#socket.write(request)
    const after = abort?.kind === 'time' ? abort.ms : abort?.kind === 'before-first' ? BEFORE_FIRST_MS : null
    if (after !== null) this.#abortTimer = setTimeout(() => this.#giveUp(), after)
  }

  /** Ends a stream that has been silent since before `since`. */
  failIfSilentSince(since: number): void {
    if (this.#call !== null && this.#lastReadAt < since) this.#lose('timeout')
  }

  /** Gives the connection up, a stream under way or not, when nothing moves on it for so long. */
  setIdleTimeout(ms: number): void {
    this.#socket.setTimeout(ms)
  }

  /** Stops reading, so that the kernel's buffers fill and the server feels it. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Ends the connection without a word to the events; a stream under way is forgotten. `reset`: by an RST, not a FIN. */
  close(reset = false): void {
    this.#gone = true
    this.open = false
    clearTimeout(this.#abortTimer)
    if (reset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  #read(bytes: Buffer): void {
    this.#lastReadAt = this.#readAt = performance.now()
    try {
      this.#reader.feed(bytes)
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error
      this.#lose('garbled')
    }
  }

  #event(bytes: Buffer, from: number, to: number): void {
    const call = this.#call
    if (call === null) return
    call.event(bytes, from, to, this.#readAt)
    if (this.#abort?.kind === 'token' && call.tokens >= this.#abort.token) this.#giveUp()
  }

  #giveUp(): void {
    this.#lose('aborted')
  }

  #settle(lost: StreamLoss | null): void {
    const call = this.#call
    this.#call = null
    clearTimeout(this.#abortTimer)
    if (this.#closes) {
      this.open = false
      this.#gone = true
      this.#socket.destroy()
    }
    if (call !== null) this.#events.ended(this, call.outcome(lost, performance.now()))
  }

  #lose(why: StreamLoss): void {
    if (this.#gone) return
    this.#gone = true
    this.open = false
    this.#socket.destroy()
    if (this.#call === null) this.#events.gone(this)
    else this.#settle(why)
  }
}
