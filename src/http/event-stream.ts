/**
 * Server-sent events on the way out. The body gathers what arrives in one turn, and lets a slow reader slow the source
 * down; the timers say when a stream begins that has no event yet.
 */
import { LinkedList, LinkedNode } from '../base/linked-list.js'
import type { HeaderList, ResponseSink, StreamResponseBody } from '../transport/exchange.js'

export const EVENT_STREAM_HEADERS: HeaderList = Object.freeze([
  ['Content-Type', 'text/event-stream'],
  // A cache may not keep a stream, and a proxy must not gather it (nginx reads the second one).
  ['Cache-Control', 'no-cache'],
  ['X-Accel-Buffering', 'no'],
] as const)

/** A comment: every client skips it (contract/gateway 4.1). */
const KEEP_ALIVE = ': SERVICE PROCESSING\n\n'
/** End an event that has no data, which is none: they do nothing, also at readers who cut the stream at blank lines. */
const BLANK_LINES = '\n\n'

/** Where the events come from. */
interface EventStreamSource {
  pause(): void
  resume(): void
  /** The reader has gone, or the stream was cut: stop for good. */
  cancel(): void
  /** Events to say when the server has to cut the stream. */
  closingEvents(): string
}

/**
 * An event stream as a body. `push` collects, `flush` writes what was collected in one piece; both may be called
 * before the transport starts the body, and after the reader has gone.
 */
export class EventStreamBody implements StreamResponseBody {
  heartbeat: string
  readonly padding = BLANK_LINES
  readonly #source: EventStreamSource
  #sink: ResponseSink | null = null
  #buffered = ''
  #ended = false
  #paused = false

  /** @param keepAlive whether a silence is broken with comments */
  constructor(source: EventStreamSource, keepAlive: boolean) {
    this.#source = source
    this.heartbeat = keepAlive ? KEEP_ALIVE : ''
  }

  get closingFrame(): string {
    return this.#source.closingEvents()
  }

  start(sink: ResponseSink): void {
    this.#sink = sink
    sink.onAbort(() => this.#source.cancel())
    sink.onDrain(() => this.#onDrain())
    this.flush()
  }

  push(events: string): void {
    this.#buffered += events
  }

  flush(): void {
    const sink = this.#sink
    if (sink === null) return
    if (this.#buffered !== '') {
      const events = this.#buffered
      this.#buffered = ''
      if (!sink.write(events) && !this.#paused && !this.#ended) {
        this.#paused = true
        this.#source.pause()
      }
    }
    if (this.#ended) sink.end()
  }

  /** Writes what is left and ends the body. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.flush()
  }

  #onDrain(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#source.resume()
  }
}

// ── The beginning ───────────────────────────────────────────────────────────

const TICK_MS = 250

/** A stream that has nothing to say yet. */
export class FirstEventTimer extends LinkedNode {
  /** `performance.now()` at which the silence has lasted too long. */
  dueAt = 0

  constructor(readonly onSilence: () => void) {
    super()
  }
}

/**
 * When to begin an event stream that has nothing to say yet. Until the first event a failure can still be told
 * with a status of its own; but a proxy in front cuts what stays silent. So the answer waits for its first event,
 * and no longer than the keep-alive's silence: then it begins, and a later failure is told inside the stream.
 */
export class FirstEventTimers {
  readonly #silenceMs: number
  readonly #running = new LinkedList<FirstEventTimer>()
  #timer: NodeJS.Timeout | null = null

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs
  }

  /** Calls its `onSilence` once when the silence has lasted too long, unless the timer is cleared before. */
  start(timer: FirstEventTimer): void {
    timer.dueAt = performance.now() + this.#silenceMs
    this.#running.add(timer)
    this.#arm()
  }

  clear(timer: FirstEventTimer): void {
    this.#running.delete(timer)
  }

  /** One timer for all: one per stream would be made and thrown away with nearly every call. */
  #arm(): void {
    if (this.#timer !== null) return
    this.#timer = setTimeout(() => this.#tick(), Math.min(this.#silenceMs, TICK_MS))
    this.#timer.unref()
  }

  #tick(): void {
    this.#timer = null
    const now = performance.now()
    // Timers that come due together fire in the order of their arrival: the newest stand in front.
    for (const timer of this.#running.members().reverse()) {
      if (timer.dueAt > now) break
      // An earlier one of this round may have cleared it.
      if (timer.list === null) continue
      this.#running.delete(timer)
      timer.onSilence()
    }
    if (this.#running.size > 0) this.#arm()
  }
}
