/**
 * How an answer goes on the wire: its head, then a body that is whole or of known size. Part of the
 * native edge; only types of uWebSockets.js.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import type { HeaderList, Reply, ResponseBody, SizedResponseBody } from './exchange.js'
import { PacedAnswer, type SendingOwner } from './paced-answer.js'

// ── Heads and whole answers ─────────────────────────────────────────────────

/** Status code to status line. 524 and 529 are not registered but part of the gateway's contract. */
const STATUS_LINES: Readonly<Record<number, string>> = Object.freeze({
  ...Object.fromEntries(Object.entries(STATUS_CODES).map(([code, text]) => [code, `${code} ${text}`])),
  524: '524 A Timeout Occurred',
  529: '529 Site is overloaded',
})

/** Heads with lists of headers that many answers share, by status. */
const knownHeads = new WeakMap<HeaderList, Map<number, Uint8Array>>()
/** The one that was asked for last: answers of a kind follow each other. */
let lastKnown: { readonly headers: HeaderList; readonly status: number; readonly head: Uint8Array } | null =
  null

/**
 * Status line and the reply's own headers, in one call of native code: what it takes for the status it writes as it is.
 * A call for each header would cost as much as a whole head that is known.
 */
export function writeHead(res: HttpResponse, { status, headers }: Reply): void {
  res.writeStatus(knownHead(status, headers) ?? headText(status, headers))
}

/** Null where the headers are of one answer: a list for many is a frozen one. */
function knownHead(status: number, headers: HeaderList): Uint8Array | null {
  if (lastKnown !== null && lastKnown.headers === headers && lastKnown.status === status)
    return lastKnown.head
  let heads = knownHeads.get(headers)
  if (heads === undefined) {
    if (!Object.isFrozen(headers)) return null
    heads = new Map()
    knownHeads.set(headers, heads)
  }
  let head = heads.get(status)
  if (head === undefined) {
    head = Buffer.from(headText(status, headers))
    heads.set(status, head)
  }
  lastKnown = { headers, status, head }
  return head
}

const LINE_END = /[\r\n]/

/** Throws a TypeError for a value of several lines: the native side looks at none of them. */
function headText(status: number, headers: HeaderList): string {
  let text = STATUS_LINES[status] ?? `${status} Unknown`
  for (let i = 0; i < headers.length; i++) {
    const header = headers[i]!
    if (LINE_END.test(header[1])) throw new TypeError(`a header ${header[0]} of several lines`)
    text += `\r\n${header[0]}: ${header[1]}`
  }
  return text
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
export function writeUnendedAnswer(res: HttpResponse, reply: Reply, headOnly: boolean): number {
  const { body } = reply
  const whole = typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body) : Buffer.alloc(0)
  writeHead(res, reply)
  res.writeHeader('Connection', 'close')
  const total = whole.byteLength + 2
  const length = Buffer.from(headOnly ? `${total}\r\n` : `${total}\r\n\r\n`)
  res.writeHeader('Content-Length', headOnly ? length : Buffer.concat([length, whole]))
  return headOnly ? 0 : total
}

/** Characters of an answer from which on it is made into bytes before it is sent. */
const LONG_TEXT = 64 * 1024

/** A long text as bytes, made once: the native side would make a copy of its own, and what waits is another. */
export function sendableBody(body: string | Uint8Array): string | Uint8Array {
  return typeof body === 'string' && body.length > LONG_TEXT ? Buffer.from(body) : body
}

export function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}

// ── Bodies of known size ────────────────────────────────────────────────────

const NO_BYTES = new Uint8Array(0)

/** A body that is there, as one that is read: in one piece. */
export function heldBody(bytes: Uint8Array): SizedResponseBody {
  let piece = bytes
  const read = async (): Promise<Uint8Array> => {
    const next = piece
    piece = NO_BYTES
    return next
  }
  return { size: bytes.byteLength, open: async () => ({ read, close: () => {} }) }
}

/** Sends a body of known size as its reader takes it, and keeps one piece of it at most. */
export class SizedSender extends PacedAnswer {
  readonly #size: number
  /** Bytes the socket did not take, and the offset of the first of them. */
  #rest: Uint8Array | null = null
  #restAt = 0
  #readOn: (() => void) | null = null

  constructor(res: HttpResponse, size: number, owner: SendingOwner) {
    super(res, owner)
    this.#size = size
    res.onWritable(() => {
      this.onClockStopped()
      owner.guarded(() => this.offerAgain())
      return !this.waitsForReader
    })
  }

  /**
   * Rule 5: sends what the socket did not take of a body, from its offset and when it can take more. The caller's
   * bytes may only be borrowed for this turn (an LMDB page, say): then the rest is copied.
   */
  sendRest(body: string | Uint8Array, isBorrowed: boolean): void {
    const sent = this.res.getWriteOffset()
    this.owner.onBytesSent(sent)
    if (typeof body === 'string') this.#keep(Buffer.from(body).subarray(sent))
    else this.#keep(isBorrowed ? Buffer.from(body.subarray(sent)) : body.subarray(sent))
  }

  /**
   * Sends a body that is read while it is sent, one piece at a time: the next is read when the socket has taken the
   * one before, while the kernel still sends from its own buffer. Rejects when the body cannot be read; what was
   * announced cannot be sent then.
   */
  async sendFrom(body: SizedResponseBody): Promise<void> {
    const owner = this.owner
    owner.onAbort(() => this.#dropRest())
    const source = await body.open()
    try {
      while (!owner.isOver()) {
        if (owner.endsConnection && this.res.getWriteOffset() === this.#size) return
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
    if (rest === null || this.owner.isOver()) return
    const before = this.res.getWriteOffset()
    if (this.#offer(rest.subarray(before - this.#restAt), true)) {
      this.#dropRest()
      return
    }
    // The socket had room and has none again: the native clock, which had stopped, runs anew.
    this.waitForReader()
    if (this.res.getWriteOffset() > before) this.onProgress()
  }

  #sendPiece(piece: Uint8Array): void {
    const before = this.res.getWriteOffset()
    // The head travels with the first piece.
    if (before === 0 && !this.owner.endsConnection) this.#hand(piece)
    else this.#offer(piece)
    if (this.owner.isOver()) return
    const taken = this.res.getWriteOffset() - before
    if (taken < piece.byteLength) this.#keep(piece.subarray(taken))
  }

  #keep(rest: Uint8Array): void {
    this.#restAt = this.res.getWriteOffset()
    this.#rest = rest
    this.waitForReader()
  }

  /**
   * Hands bytes over; true when the socket has taken all of them. A cork takes up to 16 KiB that the socket refuses when
   * it is drawn, which only the next write shows. So the last byte of a body goes alone, behind the others. To a reader
   * that is behind it goes outside a cork: nothing would show that it was refused, and uWS gives an ended answer ten
   * seconds.
   */
  #offer(bytes: Uint8Array, isBehind = false): boolean {
    const others = bytes.byteLength - 1
    if (this.res.getWriteOffset() + others + 1 < this.#size) return this.#hand(bytes)
    if (others > 0 && !this.#hand(bytes.subarray(0, others))) return false
    return this.#hand(bytes.subarray(others), isBehind)
  }

  /**
   * Hands bytes over and reports how far the body is; false when some were refused. Where we end the connection, uWS is
   * told of one byte more than was announced with the first bytes: it would call the answer ended, and keep the
   * connection. So a body of one byte is not sent this way then. Inside a cork where it can be, because uWS complains on
   * standard error about every other write that it has not called for.
   */
  #hand(bytes: Uint8Array, isUncorked = false): boolean {
    const size = this.#size
    const openEnd = this.owner.endsConnection && this.res.getWriteOffset() > 0
    let taken = false
    const write = (): void => {
      const [ok, done] = this.res.tryEnd(bytes, openEnd ? size + 1 : size)
      const sent = done ? size : this.res.getWriteOffset()
      this.owner.onBytesSent(sent)
      if (done) this.owner.settle(false)
      else if (sent === size) this.owner.endConnection()
      taken = ok || done
    }
    if (isUncorked) write()
    else this.res.cork(write)
    return taken
  }

  #dropRest(): void {
    this.#rest = null
    this.onCaughtUp()
    this.#readOn?.()
    this.#readOn = null
  }
}
