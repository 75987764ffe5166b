/**
 * One request and its answer on the native server. Part of the native edge: `uws.ts` creates these and nobody
 * else sees them except as a `Call`. It imports only types from uWebSockets.js.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { type Call, isStream, type Reply, type Route, type Sink, type StreamBody } from './exchange.js'
import { STATUS_LINES } from './status-lines.js'

/** What all exchanges of one server share. */
export interface Edge {
  draining: boolean
  /** Calls that outlived the turn they arrived in. */
  readonly pending: Set<UwsExchange>
  readonly onDefect: (error: unknown) => void
}

/** Bodies up to this size are handed to uWS as a whole; larger ones go out as the reader takes them. */
const WHOLE_BODY_BYTES = 64 * 1024
/** Most bytes read and thrown away after a refusal, so that a caller that is still sending can read it. */
const LINGER_BYTES = 1024 * 1024
const LINGER_MS = 5_000
/** Silence after which a stream says its filler. */
const KEEP_ALIVE_MS = 15_000
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
const NO_BYTES = new Uint8Array(0)

export class UwsExchange implements Call {
  query = ''
  address = ''
  first = ''
  second = ''
  headers = NO_HEADERS
  body: Uint8Array = NO_BYTES
  readonly arrivedAt: number
  readonly #res: HttpResponse
  readonly #route: Route
  readonly #edge: Edge
  readonly #headOnly: boolean
  /** The native response is over: answered, aborted or closed. Nothing may touch it any more. */
  #over = false
  /** An answer was chosen; a later one (of a handler that was overtaken by the deadline) is dropped. */
  #answered = false
  #gone = false
  #listening = false
  #abort: AbortController | null = null
  #bytesIn = 0
  #bytesOut = 0
  #status = 0
  #stream: StreamBody | null = null
  #onDrain: (() => void) | null = null
  #leavers: (() => void)[] | null = null
  #lastWriteAt = 0
  #giveUpAt: number

  constructor(res: HttpResponse, route: Route, edge: Edge, headOnly: boolean, arrivedAt: number) {
    this.#res = res
    this.#route = route
    this.#edge = edge
    this.#headOnly = headOnly
    this.arrivedAt = arrivedAt
    this.#giveUpAt = arrivedAt + route.deadlineMs
  }

  param(index: number): string {
    return index === 0 ? this.first : this.second
  }

  header(name: string): string {
    return this.headers[name] ?? ''
  }

  get gone(): boolean {
    return this.#gone
  }

  whenGone(leave: () => void): void {
    if (this.#gone) leave()
    else if (this.#leavers === null) this.#leavers = [leave]
    else this.#leavers.push(leave)
  }

  get signal(): AbortSignal {
    if (this.#abort === null) {
      const controller = new AbortController()
      this.#abort = controller
      this.whenGone(() => controller.abort())
    }
    return this.#abort.signal
  }

  /** Decides, reads the body where there is one, answers. `length` as the framing guard saw it. */
  begin(length: number): void {
    const route = this.#route
    if (length > route.bodyLimit) {
      this.refuseAndClose(route.refuse('payload-too-large'), length)
      return
    }
    const refusal = route.admit(this)
    if (refusal !== null) {
      this.#send(refusal)
      return
    }
    if (length === 0 && !route.readsBody) this.#answer()
    else this.#readBody(length)
  }

  /** Answers, announces the close, and reads a bounded rest so that the caller gets to see the answer. */
  refuseAndClose(reply: Reply, length: number): void {
    if (length === 0 || this.#headOnly) {
      this.#send(reply, true)
      return
    }
    this.#listen()
    this.#answered = true
    this.#writeHead(reply)
    this.#res.writeHeader('Connection', 'close')
    const body = typeof reply.body === 'string' || reply.body instanceof Uint8Array ? reply.body : ''
    this.#bytesOut += byteLength(body)
    this.#res.write(body)
    this.#giveUpAt = performance.now() + LINGER_MS
    this.#res.onData((chunk, last) => {
      this.#bytesIn += chunk.byteLength
      if (this.#over || (!last && this.#bytesIn < LINGER_BYTES)) return
      this.#res.end('', true)
      this.#settle(false)
    })
  }

  /** Rules 2 and 3: the abort handler stands before anything that waits; chunks are copied at once. */
  #readBody(length: number): void {
    this.#listen()
    const keep = this.#route.readsBody
    const parts: Buffer[] = []
    this.#res.onData((chunk, last) => {
      try {
        if (this.#answered || this.#over) return
        this.#bytesIn += chunk.byteLength
        if (this.#bytesIn > this.#route.bodyLimit) {
          this.#tooLarge()
          return
        }
        if (keep && chunk.byteLength > 0) parts.push(Buffer.from(Buffer.from(chunk)))
        if (!last) return
        // uWS ends a body early when the peer half-closes; a body shorter than declared is no body.
        if (length >= 0 && this.#bytesIn !== length) {
          this.#res.close()
          return
        }
        if (keep) this.body = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
        this.#answer()
      } catch (error) {
        this.#defect(error)
      }
    })
  }

  /** Only chunked bodies get here: a declared length was judged before a byte was read. */
  #tooLarge(): void {
    this.#send(this.#route.refuse('payload-too-large'), true)
  }

  #answer(): void {
    const reply = this.#route.answer(this)
    if (!(reply instanceof Promise)) {
      this.#send(reply)
      return
    }
    this.#listen()
    reply.then(
      (late) => this.#sendLater(late),
      (error: unknown) => this.#defect(error),
    )
  }

  #sendLater(reply: Reply): void {
    if (this.#over || this.#answered) return
    try {
      // Rule 4: a write after the first turn stands inside a cork.
      this.#res.cork(() => this.#send(reply))
    } catch (error) {
      this.#defect(error)
    }
  }

  /** Rule 2. From here on the call is known to the sweep and must be settled through `#settle`. */
  #listen(): void {
    if (this.#listening) return
    this.#listening = true
    this.#edge.pending.add(this)
    this.#res.onAborted(() => {
      try {
        this.#over = true
        this.#leave()
        this.#settle(true)
      } catch (error) {
        this.#edge.onDefect(error)
      }
    })
  }

  #leave(): void {
    if (this.#gone) return
    this.#gone = true
    const leavers = this.#leavers
    this.#leavers = null
    if (leavers !== null) for (const leave of leavers) leave()
  }

  #writeHead(reply: Reply): void {
    this.#status = reply.status
    const res = this.#res
    if (reply.status !== 200) res.writeStatus(STATUS_LINES[reply.status] ?? `${reply.status} Unknown`)
    const headers = reply.headers
    for (let i = 0; i < headers.length; i++) {
      const header = headers[i]!
      res.writeHeader(header[0], header[1])
    }
  }

  #send(reply: Reply, close = this.#edge.draining): void {
    this.#answered = true
    const body = reply.body
    this.#writeHead(reply)
    if (body === null || this.#headOnly) {
      this.#sendWithoutBody(body, close)
    } else if (isStream(body)) {
      this.#startStream(body, close)
    } else if (body.length > WHOLE_BODY_BYTES) {
      this.#sendPieces(typeof body === 'string' ? Buffer.from(body) : body, close)
    } else {
      this.#bytesOut = byteLength(body)
      this.#res.end(body, close)
      this.#settle(false)
    }
  }

  /** Rule 9: how an answer without a body is written on this build. */
  #sendWithoutBody(body: Reply['body'], close: boolean): void {
    if (typeof body === 'string' || body instanceof Uint8Array) {
      this.#res.writeHeader('Content-Length', String(byteLength(body)))
    }
    if (close) this.#res.writeHeader('Connection', 'close')
    this.#res.endWithoutBody()
    this.#settle(false)
  }

  /** Rule 5, known size: what the socket does not take now is sent from its offset when it can take more. */
  #sendPieces(body: Uint8Array, close: boolean): void {
    const res = this.#res
    const total = body.byteLength
    this.#listen()
    if (close) res.writeHeader('Connection', 'close')
    const [, done] = res.tryEnd(body, total)
    if (done) {
      this.#bytesOut = total
      this.#settle(false)
      return
    }
    // The caller's bytes may only be borrowed for this turn (an LMDB page, say): keep the rest as a copy.
    const sent = res.getWriteOffset()
    const rest = Buffer.from(body.subarray(sent))
    res.onWritable((offset) => {
      const [taken, finished] = res.tryEnd(rest.subarray(offset - sent), total)
      if (finished) {
        this.#bytesOut = total
        this.#settle(false)
      }
      return taken
    })
  }

  #startStream(body: StreamBody, close: boolean): void {
    this.#listen()
    if (close) this.#res.writeHeader('Connection', 'close')
    this.#stream = body
    this.#lastWriteAt = performance.now()
    // Rule 6: with a handler set, uWS pushes out kept bytes only when the handler itself writes.
    this.#res.onWritable(() => this.#writable(body))
    body.start(this.#sink(close))
  }

  #writable(body: StreamBody): boolean {
    const before = this.#bytesOut
    this.#onDrain?.()
    if (this.#over || this.#bytesOut !== before || body.filler === '') return true
    return this.#write(body.filler)
  }

  #sink(close: boolean): Sink {
    return {
      write: (chunk) => {
        if (this.#over) return true
        let taken = true
        this.#res.cork(() => {
          taken = this.#write(chunk)
        })
        return taken
      },
      end: () => {
        if (this.#over) return
        this.#res.cork(() => {
          this.#res.end('', close || this.#edge.draining)
        })
        this.#settle(false)
      },
      onDrain: (resume) => {
        this.#onDrain = resume
      },
      onGone: (leave) => this.whenGone(leave),
    }
  }

  #write(chunk: string | Uint8Array): boolean {
    this.#lastWriteAt = performance.now()
    this.#bytesOut += byteLength(chunk)
    return this.#res.write(chunk)
  }

  /** Called every quarter of a second while the call waits for something. */
  sweep(now: number): void {
    if (now >= this.#giveUpAt) {
      this.#expire()
    } else if (
      this.#stream !== null &&
      this.#stream.filler !== '' &&
      now - this.#lastWriteAt >= KEEP_ALIVE_MS
    ) {
      const { filler } = this.#stream
      this.#res.cork(() => this.#write(filler))
    }
  }

  /** The total deadline has passed: tell the handler, then answer for it or cut what it has begun. */
  #expire(): void {
    this.#leave()
    if (this.#over) return
    if (this.#answered) this.cut()
    else this.#res.cork(() => this.#send(this.#route.refuse('deadline-exceeded'), true))
  }

  /** Ends the call now: a stream with its last words, anything else by closing the socket. */
  cut(): void {
    if (this.#over) return
    const stream = this.#stream
    this.#leave()
    if (stream !== null && !this.#over) {
      this.#res.cork(() => {
        if (stream.lastWords !== '') this.#write(stream.lastWords)
        this.#res.end('', true)
      })
      this.#settle(true)
    } else if (!this.#over) {
      this.#res.close() // fires onAborted, which settles
    }
  }

  #settle(aborted: boolean): void {
    this.#over = true
    if (this.#listening && !this.#edge.pending.delete(this)) return
    this.#route.settled(this.arrivedAt, this.#status, this.#bytesIn, this.#bytesOut, aborted)
  }

  #defect(error: unknown): void {
    this.#edge.onDefect(error)
    if (!this.#over) this.#res.close()
  }
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}
