/**
 * How an answer goes on the wire: its head, then a body that is whole, of known size or of unknown size. Part of the
 * native edge; only types of uWebSockets.js.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import type {
  Reply,
  ResponseBody,
  ResponseSink,
  SizedResponseBody,
  StreamMeter,
  StreamResponseBody,
} from './exchange.js'
import { PacedAnswer } from './paced-answer.js'

// ── Heads and whole answers ─────────────────────────────────────────────────

/** Status code to status line. 524 and 529 are not registered but part of the gateway's contract. */
const STATUS_LINES: Readonly<Record<number, string>> = Object.freeze({
  ...Object.fromEntries(Object.entries(STATUS_CODES).map(([code, text]) => [code, `${code} ${text}`])),
  524: '524 A Timeout Occurred',
  529: '529 Site is overloaded',
})

/** Status line and the reply's own headers. */
export function writeHead(res: HttpResponse, { status, headers }: Reply): void {
  if (status !== 200) res.writeStatus(STATUS_LINES[status] ?? `${status} Unknown`)
  for (let i = 0; i < headers.length; i++) {
    const header = headers[i]!
    res.writeHeader(header[0], header[1])
  }
}

/** Rule 9: the length that is announced where no body follows; null where none may be. */
export function lengthWithoutBody(body: ResponseBody, status: number): string | null {
  if (typeof body === 'string' || body instanceof Uint8Array) return String(byteLength(body))
  // Without one the caller would take everything up to the close for the body.
  if (body === null) return status === 204 || status === 304 ? null : '0'
  return 'open' in body ? String(body.size) : null
}

/**
 * Puts a whole answer on the wire while the body of the call is still coming, and returns the bytes of its body. uWS
 * closes in the same breath in which it ends an answer, so this one does not end for uWS: the blank line and the body
 * travel in the value of the last field. The line end that uWS adds to a field counts as the last two bytes of the
 * body.
 */
export function writeUnendedAnswer(res: HttpResponse, reply: Reply): number {
  const { body } = reply
  const whole = typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body) : Buffer.alloc(0)
  writeHead(res, reply)
  res.writeHeader('Connection', 'close')
  const total = whole.byteLength + 2
  res.writeHeader('Content-Length', Buffer.concat([Buffer.from(`${total}\r\n\r\n`), whole]))
  return total
}

export function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}

/** The exchange, as far as the sending of its answer concerns it. */
export interface SendingOwner {
  readonly arrivedAt: number
  /** Nothing may touch the native response any more. */
  isOver(): boolean
  /** So many bytes of a body of known size were handed to the socket so far. */
  onBytesSent(bytes: number): void
  /** The answer has ended; `aborted` when not all of it was handed to the socket. */
  settle(aborted: boolean): void
  onAbort(callback: () => void): void
  /** Runs a step and keeps what it throws from native code. */
  guarded(step: () => void): void
  /** Code of ours has thrown. */
  onDefect(error: unknown): void
}

// ── Bodies of known size ────────────────────────────────────────────────────

/** Sends a body of known size as its reader takes it, and keeps one piece of it at most. */
export class SizedSender extends PacedAnswer {
  readonly #size: number
  readonly #owner: SendingOwner
  /** Bytes the socket did not take, and the offset of the first of them. */
  #rest: Uint8Array | null = null
  #restAt = 0
  #readOn: (() => void) | null = null

  constructor(res: HttpResponse, size: number, owner: SendingOwner) {
    super(res)
    this.#size = size
    this.#owner = owner
    res.onWritable(() => {
      this.onClockStopped()
      owner.guarded(() => this.offerAgain())
      return !this.waitsForReader
    })
  }

  /**
   * Rule 5: sends what the socket did not take of a body, from its offset and when it can take more. The caller's
   * bytes may only be borrowed for this turn (an LMDB page, say), so the rest is copied.
   */
  sendRest(body: Uint8Array): void {
    const sent = this.res.getWriteOffset()
    this.#owner.onBytesSent(sent)
    this.#keep(Buffer.from(body.subarray(sent)))
  }

  /**
   * Sends a body that is read while it is sent, one piece at a time: the next is read when the socket has taken the
   * one before, while the kernel still sends from its own buffer. Rejects when the body cannot be read; what was
   * announced cannot be sent then.
   */
  async sendFrom(body: SizedResponseBody): Promise<void> {
    const owner = this.#owner
    owner.onAbort(() => this.#dropRest())
    const source = await body.open()
    try {
      while (!owner.isOver()) {
        const piece = await source.read()
        if (owner.isOver()) return
        if (piece.byteLength === 0) throw new Error('a body ended before its announced size')
        this.#sendPiece(piece)
        if (this.#rest !== null) {
          await new Promise<void>((resolve) => {
            this.#readOn = resolve
          })
        }
      }
    } finally {
      source.close()
    }
  }

  protected override offerAgain(): void {
    const rest = this.#rest
    if (rest === null || this.#owner.isOver()) return
    const before = this.res.getWriteOffset()
    if (this.#offer(rest.subarray(before - this.#restAt))) this.#dropRest()
    else if (this.res.getWriteOffset() > before) this.onProgress()
  }

  #sendPiece(piece: Uint8Array): void {
    const before = this.res.getWriteOffset()
    // The head travels with the first piece. Behind it a cork would swallow a small piece that the socket refuses.
    if (before === 0) this.res.cork(() => this.#offer(piece))
    else this.#offer(piece)
    if (this.#owner.isOver()) return
    const taken = this.res.getWriteOffset() - before
    if (taken < piece.byteLength) this.#keep(piece.subarray(taken))
  }

  #keep(rest: Uint8Array): void {
    this.#restAt = this.res.getWriteOffset()
    this.#rest = rest
    this.waitForReader()
  }

  /** Hands bytes over and reports how far the body is; true when the socket has taken all of them. */
  #offer(bytes: Uint8Array): boolean {
    const [ok, done] = this.res.tryEnd(bytes, this.#size)
    this.#owner.onBytesSent(done ? this.#size : this.res.getWriteOffset())
    if (done) this.#owner.settle(false)
    return ok || done
  }

  #dropRest(): void {
    this.#rest = null
    this.onCaughtUp()
    this.#readOn?.()
    this.#readOn = null
  }
}

// ── Streams ─────────────────────────────────────────────────────────────────

/** Most bytes a stream may write after it was told to stop: the cap on what waits for a slow reader. */
const WAITING_BYTES = 1024 * 1024

/** A stream of so many bytes is never the first that a socket cannot take. */
const SURELY_TAKEN_BYTES = 16 * 1024
/** A silence after which it is asked whether what was written last was taken, in milliseconds. */
const QUIET_MS = 4_000

/** The sink of one stream, with its backpressure, its heartbeat and its times. */
export class StreamSender extends PacedAnswer implements ResponseSink {
  bytes = 0
  readonly #body: StreamResponseBody
  readonly #owner: SendingOwner
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
    super(res)
    this.#body = body
    this.#owner = owner
    this.#meter = meter
  }

  start(): void {
    // Rule 6: with a handler set, uWS pushes out kept bytes only when the handler itself writes.
    this.res.onWritable(() => {
      this.#owner.guarded(() => this.#onWritable())
      return !this.waitsForReader
    })
    this.#body.start(this)
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#owner.isOver()) return true
    if (this.waitsForReader && (this.#waiting += byteLength(chunk)) > WAITING_BYTES) {
      this.res.close()
      return true
    }
    this.#meterChunk()
    this.res.cork(() => this.#write(chunk))
    return !this.waitsForReader
  }

  /** The end waits for a reader that is behind: behind it uWS gives what is left ten seconds, and us no say. */
  end(): void {
    if (this.#owner.isOver()) return
    this.#ending = true
    if (!this.waitsForReader && this.#isTaken()) this.#finish()
  }

  onDrain(resume: () => void): void {
    this.#resume = resume
  }

  onAbort(callback: () => void): void {
    this.#owner.onAbort(callback)
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
      this.res.end()
    })
    return true
  }

  /** Tells the meter that the stream is over. */
  meterEnd(): void {
    this.#meterStall()
    this.#meter?.onEnd(this.#owner.arrivedAt, this.#chunks)
  }

  #onWritable(): void {
    this.onClockStopped()
    const { padding } = this.#body
    const before = this.bytes
    this.#goOn()
    if (!this.#owner.isOver() && this.bytes === before && padding !== '') this.#write(padding)
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
    // Never with uWS's own close: it would write a header line into the middle of the body.
    this.res.cork(() => this.res.end())
    this.#owner.settle(false)
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

  #write(chunk: string | Uint8Array): boolean {
    this.#lastWriteAt = performance.now()
    this.#asked = false
    this.bytes += byteLength(chunk)
    if (this.res.write(chunk)) return true
    this.waitForReader()
    return false
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
    if (this.waitsForReader) this.#meter?.onStall(this.#owner.arrivedAt, this.stalledMs(performance.now()))
  }
}
