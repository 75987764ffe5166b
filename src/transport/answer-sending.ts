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

// ── Bodies of known size ────────────────────────────────────────────────────

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

/** Hands bytes of a body over and reports how far it is; true when the socket has taken all of them. */
function offer(res: HttpResponse, bytes: Uint8Array, size: number, owner: SendingOwner): boolean {
  const [ok, done] = res.tryEnd(bytes, size)
  owner.onBytesSent(done ? size : res.getWriteOffset())
  if (done) owner.settle(false)
  return ok || done
}

/**
 * Rule 5: sends what the socket did not take of a body, from its offset and when it can take more. The caller's bytes
 * may only be borrowed for this turn (an LMDB page, say), so the rest is copied.
 */
export function sendRest(res: HttpResponse, body: Uint8Array, owner: SendingOwner): void {
  const sent = res.getWriteOffset()
  const rest = Buffer.from(body.subarray(sent))
  owner.onBytesSent(sent)
  res.onWritable((offset) => {
    let taken = true
    owner.guarded(() => {
      taken = offer(res, rest.subarray(offset - sent), body.byteLength, owner)
    })
    return taken
  })
}

/**
 * Sends a body that is read while it is sent, one piece at a time: the next is read when the socket has taken the one
 * before, while the kernel still sends from its own buffer. So a slow reader costs one piece of memory, however large
 * the body is. Rejects when the body cannot be read; what was announced cannot be sent then.
 */
export async function sendSizedBody(
  res: HttpResponse,
  body: SizedResponseBody,
  owner: SendingOwner,
): Promise<void> {
  const { size } = body
  /** Bytes the socket did not take, and the offset of the first of them. They stay good until the next is read. */
  let rest: Uint8Array | null = null
  let restAt = 0
  let onTaken: (() => void) | null = null
  const dropRest = (): void => {
    rest = null
    onTaken?.()
    onTaken = null
  }
  owner.onAbort(dropRest)
  res.onWritable((offset) => {
    let taken = true
    owner.guarded(() => {
      if (rest !== null) taken = offer(res, rest.subarray(offset - restAt), size, owner)
      if (taken) dropRest()
    })
    return taken
  })
  const source = await body.open()
  try {
    while (!owner.isOver()) {
      const piece = await source.read()
      if (owner.isOver()) return
      if (piece.byteLength === 0) throw new Error('a body ended before its announced size')
      res.cork(() => {
        const before = res.getWriteOffset()
        if (offer(res, piece, size, owner)) return
        restAt = res.getWriteOffset()
        rest = piece.subarray(restAt - before)
      })
      if (rest !== null) {
        await new Promise<void>((resolve) => {
          onTaken = resolve
        })
      }
    }
  } finally {
    source.close()
  }
}

// ── Streams ─────────────────────────────────────────────────────────────────

/** Most bytes a stream may write after it was told to stop: the cap on what waits for a slow reader. */
const WAITING_BYTES = 1024 * 1024

/** The sink of one stream, with its backpressure, its heartbeat and its times. */
export class StreamSender implements ResponseSink {
  bytes = 0
  readonly #res: HttpResponse
  readonly #body: StreamResponseBody
  readonly #owner: SendingOwner
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
    owner: SendingOwner,
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
