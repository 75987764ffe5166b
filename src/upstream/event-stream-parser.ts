/** Reads `text/event-stream` as the WHATWG defines it, from bytes cut anywhere. */
import type { RepeatedEvent } from './repeated-event.js'

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
  /** The form of the events that are expected now. */
  private form: RepeatedEvent | null = null

  constructor(
    private readonly listener: EventListener,
    private readonly maxEventBytes = MAX_EVENT_BYTES,
    /** Takes the events of the expected form. */
    private readonly onRepeated: (event: RepeatedEvent) => void = () => {},
  ) {}

  /** Until an event of another form comes, those of this one go to `onRepeated`. */
  expect(form: RepeatedEvent): void {
    if (!this.stopped) this.form = form
  }

  /** Tells every event that the bytes complete. False once an event has outgrown the limit: nothing is told then. */
  push(bytes: Uint8Array): boolean {
    if (this.stopped) return !this.tooLarge
    const chunk = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let from = this.pushRepeated(chunk, 0)
    if (from < chunk.length && chunk.indexOf(CR, from) < 0) from = this.pushWhole(chunk, from)
    this.pushLines(chunk, from)
    if (this.eventBytes + this.heldBytes > this.maxEventBytes) this.stopTooLarge()
    return !this.tooLarge
  }

  /** Nothing is told any more, not even the rest of the chunk at hand. */
  stop(): void {
    this.stopped = true
    this.form = null
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

  /** Nothing of an event has come yet. */
  private get isBetween(): boolean {
    return this.heldBytes === 0 && this.data === null && this.event === '' && !this.afterCr
  }

  /** Events of the expected form. Returns where another one begins. */
  private pushRepeated(chunk: Buffer, from: number): number {
    let at = from
    while (this.form !== null && this.isBetween) {
      const end = this.form.match(chunk, at)
      if (end < 0 || this.eventBytes + end - at > this.maxEventBytes) return at
      this.eventBytes = 0
      this.onRepeated(this.form)
      if (this.stopped) return chunk.length
      at = end
    }
    return at
  }

  /** The commonest form: events of one `data` line that ends with the bytes LF LF. Returns where it stopped. */
  private pushWhole(chunk: Buffer, from: number): number {
    if (!this.isBetween) return from
    let at = from
    while (isData(chunk, at, chunk.length)) {
      const end = chunk.indexOf(LF, at)
      if (end < 0 || chunk[end + 1] !== LF || end - at > this.maxEventBytes) break
      this.atStart = false
      this.eventBytes = 0
      this.tell(dataOf(chunk, at, end), 'message')
      if (this.stopped) return chunk.length
      at = this.pushRepeated(chunk, end + 2)
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
      if (this.form !== null) {
        at = this.pushRepeated(chunk, at)
        if (at >= chunk.length) return
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
    if (data !== null) this.tell(data, event === '' ? 'message' : event)
  }

  /** What an event of another form says may change what one of the expected form would mean. */
  private tell(data: string, event: string): void {
    this.form = null
    this.listener(data, event)
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
