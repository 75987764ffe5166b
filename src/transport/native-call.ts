/**
 * A call on the native server, as far as its response goes: how an answer is written, and how the call ends. Part of
 * the native edge; it imports only types from uWebSockets.js.
 */
import type { HttpResponse } from 'uWebSockets.js'
import type { LinkedList } from '../base/linked-list.js'
import { byteLength, lengthWithoutBody, writeHead } from './answer-head.js'
import type { BodyReceiver } from './body-receiver.js'
import { CopiedRequest } from './copied-request.js'
import {
  type HttpCall,
  type IncomingBody,
  isSizedBody,
  isStreamBody,
  type Reply,
  type Route,
} from './exchange.js'
import type { PipelineCutoff } from './pipeline-cutoff.js'
import { type SendingOwner, sendRest, sendSizedBody } from './sized-body-sender.js'
import { StreamSender } from './stream-sender.js'

/** What all exchanges of one server share. */
export interface ServerState {
  draining: boolean
  /** Calls that outlived the turn they arrived in. */
  readonly openExchanges: LinkedList<NativeCall>
  readonly cutoff: PipelineCutoff
  /** Silence after which a stream says its heartbeat, in milliseconds. */
  readonly keepAliveMs: number
  readonly onDefect: (error: unknown) => void
}

/** Where a call stands. */
type CallPhase =
  | 'reading' // the body is not complete yet and still wanted; where it is read as a stream, the route answers meanwhile
  | 'answering' // nothing more is read, and no answer was chosen yet
  | 'sending'
  | 'lingering' // refused, and the rest of the body is thrown away; the refusal is not on the wire yet
  | 'closing' // the whole answer is on the wire, and the native response stays ours until the connection closes
  | 'over' // answered, aborted or closed: nothing may touch the native response any more

/** Last answers of a connection, up to this size, are handed to uWS together with the close. */
const WHOLE_BODY_BYTES = 64 * 1024

export abstract class NativeCall extends CopiedRequest implements HttpCall, SendingOwner {
  protected phase: CallPhase = 'answering'
  /** The body, where the call has one. */
  protected receiver: BodyReceiver | null = null
  /** The answer, where it is a stream. */
  protected stream: StreamSender | null = null
  protected status = 0
  protected bytesOut = 0
  #aborted = false
  #abortCallbacks: (() => void)[] | null = null

  constructor(
    protected readonly res: HttpResponse,
    protected readonly route: Route,
    protected readonly server: ServerState,
    protected readonly headOnly: boolean,
    arrivedAt: number,
  ) {
    super(arrivedAt)
  }

  /** Called every quarter of a second while the call waits for something. */
  abstract checkTime(now: number): void

  /** Ends the call now, in any phase. */
  abstract cut(): void

  get incoming(): IncomingBody | null {
    return this.receiver?.queue ?? null
  }

  get aborted(): boolean {
    return this.#aborted
  }

  onAbort(callback: () => void): void {
    if (this.#aborted) callback()
    else if (this.#abortCallbacks === null) this.#abortCallbacks = [callback]
    else this.#abortCallbacks.push(callback)
  }

  /** As `HttpCall.disconnect`: the native close, which fires onAborted, which settles. */
  disconnect(): void {
    if (this.isOver()) return
    this.trackUntilEnd()
    this.res.close()
  }

  isOver(): boolean {
    return this.phase === 'over'
  }

  // ── The answer ────────────────────────────────────────────────────────────

  /**
   * Writes an answer. With `close` the connection ends behind it (rule 12); what uWS has already read behind it is not
   * run. Also for an answer that was promised: what a handler awaits may be there before uWS has parsed on.
   */
  protected send(reply: Reply, close = this.closeRequest !== 'none' || this.server.draining): void {
    this.phase = 'sending'
    // The reader may have left it paused; the connection may not stay held back.
    this.receiver?.queue?.discard()
    const { body, status } = reply
    this.status = status
    writeHead(this.res, reply)
    if (body === null || this.headOnly) {
      this.#sendWithoutBody(lengthWithoutBody(body, status), close)
    } else if (isStreamBody(body)) {
      this.trackUntilEnd()
      if (close) this.res.writeHeader('Connection', 'close')
      this.stream = new StreamSender(this.res, body, this, this.route.stream)
      this.stream.start()
    } else if (isSizedBody(body)) {
      this.trackUntilEnd()
      if (close) this.res.writeHeader('Connection', 'close')
      sendSizedBody(this.res, body, this).catch((error: unknown) => this.onDefect(error))
    } else if (
      body.length === 0 ||
      (close && (this.closeRequest === 'listed' || body.length <= WHOLE_BODY_BYTES))
    ) {
      // uWS knows the word, closes for it, and then keeps the close to itself.
      if (this.closeRequest === 'word') this.res.writeHeader('Connection', 'close')
      if (close) this.server.cutoff.closeBehind(this.res)
      this.bytesOut = byteLength(body)
      this.res.end(body, close)
      this.settle(false)
    } else {
      this.#sendBody(body, close)
    }
  }

  /** Rule 9: how an answer without a body is written on this build. */
  #sendWithoutBody(length: string | null, close: boolean): void {
    const res = this.res
    if (length !== null) res.writeHeader('Content-Length', length)
    if (close && this.closeRequest !== 'word') {
      // `endWithoutBody` cannot close, and `end` would add a length. So the head ends by hand, which leaves the native
      // response open: `writeHeader` passes its value on as it is, blank line included.
      this.trackUntilEnd()
      res.writeHeader('Connection', 'close\r\n')
      this.phase = 'closing'
      // Not in this turn: closing throws away what is still corked.
      setImmediate(() => {
        if (!this.isOver()) res.close()
      })
      return
    }
    if (close) {
      res.writeHeader('Connection', 'close')
      this.server.cutoff.closeBehind(this.res)
    }
    res.endWithoutBody()
    this.settle(false)
  }

  /**
   * Rule 5, known size: what the socket does not take now is sent when it can take more. Small bodies go this way too.
   * `end` would take them however many answers wait already, and a caller that pipelines reads and takes its time over the
   * answers could make us keep any number of them.
   */
  #sendBody(body: string | Uint8Array, close: boolean): void {
    const res = this.res
    const total = byteLength(body)
    if (close) res.writeHeader('Connection', 'close')
    if (this.closeRequest === 'word') this.server.cutoff.closeBehind(this.res)
    const [, done] = res.tryEnd(body, total)
    if (done) {
      this.bytesOut = total
      this.settle(false)
      return
    }
    this.server.cutoff.clear()
    this.trackUntilEnd()
    sendRest(res, typeof body === 'string' ? Buffer.from(body) : body, this)
  }

  onBytesSent(bytes: number): void {
    this.bytesOut = bytes
  }

  // ── The end ───────────────────────────────────────────────────────────────

  /** Rule 2. From here on the call is known to the sweep. */
  protected trackUntilEnd(): void {
    if (this.list !== null || this.isOver()) return
    this.server.openExchanges.add(this)
    this.res.onAborted(() => {
      const complete = this.phase === 'closing'
      this.phase = 'over'
      this.guarded(() => this.notifyAborted())
      this.guarded(() => this.settle(!complete))
    })
  }

  protected notifyAborted(): void {
    if (this.#aborted) return
    this.#aborted = true
    const callbacks = this.#abortCallbacks
    this.#abortCallbacks = null
    if (callbacks !== null) for (const callback of callbacks) callback()
  }

  /** The one end of every call. */
  settle(aborted: boolean): void {
    this.phase = 'over'
    this.server.openExchanges.delete(this)
    const stream = this.stream
    stream?.meterEnd()
    const bytesIn = this.receiver === null ? 0 : this.receiver.bytes
    const bytesOut = stream === null ? this.bytesOut : stream.bytes
    this.route.onSettled(this.arrivedAt, this.status, bytesIn, bytesOut, aborted, this)
  }

  /** Rule 7, for what runs outside the first turn. */
  guarded(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.onDefect(error)
    }
  }

  /** Code of ours threw: tells the log and cuts the call, which also settles it. */
  onDefect(error: unknown): void {
    this.server.onDefect(error)
    this.disconnect()
  }
}
