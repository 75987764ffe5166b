/**
 * A call on the native server: what is copied of its request, how its answer is written, and how it ends. Part of the
 * native edge; it imports only types from uWebSockets.js.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { callerAddress, type TrustedProxies } from '../base/caller-address.js'
import type { LinkedList } from '../base/linked-list.js'
import {
  byteLength,
  heldBody,
  lengthWithoutBody,
  SizedSender,
  sendableBody,
  writeHead,
} from './answer-sending.js'
import type { BodyQueue } from './body-queue.js'
import { CopiedRequest } from './copied-request.js'
import type { HttpCall, IncomingBody, Reply, Route, SizedResponseBody } from './exchange.js'
import type { LargeBodies } from './large-bodies.js'
import type { PacedAnswer, SendingOwner } from './paced-answer.js'
import type { PipelineCutoff } from './pipeline-cutoff.js'
import { StreamSender } from './stream-sending.js'
import type { TurnBudget } from './turn-budget.js'

/** What all exchanges of one server share. */
export interface ServerState {
  draining: boolean
  /** Every answer ends its connection: the server is being stopped, or connections are scarce. */
  readonly shedsConnections: () => boolean
  /** Calls that outlived the turn they arrived in. */
  readonly openExchanges: LinkedList<NativeCall>
  readonly cutoff: PipelineCutoff
  readonly turn: TurnBudget
  readonly largeBodies: LargeBodies
  /** Silence after which a stream says its heartbeat, in milliseconds. */
  readonly keepAliveMs: number
  /** Time after which a reader that takes nothing is cut, in milliseconds. */
  sendTimeoutMs: number
  readonly trusted: TrustedProxies
  readonly onDefect: (error: unknown) => void
}

/** Where a call stands. */
type CallPhase =
  | 'reading' // the body is not complete yet and still wanted; where it is read as a stream, the route answers meanwhile
  | 'answering' // nothing more is read, and no answer was chosen yet
  | 'sending'
  | 'lingering' // refused, and the rest of the body is thrown away; the refusal is not on the wire yet
  | 'closing' // the whole answer is on the wire, and the native response stays ours until the connection closes
  | 'cutting' // the same of an answer that ends ahead of time
  | 'over' // answered, aborted or closed: nothing may touch the native response any more

/**
 * Last answers of a connection, up to this size, are handed to uWS together with the close. A socket that has nothing
 * else to send takes as much at once, so the close does not wait for the reader.
 */
const WHOLE_BODY_BYTES = 8 * 1024

export abstract class NativeCall extends CopiedRequest implements HttpCall, SendingOwner {
  protected phase: CallPhase = 'answering'
  /** The body as it comes, where the route reads it so. */
  protected queue: BodyQueue | null = null
  /** Bytes of the body that have come so far. */
  bytesIn = 0
  /** The answer, where it is a stream. */
  protected stream: StreamSender | null = null
  /** The answer, where it goes out as its reader takes it. */
  protected paced: PacedAnswer | null = null
  protected status = 0
  protected bytesOut = 0
  #address: string | null = null
  #aborted = false
  #waitsForCaller = false
  #abortCallbacks: (() => void)[] | null = null

  constructor(
    protected readonly res: HttpResponse,
    protected readonly route: Route,
    protected readonly server: ServerState,
    readonly headOnly: boolean,
    arrivedAt: number,
  ) {
    super(arrivedAt)
  }

  /** Called every quarter of a second while the call waits for something. */
  abstract checkTime(now: number): void

  /** Ends the call now, in any phase. */
  abstract cut(): void

  /** Where the route asks for it only while a body comes, it is read then: most bodies come in one piece. */
  get address(): string {
    if (this.#address === null && this.route.readsAddress !== false && !this.isOver()) this.copyAddress()
    return this.#address ?? ''
  }

  /** Rule 1: the native response that knows it may be gone later. */
  copyAddress(): void {
    const peer = Buffer.from(this.res.getRemoteAddressAsText()).toString('latin1')
    this.#address = callerAddress(peer, this.forwardedFor, this.server.trusted)
  }

  get incoming(): IncomingBody | null {
    return this.queue
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
  protected send(
    reply: Reply,
    close = this.connectionEnd !== 'none' || this.server.shedsConnections(),
  ): void {
    this.phase = 'sending'
    if (close && this.connectionEnd === 'none') this.connectionEnd = 'ours'
    // The reader may have left it paused; the connection may not stay held back.
    this.queue?.discard()
    const { body, status } = reply
    this.status = status
    writeHead(this.res, reply)
    if (body === null || this.headOnly) {
      this.#sendWithoutBody(lengthWithoutBody(body, status), close)
    } else if (typeof body === 'string' || body instanceof Uint8Array) {
      // First: to look for a member in bytes takes longer than to see what they are.
      this.#sendWhole(body, close)
    } else if ('start' in body) {
      this.#keepClose()
      this.trackUntilEnd()
      if (close) this.res.writeHeader('Connection', 'close')
      this.stream = new StreamSender(this.res, body, this, this.route.stream)
      this.paced = this.stream
      this.stream.start()
    } else {
      this.#sendSized(body, close)
    }
  }

  #sendWhole(body: string | Uint8Array, close: boolean): void {
    if (body.length === 0 || (close && body.length <= WHOLE_BODY_BYTES)) this.#endWhole(body, close)
    else if (this.endsConnection) this.#sendSized(heldBody(Buffer.from(body as Uint8Array)), close)
    else this.#sendBody(body, close)
  }

  /**
   * uWS forgets its own close when it meets a further request behind an answer that has ended, and this one may end
   * before uWS has parsed on: what the handler awaits may be there at once. So the end of the connection is ours.
   */
  #keepClose(): void {
    if (this.connectionEnd === 'native') this.connectionEnd = 'ours'
  }

  /** Sends a body of known size piece by piece. */
  #sendSized(body: SizedResponseBody, close: boolean): void {
    this.trackUntilEnd()
    if (close && body.size === 1) {
      this.#sendByte(body).catch((error: unknown) => this.onDefect(error))
      return
    }
    this.#keepClose()
    if (close) this.res.writeHeader('Connection', 'close')
    const sender = new SizedSender(this.res, body.size, this)
    this.paced = sender
    sender.sendFrom(body).catch((error: unknown) => this.onDefect(error))
  }

  /** A body of one byte cannot be left open for us to end its connection, so uWS ends both at once. */
  async #sendByte(body: SizedResponseBody): Promise<void> {
    const source = await body.open()
    try {
      const byte = await source.read()
      if (byte.byteLength !== 1) throw new Error('a body ended before its announced size')
      if (!this.isOver()) this.guarded(() => this.res.cork(() => this.#endWhole(byte, true)))
    } finally {
      source.close()
    }
  }

  /** Hands a whole body to uWS, together with the end of the connection where that is due. */
  #endWhole(body: string | Uint8Array, close: boolean): void {
    // uWS knows the word, closes for it, and then keeps the close to itself.
    if (this.connectionEnd === 'native') this.res.writeHeader('Connection', 'close')
    if (close) this.server.cutoff.closeBehind(this.res)
    this.bytesOut = byteLength(body)
    this.res.end(body, close)
    this.settle(false)
  }

  /** Rule 9: how an answer without a body is written on this build. */
  #sendWithoutBody(length: string | null, close: boolean): void {
    const res = this.res
    if (length !== null) res.writeHeader('Content-Length', length)
    if (close && this.connectionEnd !== 'native') {
      // `endWithoutBody` cannot close, and `end` would add a length. So the head ends by hand, which leaves the native
      // response open: `writeHeader` passes its value on as it is, blank line included.
      this.trackUntilEnd()
      res.writeHeader('Connection', 'close\r\n')
      this.endConnection()
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
   * `end` would take them however many answers wait already, and a caller that pipelines reads and takes its time
   * over the answers could make us keep any number of them.
   */
  #sendBody(reply: string | Uint8Array, close: boolean): void {
    const res = this.res
    const body = sendableBody(reply)
    const total = byteLength(body)
    if (close) res.writeHeader('Connection', 'close')
    if (close) this.server.cutoff.closeBehind(res)
    const [, done] = res.tryEnd(body, total)
    if (done) {
      this.bytesOut = total
      this.settle(false)
      return
    }
    this.server.cutoff.clear()
    this.trackUntilEnd()
    const sender = new SizedSender(res, total, this)
    this.paced = sender
    sender.sendRest(body, reply === body)
  }

  get endsConnection(): boolean {
    return this.connectionEnd === 'ours'
  }

  endConnection(): void {
    this.phase = 'closing'
    // Not in this turn: closing throws away what is still corked, and uWS may be parsing on.
    setImmediate(() => {
      if (!this.isOver()) this.res.close()
    })
  }

  onBytesSent(bytes: number): void {
    this.bytesOut = bytes
  }

  setWaiting(waits: boolean): void {
    if (waits === this.#waitsForCaller) return
    this.#waitsForCaller = waits
    this.route.onWaiting?.(waits ? 1 : -1)
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
    this.setWaiting(false)
    const stream = this.stream
    stream?.meterEnd()
    const bytesOut = stream === null ? this.bytesOut : stream.bytes
    this.route.onSettled(this.arrivedAt, this.status, this.bytesIn, bytesOut, aborted, this)
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
