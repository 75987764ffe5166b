/** How an answer of unknown size goes on the wire. Part of the native edge; only types of uWebSockets.js. */
import type { HttpResponse } from 'uWebSockets.js'
import { byteLength } from './answer-sending.js'
import type { ResponseSink, StreamMeter, StreamResponseBody } from './exchange.js'
import { PacedAnswer, type SendingOwner } from './paced-answer.js'

/** Most bytes a stream may write after it was told to stop: the cap on what waits for a slow reader. */
const WAITING_BYTES = 1024 * 1024

/** A stream of so many bytes is never the first that a socket cannot take. */
const SURELY_TAKEN_BYTES = 16 * 1024
/** A silence after which it is asked whether what was written last was taken, in milliseconds. */
const QUIET_MS = 4_000

/** Characters of a text that fits into `ROOM`, however many bytes each of them takes. */
const MOST_CHARS = 64 * 1024
/** Texts are made into bytes here, one after the other: uWS has copied them when its call returns. */
const ROOM = Buffer.allocUnsafeSlow(3 * MOST_CHARS)

/** The bytes of a text; valid until the next one. What uWS makes of a text itself is counted and allocated besides. */
function encode(text: string): Uint8Array {
  return text.length > MOST_CHARS ? Buffer.from(text) : ROOM.subarray(0, ROOM.write(text))
}

/** The sink of one stream, with its backpressure, its heartbeat and its times. */
export class StreamSender extends PacedAnswer implements ResponseSink {
  bytes = 0
  readonly #body: StreamResponseBody
  readonly #meter: StreamMeter | undefined
  /** Bytes written although the reader is behind. */
  #waiting = 0
  /** What was written last is known to be taken. */
  #asked = false
  /** The producer is done, and the end waits for the reader. */
  #ending = false
  #resume: (() => void) | null = null
  #lastWriteAt = performance.now()
  #chunks = 0
  #chunkAt = 0

  constructor(
    res: HttpResponse,
    body: StreamResponseBody,
    owner: SendingOwner,
    meter: StreamMeter | undefined,
  ) {
    super(res, owner)
    this.#body = body
    this.#meter = meter
  }

  start(): void {
    // Rule 6: with a handler set, uWS pushes out kept bytes only when the handler itself writes.
    this.res.onWritable(() => {
      this.owner.guarded(() => this.#onWritable())
      return !this.waitsForReader
    })
    this.#body.start(this)
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.owner.isOver()) return true
    if (this.waitsForReader && (this.#waiting += byteLength(chunk)) > WAITING_BYTES) {
      this.res.close()
      return true
    }
    this.#meterChunk()
    if (this.owner.endsConnection && this.#body.padding === '') this.#writeInTwo(Buffer.from(chunk))
    else this.res.cork(() => this.#write(chunk))
    return !this.waitsForReader
  }

  /** The end waits for a reader that is behind: behind it uWS gives what is left ten seconds, and us no say. */
  end(): void {
    if (this.owner.isOver()) return
    this.#ending = true
    if (!this.waitsForReader && this.#isTaken()) this.#finish()
  }

  onDrain(resume: () => void): void {
    this.#resume = resume
  }

  onAbort(callback: () => void): void {
    this.owner.onAbort(callback)
  }

  /**
   * Breaks a silence that has lasted too long. A reader that is slow has bytes on the way already; whether it is shows
   * when something is written behind what was written last.
   */
  keepAlive(now: number, silenceMs: number): void {
    if (this.waitsForReader) return
    const { heartbeat } = this.#body
    const quietMs = now - this.#lastWriteAt
    if (quietMs >= silenceMs && heartbeat !== '') this.res.cork(() => this.#write(heartbeat))
    else if (quietMs >= QUIET_MS) this.#isTaken()
  }

  protected override offerAgain(): void {
    if (this.#body.padding !== '' && this.#isTaken()) this.#goOn()
  }

  /** Ends the body ahead of time with its closing frame. False for a slow reader, which could not be told anything. */
  cut(): boolean {
    if (this.waitsForReader) return false
    const { closingFrame } = this.#body
    this.res.cork(() => {
      if (closingFrame !== '') this.#write(closingFrame)
      if (this.owner.endsConnection) this.#endByHand()
      else this.res.end()
    })
    return true
  }

  /** Tells the meter that the stream is over. */
  meterEnd(): void {
    this.#meterStall()
    this.#meter?.onEnd(this.owner.arrivedAt, this.#chunks)
  }

  #onWritable(): void {
    this.onClockStopped()
    const { padding } = this.#body
    const before = this.bytes
    this.#goOn()
    if (!this.owner.isOver() && this.bytes === before && padding !== '') this.#write(padding)
  }

  /** The reader has caught up: the end goes out, or the producer is told. */
  #goOn(): void {
    this.#meterStall()
    this.#waiting = 0
    this.onCaughtUp()
    if (!this.#ending) this.#resume?.()
    else if (this.#isTaken()) this.#finish()
  }

  #finish(): void {
    if (this.owner.endsConnection) {
      this.res.cork(() => this.#endByHand())
      return
    }
    // Never with uWS's own close: it would write a header line into the middle of the body.
    this.res.cork(() => this.res.end())
    this.owner.settle(false)
  }

  /**
   * Ends the stream where uWS would keep the connection. The response stays open for uWS: the last chunk is written in
   * front of the name of a field, which makes that field a trailer.
   */
  #endByHand(): void {
    if (this.bytes === 0) this.res.writeHeader('Content-Length', '0\r\n')
    else this.res.writeHeader('\r\n0\r\nX-End', 'stream\r\n')
    this.owner.endConnection()
  }

  /**
   * Whether the socket has taken everything. A write inside a cork is called taken although the socket refuses it when
   * the cork is drawn; the next write shows it. Where there is nothing to write, the end itself pushes out what is kept.
   */
  #isTaken(): boolean {
    const { padding } = this.#body
    if (padding === '' || (!this.waitsForReader && (this.#asked || this.bytes <= SURELY_TAKEN_BYTES)))
      return true
    let taken = true
    this.res.cork(() => {
      taken = this.#write(padding)
    })
    this.#asked = taken
    return taken
  }

  /** Without padding the last byte has to show whether the others were taken. */
  #writeInTwo(chunk: Buffer): void {
    const last = chunk.byteLength - 1
    if (last > 0) this.res.cork(() => this.#write(chunk.subarray(0, last)))
    this.res.cork(() => this.#write(chunk.subarray(last)))
  }

  #write(chunk: string | Uint8Array): boolean {
    this.#lastWriteAt = performance.now()
    this.#asked = false
    const bytes = typeof chunk === 'string' ? encode(chunk) : chunk
    this.bytes += bytes.byteLength
    if (this.res.write(bytes)) return true
    this.waitForReader()
    return false
  }

  /** Heartbeats and closing frames are no chunks. The time is read once more, so that it leaves out our own cork. */
  #meterChunk(): void {
    if (this.#meter === undefined) return
    const { arrivedAt } = this.owner
    const first = this.#chunks++ === 0
    const now = performance.now()
    this.#meter.onChunk(arrivedAt, now - (first ? arrivedAt : this.#chunkAt), first)
    this.#chunkAt = now
  }

  #meterStall(): void {
    if (this.waitsForReader) this.#meter?.onStall(this.owner.arrivedAt, this.stalledMs(performance.now()))
  }
}
