/** One call: its phases, their limits, and what the HTTP engine tells about it. */
import { LinkedNode } from '../base/linked-list.js'
import { readHeaders } from './answer-head.js'
import type { ReadEndListener } from './engine-socket.js'
import type {
  PhaseTimeouts,
  UpstreamCall,
  UpstreamFailure,
  UpstreamFailureReason,
  UpstreamPhase,
  UpstreamReceiver,
  UpstreamRequest,
} from './port.js'

/** How long, and for how many bytes, the rest of a released answer is read away. */
const DRAIN_MS = 1_000
const DRAIN_BYTES = 64 * 1024

/** What a call asks of the connection that serves it. */
export interface CallConnection {
  /** It has served a call before this one, of which no byte has been answered yet. */
  readonly isSilentSinceReuse: boolean
  /** Tells the call when the engine has taken all that the read under way has brought. */
  awaitReadEnd(call: ReadEndListener): void
}

/** The pool that gave the call its connection. */
export interface CallOwner {
  /** The connection is broken; the call is sent once more, on a fresh one. */
  repeatOnFresh(call: OngoingUpstreamCall): void
  /** The answer is complete; its connection may serve again. */
  onFinished(call: OngoingUpstreamCall): void
  /** The call is over and its connection, or its place in the queue, must go at once. */
  onBroken(call: OngoingUpstreamCall): void
  /** A receiver has thrown, which it must not. */
  onDefect(error: unknown): void
}

/** Takes what still comes of a call that was cancelled, released or has ended. */
const IGNORING_RECEIVER: UpstreamReceiver = {
  onHead: () => {},
  onData: () => {},
  onEnd: () => {},
  onFailure: () => {},
}

/**
 * Is its own handler for the engine and its own handle for the caller: one object per call. It speaks the engine's
 * older form of a handler, because the newer one is a wrapper around it that makes an object of all headers: two
 * microseconds of a call that has fifteen.
 *
 * Time is not read per piece. The client's sweep comes by and dates what has happened since its last visit, so a
 * limit fires late by at most two visits and never early.
 */
export class OngoingUpstreamCall extends LinkedNode implements UpstreamCall {
  /** The connection that serves it; null before and after. */
  connection: CallConnection | null = null
  /** `starting` until `UpstreamClient.call` has returned: before that nothing may be told to the receiver. */
  private state: 'starting' | 'running' | 'ended' = 'starting'
  private phase: UpstreamPhase = 'queue'
  /** The caller's reader is behind since then; null when it is not. */
  private pausedAt: number | null = null
  private drainLeft = -1
  /** The engine holds back the rest of the answer since `onHeaders` or `onData` has said no. */
  private engineHeld = false
  /** The end of the read under way will be told. */
  private awaitsReadEnd = false
  private resumeEngine: (() => void) | null = null
  private progressed = false
  /** When the sweep last saw the call get on; `progressed` says that it has since. */
  private progressAt: number
  /** Moves on by every pause. */
  private deadlineAt: number
  private readonly beganAt: number
  private connectionAt = 0
  private sentAt = 0
  private repeated = false

  constructor(
    readonly request: UpstreamRequest,
    private receiver: UpstreamReceiver,
    private readonly home: CallOwner,
  ) {
    super()
    this.progressAt = performance.now()
    this.beganAt = this.progressAt
    this.deadlineAt = Math.min(request.deadlineAt, this.progressAt + request.timeouts.totalMs)
  }

  private get ended(): boolean {
    return this.state === 'ended'
  }

  private get requestSent(): boolean {
    return this.sentAt > 0
  }

  // ── The caller ──────────────────────────────────────────────────────────

  waits(): { readonly queueMs: number; readonly connectMs: number } | null {
    if (!this.requestSent) return null
    return { queueMs: this.connectionAt - this.beganAt, connectMs: this.sentAt - this.connectionAt }
  }

  pause(): void {
    if (this.ended || this.drainLeft >= 0 || this.pausedAt !== null) return
    this.pausedAt = performance.now()
  }

  resume(): void {
    if (this.ended || this.pausedAt === null) return
    this.deadlineAt += performance.now() - this.pausedAt
    this.pausedAt = null
    this.progressed = true
    // The engine parses within `resume`, and one parser at a time: we may be standing in another call's piece.
    queueMicrotask(() => {
      if (this.ended || this.pausedAt !== null || !this.engineHeld) return
      this.engineHeld = false
      this.resumeEngine?.()
    })
  }

  cancel(): void {
    this.receiver = IGNORING_RECEIVER
    if (this.ended) return
    this.end()
    this.home.onBroken(this)
  }

  release(): void {
    this.receiver = IGNORING_RECEIVER
    if (this.ended || this.drainLeft >= 0) return
    this.drainLeft = DRAIN_BYTES
    this.progressed = true
    this.resume()
  }

  // ── The sweep and the owner ─────────────────────────────────────────────

  /** `UpstreamClient.call` returns. */
  started(): void {
    if (this.state === 'starting') this.state = 'running'
  }

  /** A connection will serve the call, at once or after a wait for it. */
  assignConnection(connection: CallConnection): void {
    this.connection = connection
    this.connectionAt = this.state === 'starting' ? this.beganAt : performance.now()
    this.enterPhase('connect')
  }

  /** Fails the call when one of its limits has passed. */
  checkLimits(now: number): void {
    // A pause that a slow reader asks for is none of the provider's time; the transport watches the reader.
    const held = this.pausedAt !== null && (this.phase === 'first-token' || this.phase === 'idle')
    if (!held && now >= this.deadlineAt) {
      this.failAs('timeout', this.phase === 'queue' ? 'queue' : 'total')
      return
    }
    if (this.progressed || held) {
      this.progressed = false
      this.progressAt = now
      return
    }
    if (now - this.progressAt >= this.limit()) this.failAs('timeout', this.phase)
  }

  private limit(): number {
    return this.drainLeft >= 0 ? DRAIN_MS : PHASE_LIMITS[this.phase](this.request.timeouts)
  }

  failAs(reason: UpstreamFailure['reason'], phase: UpstreamPhase = this.phase): void {
    this.fail({ reason, phase, requestSent: this.requestSent, cause: undefined })
  }

  failWith(error: unknown): void {
    this.fail(classifyFailure(error, this.phase, this.requestSent))
  }

  private fail(failure: UpstreamFailure): void {
    if (this.ended) return
    if (this.state === 'starting') {
      setImmediate(() => this.fail(failure))
      return
    }
    const { receiver } = this
    this.end()
    this.home.onBroken(this)
    try {
      receiver.onFailure(failure)
    } catch (error) {
      this.home.onDefect(error)
    }
  }

  /** What a receiver throws would vanish in the engine, or end the process from within the sweep. */
  private failDefective(error: unknown): void {
    this.home.onDefect(error)
    this.failAs('protocol')
  }

  private end(): void {
    this.state = 'ended'
    this.receiver = IGNORING_RECEIVER
    this.resumeEngine = null
  }

  // ── The engine ──────────────────────────────────────────────────────────

  /** The request is about to be written. */
  onConnect(): void {
    this.sentAt = performance.now()
    this.enterPhase('headers')
  }

  /** A piece of a streamed body has been taken: a call that sends much is not late. */
  onBodySent(): void {
    if (!this.ended) this.progressed = true
  }

  /** False holds back the body until `resumeEngine`. */
  onHeaders(status: number, raw: readonly Buffer[], resumeEngine: () => void): boolean {
    if (this.ended || status < 200) return true
    this.resumeEngine = resumeEngine
    this.enterPhase('first-token')
    try {
      this.receiver.onHead(status, readHeaders(raw, this.request.answerHeaders))
    } catch (error) {
      this.failDefective(error)
    }
    return this.mayContinue()
  }

  onData(chunk: Uint8Array): boolean {
    // The parser tells an empty piece whenever it is resumed without bytes at hand.
    if (this.ended || chunk.length === 0) return this.mayContinue()
    if (this.drainLeft >= 0) {
      this.drain(chunk.length)
      return true
    }
    if (this.phase === 'idle') this.progressed = true
    else this.enterPhase('idle')
    try {
      this.receiver.onData(chunk)
    } catch (error) {
      this.failDefective(error)
    }
    if (!this.awaitsReadEnd && this.receiver.onReadEnd !== undefined && this.connection !== null) {
      this.awaitsReadEnd = true
      // The engine tells one piece after the other, each chunk of the coding for itself, and does not say when it is done.
      this.connection.awaitReadEnd(this)
    }
    return this.mayContinue()
  }

  tellReadEnd(): void {
    this.awaitsReadEnd = false
    try {
      this.receiver.onReadEnd?.()
    } catch (error) {
      this.failDefective(error)
    }
  }

  private mayContinue(): boolean {
    this.engineHeld = this.pausedAt !== null && !this.ended
    return !this.engineHeld
  }

  private drain(bytes: number): void {
    this.drainLeft = Math.max(0, this.drainLeft - bytes)
    if (this.drainLeft === 0) this.cancel()
  }

  onComplete(): void {
    if (this.ended) return
    const { receiver } = this
    this.end()
    this.home.onFinished(this)
    try {
      receiver.onEnd()
    } catch (error) {
      this.home.onDefect(error)
    }
  }

  onError(error: Error): void {
    if (this.mayRepeat()) {
      this.repeated = true
      this.home.repeatOnFresh(this)
    } else this.failWith(error)
  }

  /** Before the request was begun, the engine itself has tried a fresh connection. */
  private mayRepeat(): boolean {
    if (this.state !== 'running' || this.repeated || this.phase !== 'headers') return false
    return this.request.repeatable && this.connection?.isSilentSinceReuse === true
  }

  private enterPhase(phase: UpstreamPhase): void {
    this.phase = phase
    this.progressed = true
  }
}

const PHASE_LIMITS: Readonly<Record<UpstreamPhase, (timeouts: PhaseTimeouts) => number>> = {
  queue: (t) => t.connectMs,
  connect: (t) => t.connectMs,
  headers: (t) => t.headersMs,
  'first-token': (t) => t.firstTokenMs,
  idle: (t) => t.idleMs,
  total: (t) => t.totalMs,
}

/** From the errors of sockets and of the HTTP parser to the closed list of reasons. */
const REASONS: Readonly<Record<string, UpstreamFailureReason>> = {
  UND_ERR_HEADERS_OVERFLOW: 'too-large',
  UND_ERR_INVALID_ARG: 'protocol',
  UND_ERR_NOT_SUPPORTED: 'protocol',
}

/** What an error means for a call in this phase. Before the request was begun, any error is a refusal to connect. */
function classifyFailure(error: unknown, phase: UpstreamPhase, sent: boolean): UpstreamFailure {
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown }
  if (name === 'HTTPParserError') return { reason: 'protocol', phase, requestSent: sent, cause: NO_HTTP }
  const named = typeof code === 'string' ? REASONS[code] : undefined
  return { reason: named ?? (sent ? 'reset' : 'refused'), phase, requestSent: sent, cause: error }
}

/** Stands for the parser's error, which carries the bytes it stumbled over: a part of an answer, not for a log. */
const NO_HTTP = 'the answer is no HTTP/1.1'
