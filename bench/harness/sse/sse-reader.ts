/**
 * Reads the answers of one connection as events while they arrive. Built for the load side: nothing is copied while
 * events arrive whole, and nothing is parsed beyond what proves them complete.
 */
import { ResponseFraming } from '../http/response-framing.js'

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
