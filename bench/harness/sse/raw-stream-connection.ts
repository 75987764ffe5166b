/** One connection of the SSE driver: one stream at a time, read as fast as it comes or slowly on purpose. */
import { type Destination, RawConnection } from '../http/raw-connection.js'
import type { AbortRule, StreamLoss, StreamObserver } from './timed-stream.js'

export interface RawStreamEvents<Outcome> {
  opened(lane: RawStreamConnection<Outcome>): void
  /** The stream under way has ended; the lane can take another one when `lane.open`. */
  ended(lane: RawStreamConnection<Outcome>, outcome: Outcome): void
  /** The connection is gone with no stream under way. */
  gone(lane: RawStreamConnection<Outcome>): void
}

const EVENT_END = Buffer.from('\n\n')
const EMPTY = Buffer.alloc(0)
/** Right behind the request, before any model could have answered. */
const BEFORE_FIRST_MS = 5

export class RawStreamConnection<Outcome> {
  /** Number of the stream it carries, for who drives it. */
  index = 0
  readonly #raw: RawConnection
  readonly #events: RawStreamEvents<Outcome>
  #call: StreamObserver<Outcome> | null = null
  #abort: AbortRule | null = null
  #abortTimer: NodeJS.Timeout | undefined
  #startedAt = 0
  /** The unfinished event. */
  #partialEvent: Buffer = EMPTY

  /** `bytesPerS`: reads no faster than that; null reads all that comes. */
  constructor(to: Destination, bytesPerS: number | null, events: RawStreamEvents<Outcome>) {
    this.#events = events
    const listener = {
      head: ({ status }: { readonly status: number }) => {
        if (this.#call !== null) this.#call.status = status
      },
      data: (bytes: Buffer, from: number, to: number) => this.#data(bytes, from, to),
    }
    this.#raw = new RawConnection(
      to,
      {
        opened: () => events.opened(this),
        answered: () => this.#answered(),
        lost: (_raw, why) => {
          if (this.#call === null) events.gone(this)
          else this.#settle(why)
        },
      },
      { listener, bytesPerS },
    )
  }

  get open(): boolean {
    return this.#raw.open
  }

  /** Bytes of the answer that have come so far. */
  get received(): number {
    return this.#raw.received
  }

  /** Sends a request whose answer is `call`. */
  start(request: Buffer, call: StreamObserver<Outcome>, abort: AbortRule | null = null): void {
    this.#call = call
    this.#abort = abort
    this.#startedAt = performance.now()
    this.#raw.send(request, null)
    const after = abort?.kind === 'time' ? abort.ms : abort?.kind === 'before-first' ? BEFORE_FIRST_MS : null
    if (after !== null) this.#abortTimer = setTimeout(() => this.#giveUp('aborted'), after)
  }

  /** Ends a stream that has been silent since before `since`. */
  failIfSilentSince(since: number): void {
    if (Math.max(this.#startedAt, this.#raw.readAt) < since) this.#giveUp('timeout')
  }

  /** Gives the connection up, a stream under way or not, when nothing moves on it for so long. */
  setIdleTimeout(ms: number): void {
    this.#raw.setIdleTimeout(ms)
  }

  /** Ends the connection without a word to the events; a stream under way is forgotten. `reset`: by an RST, not a FIN. */
  close(reset = false): void {
    clearTimeout(this.#abortTimer)
    this.#raw.close(reset)
  }

  #data(bytes: Buffer, from: number, to: number): void {
    if (this.#partialEvent.length > 0) {
      const joined = Buffer.concat([this.#partialEvent, bytes.subarray(from, to)])
      this.#partialEvent = EMPTY
      this.#data(joined, 0, joined.length)
      return
    }
    let at = from
    while (at < to) {
      const end = bytes.indexOf(EVENT_END, at)
      if (end < 0 || end + EVENT_END.length > to) break
      this.#event(bytes, at, end)
      at = end + EVENT_END.length
    }
    if (at < to) this.#partialEvent = Buffer.from(bytes.subarray(at, to))
  }

  #event(bytes: Buffer, from: number, to: number): void {
    const call = this.#call
    if (call === null) return
    call.event(bytes, from, to, this.#raw.readAt)
    if (this.#abort?.kind === 'token' && call.tokens >= this.#abort.token) this.#giveUp('aborted')
  }

  #answered(): void {
    // A body that is no event stream ends without a blank line: it counts as one event.
    const rest = this.#partialEvent
    this.#partialEvent = EMPTY
    if (rest.length > 0) this.#event(rest, 0, rest.length)
    this.#settle(null)
  }

  #giveUp(why: StreamLoss): void {
    this.#raw.close()
    this.#settle(why)
  }

  #settle(lost: StreamLoss | null): void {
    const call = this.#call
    this.#call = null
    clearTimeout(this.#abortTimer)
    if (call !== null) this.#events.ended(this, call.outcome(lost, performance.now()))
  }
}
