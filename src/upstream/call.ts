/** One call: its phases, their limits, and what the HTTP engine tells about it. */
import { Linked } from '../base/linked-list.js'
import { failureOf } from './failure.js'
import type {
  Phase,
  PhaseTimeouts,
  UpstreamCall,
  UpstreamFailure,
  UpstreamReceiver,
  UpstreamRequest,
} from './port.js'

/** How long, and for how many bytes, the rest of a released answer is read away. */
const DRAIN_MS = 1_000
const DRAIN_BYTES = 64 * 1024

/** The headers anybody decides by; the rest of a head is not even made into text. */
const WANTED: readonly (readonly [length: number, name: string])[] = [
  'retry-after',
  'content-type',
  'content-length',
  'content-encoding',
].map((name) => [name.length, name])

/** The wanted headers of a raw head, names in lower case. Of a repeated one the first counts. */
function headersOf(raw: readonly Uint8Array[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let i = 0; i < raw.length; i += 2) {
    const field = raw[i]!
    for (const [length, name] of WANTED) {
      if (length !== field.length || latin1(field).toLowerCase() !== name) continue
      headers[name] ??= latin1(raw[i + 1]!)
    }
  }
  return headers
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** Who gave the call its connection. */
export interface CallHome {
  /** The answer is complete; its connection may serve again. */
  finished(call: Call): void
  /** The call is over and its connection, or its place in the queue, must go at once. */
  broken(call: Call): void
  /** A receiver has thrown, which it must not. */
  defect(error: unknown): void
}

/** Takes what belongs to nobody any more. */
const NOBODY: UpstreamReceiver = { head: () => {}, data: () => {}, ended: () => {}, failed: () => {} }

/**
 * Is its own handler for the engine and its own handle for the caller: one object per call. It speaks the engine's
 * older form of a handler, because the newer one is a wrapper around it that makes an object of all headers: two
 * microseconds of a call that has fifteen.
 *
 * Time is not read per piece. A sweep (`Sweep`) comes by and dates what has happened since its last visit, so a
 * limit fires late by at most two visits and never early.
 */
export class Call extends Linked implements UpstreamCall {
  /** The connection that serves it; null before and after. */
  connection: object | null = null
  /** Whether `Upstream.call` still stands below us: nothing may be told to the receiver before it has returned. */
  starting = true
  private phase: Phase = 'queue'
  private over = false
  private sent = false
  private paused = false
  private drainLeft = -1
  /** The engine holds back the rest of the answer since `onHeaders` or `onData` has said no. */
  private held = false
  private goOn: (() => void) | null = null
  private moved = false
  private since: number
  private readonly lateAt: number
  private readonly beganAt: number
  private givenAt = 0
  private sentAt = 0

  constructor(
    readonly request: UpstreamRequest,
    private receiver: UpstreamReceiver,
    private readonly home: CallHome,
  ) {
    super()
    this.since = performance.now()
    this.beganAt = this.since
    this.lateAt = Math.min(request.deadlineAt, this.since + request.timeouts.totalMs)
  }

  // ── The caller ──────────────────────────────────────────────────────────

  waits(): { readonly queueMs: number; readonly connectMs: number } | null {
    if (!this.sent) return null
    return { queueMs: this.givenAt - this.beganAt, connectMs: this.sentAt - this.givenAt }
  }

  pause(): void {
    if (this.over || this.drainLeft >= 0) return
    this.paused = true
  }

  resume(): void {
    if (this.over || !this.paused) return
    this.paused = false
    this.moved = true
    // The engine parses within `resume`, and one parser at a time: we may be standing in another call's piece.
    queueMicrotask(() => {
      if (this.over || this.paused || !this.held) return
      this.held = false
      this.goOn?.()
    })
  }

  cancel(): void {
    this.receiver = NOBODY
    if (!this.over) this.end()
  }

  release(): void {
    this.receiver = NOBODY
    if (this.over || this.drainLeft >= 0) return
    this.drainLeft = DRAIN_BYTES
    this.moved = true
    this.resume()
  }

  // ── The sweep and the owner ─────────────────────────────────────────────

  /** A connection will serve the call, at once or after a wait for it. */
  given(connection: object): void {
    this.connection = connection
    this.givenAt = performance.now()
    this.enter('connect')
  }

  /** Fails the call when one of its limits has passed. */
  visit(now: number): void {
    if (now >= this.lateAt) {
      this.failAs('timeout', this.phase === 'queue' ? 'queue' : 'total')
      return
    }
    if (this.moved || (this.paused && (this.phase === 'first-token' || this.phase === 'idle'))) {
      this.moved = false
      this.since = now
      return
    }
    if (now - this.since >= this.limit()) this.failAs('timeout', this.phase)
  }

  private limit(): number {
    return this.drainLeft >= 0 ? DRAIN_MS : LIMITS[this.phase](this.request.timeouts)
  }

  failAs(reason: UpstreamFailure['reason'], phase: Phase = this.phase): void {
    this.fail({ reason, phase, sent: this.sent, cause: undefined })
  }

  failWith(error: unknown): void {
    this.fail(failureOf(error, this.phase, this.sent))
  }

  private fail(failure: UpstreamFailure): void {
    if (this.over) return
    if (this.starting) {
      setImmediate(() => this.fail(failure))
      return
    }
    const { receiver } = this
    this.end()
    try {
      receiver.failed(failure)
    } catch (error) {
      this.home.defect(error)
    }
  }

  /** What a receiver throws would vanish in the engine, or end the process from within the sweep. */
  private fault(error: unknown): void {
    this.home.defect(error)
    this.failAs('protocol')
  }

  private end(): void {
    this.over = true
    this.receiver = NOBODY
    this.goOn = null
    this.home.broken(this)
  }

  // ── The engine ──────────────────────────────────────────────────────────

  /** The request is about to be written. */
  onConnect(): void {
    this.sent = true
    this.sentAt = performance.now()
    this.enter('headers')
  }

  /** A piece of a streamed body has been taken: whoever sends much is not late. */
  onBodySent(): void {
    if (!this.over) this.moved = true
  }

  /** False holds back the body until `goOn`. */
  onHeaders(status: number, raw: readonly Uint8Array[], goOn: () => void): boolean {
    if (this.over || status < 200) return true
    this.goOn = goOn
    this.enter('first-token')
    try {
      this.receiver.head(status, headersOf(raw))
    } catch (error) {
      this.fault(error)
    }
    return this.mayGoOn()
  }

  onData(chunk: Uint8Array): boolean {
    // The parser tells an empty piece whenever it is resumed without bytes at hand.
    if (this.over || chunk.length === 0) return this.mayGoOn()
    if (this.drainLeft >= 0) {
      this.drain(chunk.length)
      return true
    }
    if (this.phase === 'idle') this.moved = true
    else this.enter('idle')
    try {
      this.receiver.data(chunk)
    } catch (error) {
      this.fault(error)
    }
    return this.mayGoOn()
  }

  private mayGoOn(): boolean {
    this.held = this.paused && !this.over
    return !this.held
  }

  private drain(bytes: number): void {
    this.drainLeft = Math.max(0, this.drainLeft - bytes)
    if (this.drainLeft === 0) this.cancel()
  }

  onComplete(): void {
    if (this.over) return
    const { receiver } = this
    this.over = true
    this.receiver = NOBODY
    this.goOn = null
    this.home.finished(this)
    try {
      receiver.ended()
    } catch (error) {
      this.home.defect(error)
    }
  }

  onError(error: Error): void {
    this.failWith(error)
  }

  private enter(phase: Phase): void {
    this.phase = phase
    this.moved = true
  }
}

const LIMITS: Readonly<Record<Phase, (timeouts: PhaseTimeouts) => number>> = {
  queue: (t) => t.connectMs,
  connect: (t) => t.connectMs,
  headers: (t) => t.headersMs,
  'first-token': (t) => t.firstTokenMs,
  idle: (t) => t.idleMs,
  total: (t) => t.totalMs,
}
