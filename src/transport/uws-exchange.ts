/**
 * One request and its answer on the native server. Part of the native edge: `uws.ts` creates these and nobody
 * else sees them except as a `Call`. It imports only types from uWebSockets.js.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { newRequestId } from '../base/ids.js'
import { type LinkedList, LinkedNode } from '../base/linked-list.js'
import { BodyQueue } from './body-queue.js'
import {
  type HttpCall,
  type IncomingBody,
  isSizedBody,
  isStreamBody,
  type Reply,
  type ResponseSink,
  type Route,
  type SizedResponseBody,
  type StreamResponseBody,
} from './exchange.js'
import type { CloseRequest } from './framing.js'
import type { PipelineCutoff } from './pipeline-cutoff.js'
import { SizedBodySender } from './sized-body-sender.js'
import { STATUS_LINES } from './status-lines.js'

/** What all exchanges of one server share. */
export interface ServerState {
  draining: boolean
  /** Calls that outlived the turn they arrived in. */
  readonly openExchanges: LinkedList<UwsExchange>
  readonly cutoff: PipelineCutoff
  /** Silence after which a stream says its filler, in milliseconds. */
  readonly keepAliveMs: number
  readonly onDefect: (error: unknown) => void
}

/** Most bytes read and thrown away after a refusal, so that a caller that is still sending can read it. */
const LINGER_BYTES = 16 * 1024 * 1024
const LINGER_MS = 5_000
/** Most bytes a stream may write after it was told to stop: the cap on what waits for a slow reader. */
const WAITING_BYTES = 1024 * 1024
/** Last answers of a connection, up to this size, are handed to uWS together with the close. */
const WHOLE_BODY_BYTES = 64 * 1024
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
const NO_BYTES = new Uint8Array(0)

export class UwsExchange extends LinkedNode implements HttpCall {
  query = ''
  address = ''
  firstParam = ''
  secondParam = ''
  headers = NO_HEADERS
  body: Uint8Array = NO_BYTES
  admission: unknown = null
  /** The caller asked for the connection to be closed behind the answer. */
  closeRequest: CloseRequest = 'none'
  readonly arrivedAt: number
  readonly #res: HttpResponse
  readonly #route: Route
  readonly #edge: ServerState
  readonly #headOnly: boolean
  #id = ''
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
  /** The body is not complete yet. */
  #reading = false
  /** Whether the call is admitted is not known yet. */
  #undecided = false
  /** It could be answered but for that. */
  #answerable = false
  /** The sender of a body is held back until it is known. */
  #held = false
  /** The answer to a call whose body is still coming and is thrown away. */
  #refusal: Reply | null = null
  /** The answer is on the wire as a whole, but the native response is still ours. */
  #written = false
  #counted = false
  /** The body, where the route reads it as a stream. */
  #incoming: BodyQueue | null = null
  /** All of it has come, though its reader may not have taken it yet. */
  #complete = false
  #resumedAtEnd = false
  #stream: StreamResponseBody | null = null
  /** The reader is slow: a write was kept, and the socket has not become writable since. */
  #blocked = false
  #waiting = 0
  #onDrain: (() => void) | null = null
  #leavers: (() => void)[] | null = null
  #lastWriteAt = 0
  #chunks = 0
  #chunkAt = 0
  #blockedAt = 0
  #giveUpAt: number

  constructor(res: HttpResponse, route: Route, edge: ServerState, headOnly: boolean, arrivedAt: number) {
    super()
    this.#res = res
    this.#route = route
    this.#edge = edge
    this.#headOnly = headOnly
    this.arrivedAt = arrivedAt
    this.#giveUpAt = arrivedAt + route.deadlineMs
  }

  param(index: number): string {
    return index === 0 ? this.firstParam : this.secondParam
  }

  header(name: string): string {
    return this.headers[name] ?? ''
  }

  get incoming(): IncomingBody | null {
    return this.#incoming
  }

  get requestId(): string {
    if (this.#id === '') this.#id = newRequestId()
    return this.#id
  }

  get aborted(): boolean {
    return this.#gone
  }

  onAbort(leave: () => void): void {
    if (this.#gone) leave()
    else if (this.#leavers === null) this.#leavers = [leave]
    else this.#leavers.push(leave)
  }

  get signal(): AbortSignal {
    if (this.#abort === null) {
      const controller = new AbortController()
      this.#abort = controller
      this.onAbort(() => controller.abort())
    }
    return this.#abort.signal
  }

  /** Decides, reads the body where there is one, answers. `length` as the framing guard saw it. */
  begin(length: number): void {
    const route = this.#route
    if (length > route.bodyLimit) {
      this.refuseAndClose(route.refuse('payload-too-large', this), length)
      return
    }
    const refusal = route.admit(this)
    if (refusal instanceof Promise) {
      this.#admitLater(refusal)
    } else if (refusal !== null) {
      this.#send(refusal)
      return
    }
    if (route.readsBody === 'stream') this.#streamBody(length)
    else if (length === 0 && !route.readsBody) this.#answer()
    else this.#readBody(length)
  }

  /** Meanwhile the body is received as far as it is on its way (rule 3), and nothing is answered. */
  #admitLater(refusal: Promise<Reply | null>): void {
    this.#listen()
    this.#undecided = true
    refusal.then(
      (decided) => this.#guarded(() => this.#decide(decided)),
      (error: unknown) => this.defect(error),
    )
  }

  #decide(refusal: Reply | null): void {
    if (this.#over) return
    this.#undecided = false
    if (this.#held) {
      this.#res.resume()
      this.#resumedAtEnd = !this.#reading
    }
    if (this.#answered) return
    if (refusal !== null) this.#res.cork(() => this.#sendOrRefuse(refusal))
    else if (this.#answerable) this.#res.cork(() => this.#answer())
  }

  /**
   * Refuses a call and closes its connection. A body that is still coming is read on for a while: closing on
   * unread bytes sends a RST, and that can cost the caller the answer (it may send everything before it reads).
   */
  refuseAndClose(reply: Reply, length: number): void {
    // Nothing follows, or nobody can tell where it ends (NaN): the answer and the close go out together.
    if (this.#headOnly || !(length > 0 || length === -1)) {
      this.#send(reply, true)
      return
    }
    this.#linger(reply)
    this.#readBody(length)
  }

  /** From here on the body is thrown away. A caller that is not done with it in this turn is answered at once. */
  #linger(refusal: Reply): void {
    this.#listen()
    this.#answered = true
    this.#incoming?.discard()
    this.#refusal = refusal
    this.#status = refusal.status
    this.#giveUpAt = performance.now() + LINGER_MS
    setImmediate(() => {
      if (!this.#over) this.#guarded(() => this.#res.cork(() => this.#writeWhole(refusal)))
    })
  }

  #readBody(length: number): void {
    const keep = this.#route.readsBody === true
    const parts: Buffer[] = []
    this.#receive(
      length,
      (chunk, last) => {
        if (keep && chunk.byteLength > 0) parts.push(Buffer.from(Buffer.from(chunk)))
        if (this.#undecided && !this.#held && !last) {
          this.#held = true
          this.#res.pause()
        }
      },
      () => {
        if (keep) this.body = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
        this.#answer()
      },
    )
  }

  /** The route answers now and takes the pieces as they come; see `IncomingBody`. */
  #streamBody(length: number): void {
    let held = false
    const incoming = new BodyQueue(length < 0 ? null : length, {
      hold: () => {
        held = true
        if (this.#over) return
        this.#res.pause()
        // A pause stops the ten seconds in which uWS wants to hear something; but where bytes have just come, it
        // winds that clock up again when it has handed them over.
        setImmediate(() => {
          if (held && !this.#over) this.#guarded(() => this.#res.pause())
        })
      },
      release: () => {
        held = false
        if (this.#over) return
        this.#res.resume()
        this.#resumedAtEnd = this.#complete
      },
    })
    this.#incoming = incoming
    this.onAbort(() => incoming.fail())
    this.#receive(
      length,
      (chunk, last) => {
        if (last) {
          this.#complete = true
          incoming.markLastPiece()
        }
        incoming.push(new Uint8Array(chunk))
      },
      () => incoming.markComplete(),
    )
    this.#answer()
  }

  /** Rules 2 and 3: the abort handler stands before anything that waits; chunks are borrowed. */
  #receive(length: number, take: (chunk: ArrayBuffer, last: boolean) => void, complete: () => void): void {
    this.#listen()
    this.#reading = true
    this.#res.onData((chunk, last) => {
      try {
        if (this.#over) return
        this.#bytesIn += chunk.byteLength
        // Only a chunked body can get past the limit here: a declared length was judged before a byte was read.
        if (this.#bytesIn > this.#route.bodyLimit && !this.#answered) {
          this.#incoming?.fail()
          this.#linger(this.#route.refuse('payload-too-large', this))
        }
        if (this.#refusal !== null) this.#passBy(this.#refusal, last)
        if (this.#answered) return
        take(chunk, last)
        if (!last || this.#over) return
        // uWS ends a body early when the peer half-closes; a body shorter than declared is no body.
        if (length >= 0 && this.#bytesIn !== length) {
          this.#res.close()
          return
        }
        this.#reading = false
        complete()
      } catch (error) {
        this.defect(error)
      }
    })
  }

  /** One more piece of the body of a refused call went by. */
  #passBy(refusal: Reply, last: boolean): void {
    if (!last && this.#bytesIn < LINGER_BYTES) return
    if (this.#written) this.#res.close()
    else this.#send(refusal, true)
  }

  #answer(): void {
    if (this.#undecided) {
      this.#answerable = true
      return
    }
    const reply = this.#route.answer(this)
    // A handler has read it by now; a long stream would keep it for its whole life.
    this.body = NO_BYTES
    if (!(reply instanceof Promise)) {
      this.#sendOrRefuse(reply)
      return
    }
    this.#listen()
    reply.then(
      (late) => this.#sendLater(late),
      (error: unknown) => this.defect(error),
    )
  }

  #sendLater(reply: Reply): void {
    if (this.#over || this.#answered) return
    // Rule 4: a write after the first turn stands inside a cork.
    this.#guarded(() => this.#res.cork(() => this.#sendOrRefuse(reply)))
  }

  /** A reply that does not wait for the whole body is a refusal. */
  #sendOrRefuse(reply: Reply): void {
    if (this.#reading) this.#linger(reply)
    else this.#send(reply)
  }

  /** Rule 2. From here on the call is known to the sweep and must be settled through `#settle`. */
  #listen(): void {
    if (this.#listening) return
    this.#listening = true
    this.#edge.openExchanges.add(this)
    this.#res.onAborted(() => {
      this.#over = true
      this.#guarded(() => this.#leave())
      this.#guarded(() => this.#settle(!this.#written))
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

  #send(reply: Reply, close = this.closeRequest !== 'none' || this.#edge.draining): void {
    this.#answered = true
    // Whatever its reader left: the connection may not stay held back.
    this.#incoming?.discard()
    const body = reply.body
    this.#writeHead(reply)
    if (body === null || this.#headOnly) {
      this.#sendWithoutBody(body, close)
    } else if (isStreamBody(body)) {
      this.#startStream(body, close)
    } else if (isSizedBody(body)) {
      this.#startSized(body, close)
    } else if (
      body.length === 0 ||
      (close && (this.closeRequest === 'listed' || body.length <= WHOLE_BODY_BYTES))
    ) {
      // uWS knows the word, closes for it, and then keeps the close to itself.
      if (this.closeRequest === 'word') this.#res.writeHeader('Connection', 'close')
      if (close) this.#isLast()
      this.#bytesOut = byteLength(body)
      this.#res.end(body, close)
      this.#settle(false)
    } else {
      this.#sendBody(body, close)
    }
  }

  /**
   * Rule 12: the connection ends behind what is written next; what uWS has already read behind it is not run. Also
   * for an answer that was promised: what a handler awaits may be there before uWS has parsed on.
   */
  #isLast(): void {
    this.#edge.cutoff.closeBehind(this.#res)
  }

  /** Rule 9: how an answer without a body is written on this build. */
  #sendWithoutBody(body: Reply['body'], close: boolean): void {
    if (typeof body === 'string' || body instanceof Uint8Array) {
      this.#res.writeHeader('Content-Length', String(byteLength(body)))
    } else if (body !== null && isSizedBody(body)) {
      this.#res.writeHeader('Content-Length', String(body.size))
    } else if (body === null && this.#status !== 204 && this.#status !== 304) {
      // Without it the caller would take everything up to the close for the body.
      this.#res.writeHeader('Content-Length', '0')
    }
    if (close && this.closeRequest !== 'word') {
      this.#closeAfterHead()
      return
    }
    if (close) {
      this.#res.writeHeader('Connection', 'close')
      this.#isLast()
    }
    this.#res.endWithoutBody()
    this.#settle(false)
  }

  /**
   * `endWithoutBody` cannot close, and `end` would add a length. So the head ends by hand, which leaves the native
   * response open: `writeHeader` passes its value on as it is, blank line included.
   */
  #closeAfterHead(): void {
    this.#listen()
    this.#res.writeHeader('Connection', 'close\r\n')
    this.#written = true
    // Not in this turn: closing throws away what is still corked.
    setImmediate(() => {
      if (!this.#over) this.#res.close()
    })
  }

  /**
   * Puts a whole answer on the wire while the body of the call is still coming. uWS closes in the same breath in
   * which it ends an answer, so this one does not end for uWS: the blank line and the body travel in the value of
   * the last field. The line end that uWS adds to a field counts as the last two bytes of the body.
   */
  #writeWhole(reply: Reply): void {
    const { body } = reply
    const whole = typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body) : NO_BYTES
    this.#writeHead(reply)
    this.#res.writeHeader('Connection', 'close')
    const total = whole.byteLength + 2
    this.#res.writeHeader('Content-Length', Buffer.concat([Buffer.from(`${total}\r\n\r\n`), whole]))
    this.#bytesOut = total
    this.#written = true
  }

  /**
   * Rule 5, known size: what the socket does not take now is sent from its offset when it can take more. Small
   * bodies go this way too. `end` would take them whatever waits already, and a caller that pipelines reads and
   * takes its time over the answers could make us keep any number of them.
   */
  #sendBody(body: string | Uint8Array, close: boolean): void {
    const res = this.#res
    const total = byteLength(body)
    if (close) res.writeHeader('Connection', 'close')
    if (this.closeRequest === 'word') this.#isLast()
    const [, done] = res.tryEnd(body, total)
    if (done) {
      this.#bytesOut = total
      this.#settle(false)
      return
    }
    this.#edge.cutoff.clear()
    this.#listen()
    this.#sendRest(typeof body === 'string' ? Buffer.from(body) : body, total)
  }

  #sendRest(body: Uint8Array, total: number): void {
    const res = this.#res
    // The caller's bytes may only be borrowed for this turn (an LMDB page, say): keep the rest as a copy.
    const sent = res.getWriteOffset()
    const rest = Buffer.from(body.subarray(sent))
    this.#bytesOut = sent
    res.onWritable((offset) => {
      let taken = true
      this.#guarded(() => {
        const answer = res.tryEnd(rest.subarray(offset - sent), total)
        taken = answer[0]
        this.#bytesOut = answer[1] ? total : res.getWriteOffset()
        if (answer[1]) this.#settle(false)
      })
      return taken
    })
  }

  /** Rule 5 as well, for bytes that are read while they are sent. */
  #startSized(body: SizedResponseBody, close: boolean): void {
    this.#listen()
    if (close) this.#res.writeHeader('Connection', 'close')
    const sending = new SizedBodySender(this.#res, body, {
      isClosed: () => this.#over,
      onProgress: (bytes) => {
        this.#bytesOut = bytes
      },
      onEnd: () => this.#settle(false),
      onDefect: (error) => this.defect(error),
    })
    this.onAbort(() => sending.stop())
    sending.send().catch((error: unknown) => this.defect(error))
  }

  #startStream(body: StreamResponseBody, close: boolean): void {
    this.#listen()
    if (close) this.#res.writeHeader('Connection', 'close')
    this.#stream = body
    this.#lastWriteAt = performance.now()
    // Rule 6: with a handler set, uWS pushes out kept bytes only when the handler itself writes.
    this.#res.onWritable(() => {
      this.#guarded(() => this.#writable(body))
      return !this.#blocked
    })
    body.start(this.#sink())
  }

  #writable(body: StreamResponseBody): void {
    const before = this.#bytesOut
    this.#meterWait()
    this.#blocked = false
    this.#waiting = 0
    this.#onDrain?.()
    if (this.#over || this.#bytesOut !== before || body.heartbeat === '') return
    this.#write(body.heartbeat)
  }

  #sink(): ResponseSink {
    return {
      write: (chunk) => {
        if (this.#over) return true
        if (this.#blocked && (this.#waiting += byteLength(chunk)) > WAITING_BYTES) {
          this.#res.close()
          return true
        }
        this.#meterChunk()
        this.#res.cork(() => this.#write(chunk))
        return !this.#blocked
      },
      end: () => {
        if (this.#over) return
        // Never with uWS's own close: it would write a header line into the middle of the body.
        this.#res.cork(() => this.#res.end())
        this.#settle(false)
      },
      onDrain: (resume) => {
        this.#onDrain = resume
      },
      onAbort: (leave) => this.onAbort(leave),
    }
  }

  #write(chunk: string | Uint8Array): void {
    this.#lastWriteAt = performance.now()
    this.#bytesOut += byteLength(chunk)
    if (this.#res.write(chunk) || this.#blocked) return
    this.#blocked = true
    this.#blockedAt = this.#lastWriteAt
  }

  /** Fillers and last words are no chunks. The time is read once more, so that it does not count our own cork. */
  #meterChunk(): void {
    const meter = this.#route.stream
    if (meter === undefined) return
    const firstParam = this.#chunks++ === 0
    const now = performance.now()
    meter.onChunk(this.arrivedAt, now - (firstParam ? this.arrivedAt : this.#chunkAt), firstParam)
    this.#chunkAt = now
  }

  #meterWait(): void {
    if (this.#blocked) this.#route.stream?.onStall(this.arrivedAt, performance.now() - this.#blockedAt)
  }

  /** Called every quarter of a second while the call waits for something. */
  sweep(now: number): void {
    // A resume winds up the clock of ten seconds, which is for bodies that come; this one waits for its answer.
    if (this.#resumedAtEnd && !this.#answered && !this.#over) this.#guarded(() => this.#res.resume())
    if (now >= this.#giveUpAt) this.#guarded(() => this.#expire())
    else if (
      this.#stream !== null &&
      this.#stream.noHeartbeat !== true &&
      now - this.#lastWriteAt >= this.#edge.keepAliveMs
    ) {
      this.#guarded(() => this.#breakSilence(this.#stream!.heartbeat))
    }
  }

  /** A reader that is slow has bytes on the way already. */
  #breakSilence(filler: string): void {
    if (filler !== '' && !this.#blocked && !this.#over) this.#res.cork(() => this.#write(filler))
  }

  /** The total deadline has passed: tell the handler, then answer for it or cut what it has begun. */
  #expire(): void {
    this.#leave()
    if (this.#over) return
    if (this.#answered) this.cut()
    else if (this.#reading) this.#linger(this.#route.refuse('request-timeout', this))
    else this.#res.cork(() => this.#send(this.#route.refuse('deadline-exceeded', this), true))
  }

  /**
   * Ends the call now: a stream whose reader keeps up with its last words, a call that is not answered yet with a
   * refusal, anything else by closing the socket.
   */
  cut(): void {
    this.#guarded(() => {
      this.#leave()
      if (this.#over) return
      if (this.#stream !== null && !this.#blocked) this.#endStream(this.#stream.closingFrame)
      else if (!this.#answered && !this.#reading) {
        this.#res.cork(() => this.#send(this.#route.refuse('unavailable', this), true))
      } else this.#res.close() // fires onAborted, which settles
    })
  }

  /** As `Call.drop`: the native close, which fires onAborted, which settles. */
  disconnect(): void {
    if (this.#over) return
    this.#listen()
    this.#res.close()
  }

  #endStream(lastWords: string): void {
    this.#res.cork(() => {
      if (lastWords !== '') this.#write(lastWords)
      this.#res.end()
    })
    this.#settle(true)
  }

  #settle(aborted: boolean): void {
    this.#over = true
    if (this.#listening) this.#edge.openExchanges.delete(this)
    this.#count(aborted)
  }

  /** Once per call. A refused call counts when its answer is written, however long its body goes on. */
  #count(aborted: boolean): void {
    if (this.#counted) return
    this.#counted = true
    if (this.#stream !== null) {
      this.#meterWait()
      this.#route.stream?.onEnd(this.arrivedAt, this.#chunks)
    }
    this.#route.onSettled(this.arrivedAt, this.#status, this.#bytesIn, this.#bytesOut, aborted, this)
  }

  /** Rule 7, for what runs outside the first turn. */
  #guarded(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.defect(error)
    }
  }

  /** Code of ours threw: tells the log and cuts the call, which also settles it. */
  defect(error: unknown): void {
    this.#edge.onDefect(error)
    if (this.#over) return
    this.#listen()
    this.#res.close()
  }
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}
