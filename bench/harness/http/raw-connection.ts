/** One connection that carries at most one request at a time. It never retries and never reconnects. */
import { connect, type OnReadOpts, type Socket } from 'node:net'
import {
  MalformedResponse,
  ResponseFraming,
  type ResponseHead,
  type ResponseListener,
} from './response-framing.js'

/** Where the load goes: an address, not a name, so that no connection waits for a look-up. */
export interface Destination {
  readonly address: string
  readonly port: number
}

/** Why a request got no answer. `refused`: no connection could be opened. `closed`: the server ended it early. */
export type RequestLoss = 'refused' | 'reset' | 'closed' | 'garbled' | 'timeout'

/** One complete answer. Header names are lower-case; repeated fields are joined with a comma. */
export interface HttpResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** True when the server said that this connection ends here. */
  readonly closes: boolean
}

export interface RawConnectionEvents {
  opened(lane: RawConnection): void
  answered(lane: RawConnection, status: number): void
  /** The connection is gone. A request was under way when `lane.busy`. */
  lost(lane: RawConnection, why: RequestLoss, detail: string): void
}

/** How a connection reads. */
interface ReadingOptions {
  /** `response` holds headers and body; otherwise they are thrown away when `listener` has seen them. */
  readonly keepsAnswers?: boolean
  readonly listener?: ResponseListener
  /** Reads no faster than that; null reads all that comes. */
  readonly bytesPerS?: number | null
}

/** Reads happen one after the other and are used up before the next: one buffer serves all connections. */
const SHARED_READ_BUFFER = Buffer.allocUnsafe(256 * 1024)
/** Slow readers take so many sips a second. */
const SIPS_PER_SECOND = 4
/** `HEAD` is the only method in use that begins with it. */
const LETTER_H = 72

export class RawConnection {
  busy = false
  open = false
  /** Of the request under way, a time of `performance.now()`. */
  dueAt = 0
  kind = 0
  /** Requests this connection has carried. */
  requestsSent = 0
  /** Since when it waits for work. */
  idleSince = 0
  /** When bytes came last. */
  readAt = 0
  readonly #socket: Socket
  readonly #framing: ResponseFraming
  readonly #events: RawConnectionEvents
  readonly #collector: ResponseCollector | null
  #received = 0
  #gone = false

  constructor(to: Destination, events: RawConnectionEvents, reading: ReadingOptions = {}) {
    const { keepsAnswers = false, listener = {}, bytesPerS = null } = reading
    this.#events = events
    this.#collector = keepsAnswers ? new ResponseCollector() : null
    this.#framing = new ResponseFraming(this.#collector ?? listener)
    const onread = bytesPerS === null ? this.#readingAll() : this.#readingSlowly(bytesPerS)
    this.#socket = connect({ host: to.address, port: to.port, noDelay: true, onread })
    this.#socket.once('connect', () => {
      this.open = true
      events.opened(this)
    })
    this.#socket.on('end', () => this.#ended())
    this.#socket.on('error', (error) => this.#lose(this.open ? 'reset' : 'refused', error.message))
    this.#socket.on('close', () => this.#lose(this.open ? 'closed' : 'refused', 'the connection closed'))
    this.#socket.on('timeout', () => this.#lose('timeout', 'no answer in time'))
  }

  /** The answer that came last, where answers are kept; valid until the next one begins. */
  get response(): HttpResponse | null {
    return this.#collector?.response(this.#framing.closes) ?? null
  }

  /** Bytes that have come since the last request was sent. */
  get received(): number {
    return this.#received
  }

  /** Sends a head and perhaps a body, whole or in pieces, as one write. */
  send(head: string | Buffer, body: Buffer | readonly Buffer[] | null): void {
    this.busy = true
    this.requestsSent++
    this.#received = 0
    const first = typeof head === 'string' ? head.charCodeAt(0) : head[0]
    this.#framing.toHeadRequest = first === LETTER_H
    if (body === null) {
      this.#write(head)
      return
    }
    this.#socket.cork()
    this.#write(head)
    if (Buffer.isBuffer(body)) this.#socket.write(body)
    else for (const piece of body) this.#socket.write(piece)
    this.#socket.uncork()
  }

  /** Gives the connection up when nothing moves on it for so long; 0 for never. */
  setIdleTimeout(ms: number): void {
    this.#socket.setTimeout(ms)
  }

  /** Ends the connection without a further event. `reset`: by an RST, not a FIN. */
  close(reset = false): void {
    this.#gone = true
    this.open = false
    if (reset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  #readingAll(): OnReadOpts {
    const callback = (length: number): boolean => {
      this.#read(SHARED_READ_BUFFER.subarray(0, length))
      return true
    }
    return { buffer: SHARED_READ_BUFFER, callback }
  }

  /** A sip at a time, and the next one when it is due: meanwhile the kernel's buffers fill, and the server feels it. */
  #readingSlowly(bytesPerS: number): OnReadOpts {
    const sip = Math.max(1, Math.round(bytesPerS / SIPS_PER_SECOND))
    const buffer = Buffer.alloc(Math.min(sip, SHARED_READ_BUFFER.length))
    const callback = (length: number): boolean => {
      this.#read(buffer.subarray(0, length))
      setTimeout(() => this.#socket.resume(), (length * 1000) / bytesPerS)
      return false
    }
    return { buffer, callback }
  }

  #write(head: string | Buffer): void {
    if (typeof head === 'string') this.#socket.write(head, 'latin1')
    else this.#socket.write(head)
  }

  #read(bytes: Buffer): void {
    this.readAt = performance.now()
    this.#received += bytes.length
    if (!this.busy) {
      this.#lose('garbled', `${bytes.length} bytes that answer no request`)
      return
    }
    try {
      if (this.#framing.feed(bytes)) this.#complete()
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error
      this.#lose('garbled', error.message)
    }
  }

  #complete(): void {
    const { closes, status } = this.#framing
    this.busy = false
    if (closes) this.open = false
    this.#events.answered(this, status)
    if (closes) this.close()
  }

  #ended(): void {
    if (this.busy && this.#framing.endedByClose()) this.#complete()
    else this.#lose('closed', 'the server closed the connection')
  }

  #lose(why: RequestLoss, detail: string): void {
    if (this.#gone) return
    this.#gone = true
    this.open = false
    this.#socket.destroy()
    this.#events.lost(this, why, detail)
  }
}

/** Keeps one answer as a whole. */
class ResponseCollector {
  #head: ResponseHead | null = null
  #parts: Buffer[] = []

  head(head: ResponseHead): void {
    this.#head = head
    this.#parts = []
  }

  data(bytes: Buffer, from: number, to: number): void {
    // The buffer belongs to the next read.
    this.#parts.push(Buffer.from(bytes.subarray(from, to)))
  }

  response(closes: boolean): HttpResponse | null {
    if (this.#head === null) return null
    const { status, fields } = this.#head
    const headers = new Map<string, string>()
    for (const [name, value] of fields) {
      const earlier = headers.get(name)
      headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`)
    }
    return { status, headers, body: Buffer.concat(this.#parts), closes }
  }
}
