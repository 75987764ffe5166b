/** Server-sent events on the way out: gathers what arrives in one turn, and lets a slow reader slow the source down. */
import type { HeaderList, Sink, StreamBody } from '../transport/exchange.js'

export const EVENT_STREAM_HEADERS: HeaderList = Object.freeze([
  ['Content-Type', 'text/event-stream'],
  // A cache may not keep a stream, and a proxy must not gather it (nginx reads the second one).
  ['Cache-Control', 'no-cache'],
  ['X-Accel-Buffering', 'no'],
] as const)

/** A comment: every client skips it (contract/gateway 4.1). */
const KEEP_ALIVE = ': SERVICE PROCESSING\n\n'
/** Ends an event that has no data, which is none: does nothing at the reader. */
const BLANK_LINE = '\n'

/** Where the events come from. */
interface EventSource {
  pause(): void
  resume(): void
  /** The reader has gone, or the stream was cut: stop for good. */
  cancel(): void
  /** Events to say when the server has to cut the stream. */
  lastWords(): string
}

/**
 * An event stream as a body. `push` collects, `flush` writes what was collected in one piece; both may be called
 * before the transport starts the body, and after the reader has gone.
 */
export class EventStream implements StreamBody {
  filler: string
  readonly silent: boolean
  readonly #source: EventSource
  #sink: Sink | null = null
  #waiting = ''
  #ended = false
  #paused = false

  /** @param keepAlive whether a silence is broken with comments */
  constructor(source: EventSource, keepAlive: boolean) {
    this.#source = source
    this.silent = !keepAlive
    this.filler = keepAlive ? KEEP_ALIVE : BLANK_LINE
  }

  get lastWords(): string {
    return this.#source.lastWords()
  }

  start(sink: Sink): void {
    this.#sink = sink
    sink.onGone(() => this.#source.cancel())
    sink.onDrain(() => this.#drained())
    this.flush()
  }

  push(events: string): void {
    this.#waiting += events
  }

  flush(): void {
    const sink = this.#sink
    if (sink === null) return
    if (this.#waiting !== '') {
      const events = this.#waiting
      this.#waiting = ''
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

  #drained(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#source.resume()
  }
}
