/** Reads `text/event-stream` as the WHATWG defines it, from bytes cut anywhere. */

/** Largest event we take, field names and line ends included. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
/** `data:` as the first bytes of a line. */
const DATA = Buffer.from('data:')
const NOTHING = Buffer.alloc(0)
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/** Takes one event: its data lines joined by LF, and its type, `message` when it names none. */
type EventListener = (data: string, event: string) => void

/**
 * An incremental reader. Comments, `id`, `retry` and unknown fields are dropped: nothing here reconnects. An event
 * whose blank line has not come is not told (`unfinished` shows its data).
 */
export class EventStreamParser {
  private data: string | null = null
  private event = ''
  /** Begin of a line whose end has not come: the first `heldBytes` of `held`. */
  private held = NOTHING
  private heldBytes = 0
  /** Bytes of the event at hand, so far. */
  private eventBytes = 0
  private atStart = true
  /** The last byte was CR: a LF that follows belongs to it. */
  private afterCr = false
  private stopped = false
  private tooLarge = false

  constructor(
    private readonly listener: EventListener,
    private readonly maxEventBytes = MAX_EVENT_BYTES,
  ) {}

  /** Tells every event that the bytes complete. False once an event has outgrown the limit: nothing is told then. */
  push(bytes: Uint8Array): boolean {
    if (this.stopped) return !this.tooLarge
    const chunk = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const from = chunk.indexOf(CR) < 0 ? this.pushWhole(chunk) : 0
    this.pushLines(chunk, from)
    if (this.eventBytes + this.heldBytes > this.maxEventBytes) this.stopTooLarge()
    return !this.tooLarge
  }

  /** Nothing is told any more, not even the rest of the chunk at hand. */
  stop(): void {
    this.stopped = true
    this.held = NOTHING
    this.heldBytes = 0
    this.data = null
  }

  private stopTooLarge(): void {
    this.tooLarge = true
    this.stop()
  }

  /** Data of an event that has begun and whose end has not come; `''` when there is none. */
  unfinished(): string {
    const { held, heldBytes } = this
    const value = isData(held, 0, heldBytes) ? dataOf(held, 0, heldBytes) : null
    return joinLines(this.data, value) ?? ''
  }

  /** The commonest form: events of one `data` line that ends with the bytes LF LF. Returns where it stopped. */
  private pushWhole(chunk: Buffer): number {
    if (this.heldBytes > 0 || this.data !== null || this.event !== '' || this.afterCr) return 0
    let at = 0
    while (isData(chunk, at, chunk.length)) {
      const end = chunk.indexOf(LF, at)
      if (end < 0 || chunk[end + 1] !== LF || end - at > this.maxEventBytes) break
      this.atStart = false
      this.eventBytes = 0
      this.listener(dataOf(chunk, at, end), 'message')
      if (this.stopped) return chunk.length
      at = end + 2
    }
    return at
  }

  private pushLines(chunk: Buffer, from: number): void {
    let at = from
    // Where the next of each line end stands, looked up again only when it has been passed.
    let lf = from - 1
    let cr = from - 1
    while (at < chunk.length && !this.stopped) {
      if (this.afterCr) {
        this.afterCr = false
        if (chunk[at] === LF && ++at === chunk.length) return
      }
      if (lf < at) lf = indexOrInfinity(chunk.indexOf(LF, at))
      if (cr < at) cr = indexOrInfinity(chunk.indexOf(CR, at))
      const end = Math.min(lf, cr)
      if (end === Infinity) {
        this.hold(chunk, at, chunk.length)
        return
      }
      this.afterCr = end === cr
      this.lineUpTo(chunk, at, end)
      at = end + 1
    }
  }

  private lineUpTo(chunk: Buffer, from: number, to: number): void {
    if (this.heldBytes === 0) {
      this.line(chunk, from, to)
      return
    }
    this.hold(chunk, from, to)
    const { held, heldBytes } = this
    this.held = NOTHING
    this.heldBytes = 0
    this.line(held, 0, heldBytes)
  }

  /** The bytes are borrowed, so what is kept is copied; into room that doubles, so that a trickle costs no more. */
  private hold(chunk: Buffer, from: number, to: number): void {
    const bytes = this.heldBytes + to - from
    if (bytes > this.held.length) {
      const room = Buffer.allocUnsafe(Math.max(256, bytes, 2 * this.held.length))
      this.held.copy(room, 0, 0, this.heldBytes)
      this.held = room
    }
    chunk.copy(this.held, this.heldBytes, from, to)
    this.heldBytes = bytes
  }

  private line(bytes: Buffer, from: number, to: number): void {
    let at = from
    if (this.atStart) {
      this.atStart = false
      if (bytes.subarray(at, Math.min(at + BOM.length, to)).equals(BOM)) at += BOM.length
    }
    this.eventBytes += to - from + 1
    if (this.eventBytes > this.maxEventBytes) this.stopTooLarge()
    else if (at === to) this.blankLine()
    else if (isData(bytes, at, to)) this.data = joinLines(this.data, dataOf(bytes, at, to))
    else this.otherField(bytes.toString('utf8', at, to))
  }

  private otherField(line: string): void {
    if (line === 'data') this.data = joinLines(this.data, '')
    else if (line === 'event') this.event = ''
    else if (line.startsWith('event:')) this.event = line.slice(line.charCodeAt(6) === SPACE ? 7 : 6)
  }

  private blankLine(): void {
    const { data, event } = this
    this.data = null
    this.event = ''
    this.eventBytes = 0
    if (data !== null) this.listener(data, event === '' ? 'message' : event)
  }
}

function isData(bytes: Buffer, at: number, to: number): boolean {
  return (
    to - at >= DATA.length &&
    bytes[at] === DATA[0] &&
    bytes[at + 4] === COLON &&
    bytes[at + 1] === DATA[1] &&
    bytes[at + 2] === DATA[2] &&
    bytes[at + 3] === DATA[3]
  )
}

/** Value of the `data` line from `at` to `to`: one space after the colon does not belong to it. */
function dataOf(bytes: Buffer, at: number, to: number): string {
  const value = at + DATA.length
  return bytes.toString('utf8', bytes[value] === SPACE && value < to ? value + 1 : value, to)
}

function joinLines(data: string | null, value: string | null): string | null {
  if (data === null || value === null) return data ?? value
  return `${data}\n${value}`
}

function indexOrInfinity(at: number): number {
  return at < 0 ? Infinity : at
}
