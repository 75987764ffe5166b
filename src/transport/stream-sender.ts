/** Sends a body of unknown size as it is made. Part of the native edge; only types of uWebSockets.js. */
import type { HttpResponse } from 'uWebSockets.js'
import { byteLength } from './answer-head.js'
import type { ResponseSink, StreamMeter, StreamResponseBody } from './exchange.js'
import type { SendingOwner } from './sized-body-sender.js'

/** Most bytes a stream may write after it was told to stop: the cap on what waits for a slow reader. */
const WAITING_BYTES = 1024 * 1024

interface StreamOwner extends SendingOwner {
  readonly arrivedAt: number
}

/** The sink of one stream, with its backpressure, its heartbeat and its times. */
export class StreamSender implements ResponseSink {
  bytes = 0
  readonly #res: HttpResponse
  readonly #body: StreamResponseBody
  readonly #owner: StreamOwner
  readonly #meter: StreamMeter | undefined
  /** The reader is slow: a write was kept, and the socket has not become writable since. */
  #blocked = false
  /** Bytes written in spite of that. */
  #waiting = 0
  #resume: (() => void) | null = null
  #lastWriteAt = performance.now()
  #chunks = 0
  #chunkAt = 0
  #blockedAt = 0

  constructor(
    res: HttpResponse,
    body: StreamResponseBody,
    owner: StreamOwner,
    meter: StreamMeter | undefined,
  ) {
    this.#res = res
    this.#body = body
    this.#owner = owner
    this.#meter = meter
  }

  start(): void {
    // Rule 6: with a handler set, uWS pushes out kept bytes only when the handler itself writes.
    this.#res.onWritable(() => {
      this.#owner.guarded(() => this.#onWritable())
      return !this.#blocked
    })
    this.#body.start(this)
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#owner.isOver()) return true
    if (this.#blocked && (this.#waiting += byteLength(chunk)) > WAITING_BYTES) {
      this.#res.close()
      return true
    }
    this.#meterChunk()
    this.#res.cork(() => this.#write(chunk))
    return !this.#blocked
  }

  end(): void {
    if (this.#owner.isOver()) return
    // Never with uWS's own close: it would write a header line into the middle of the body.
    this.#res.cork(() => this.#res.end())
    this.#owner.settle(false)
  }

  onDrain(resume: () => void): void {
    this.#resume = resume
  }

  onAbort(callback: () => void): void {
    this.#owner.onAbort(callback)
  }

  /** Breaks a silence that has lasted too long. A reader that is slow has bytes on the way already. */
  keepAlive(now: number, silenceMs: number): void {
    const { heartbeat, noHeartbeat } = this.#body
    if (noHeartbeat === true || heartbeat === '' || this.#blocked) return
    if (now - this.#lastWriteAt < silenceMs) return
    this.#owner.guarded(() => this.#res.cork(() => this.#write(heartbeat)))
  }

  /** Ends the body ahead of time with its closing frame. False for a slow reader, which could not be told anything. */
  cut(): boolean {
    if (this.#blocked) return false
    const { closingFrame } = this.#body
    this.#res.cork(() => {
      if (closingFrame !== '') this.#write(closingFrame)
      this.#res.end()
    })
    return true
  }

  /** Tells the meter that the stream is over. */
  meterEnd(): void {
    this.#meterStall()
    this.#meter?.onEnd(this.#owner.arrivedAt, this.#chunks)
  }

  #onWritable(): void {
    const before = this.bytes
    this.#meterStall()
    this.#blocked = false
    this.#waiting = 0
    this.#resume?.()
    const { heartbeat } = this.#body
    if (!this.#owner.isOver() && this.bytes === before && heartbeat !== '') this.#write(heartbeat)
  }

  #write(chunk: string | Uint8Array): void {
    this.#lastWriteAt = performance.now()
    this.bytes += byteLength(chunk)
    if (this.#res.write(chunk) || this.#blocked) return
    this.#blocked = true
    this.#blockedAt = this.#lastWriteAt
  }

  /** Heartbeats and closing frames are no chunks. The time is read once more, so that it leaves out our own cork. */
  #meterChunk(): void {
    if (this.#meter === undefined) return
    const { arrivedAt } = this.#owner
    const first = this.#chunks++ === 0
    const now = performance.now()
    this.#meter.onChunk(arrivedAt, now - (first ? arrivedAt : this.#chunkAt), first)
    this.#chunkAt = now
  }

  #meterStall(): void {
    if (this.#blocked) this.#meter?.onStall(this.#owner.arrivedAt, performance.now() - this.#blockedAt)
  }
}
