/**
 * One request and its way to an answer on the native server: admission, body, handler, deadline. Part of the native
 * edge: `uws.ts` creates these and the rest of the server sees them only as an `HttpCall`.
 */
import type { HttpResponse } from 'uWebSockets.js'
import type { FaultKind } from '../base/fault.js'
import { LARGE_BYTES } from '../base/large-turns.js'
import { writeUnendedAnswer } from './answer-sending.js'
import { type BodyOwner, BodyReceiver } from './body-receiver.js'
import { NO_BYTES } from './copied-request.js'
import type { Reply, Route } from './exchange.js'
import type { LargeCall } from './large-answers.js'
import { NativeCall, type ServerState } from './native-call.js'

/** Most bytes read and thrown away after a refusal, so that a caller that is still sending can read it. */
const LINGER_BYTES = 16 * 1024 * 1024
/** The same where memory for bodies is short, beyond what had come. */
const SHORT_LINGER_BYTES = 2 * 1024 * 1024
const LINGER_MS = 5_000

export class UwsExchange extends NativeCall implements BodyOwner, LargeCall {
  /** Whether the call is admitted; `answer-due` when it could be answered but for that. */
  #admitted: 'decided' | 'undecided' | 'answer-due' = 'decided'
  /** The answer to a call whose body is still coming and is thrown away. */
  #refusal: Reply | null = null
  #lingerBytes = LINGER_BYTES
  #giveUpAt: number
  /** Of a call with a body. */
  #receiver: BodyReceiver | null = null

  constructor(res: HttpResponse, route: Route, server: ServerState, headOnly: boolean, arrivedAt: number) {
    super(res, route, server, headOnly, arrivedAt)
    this.#giveUpAt = arrivedAt + route.deadlineMs
  }

  // ── The way down: admit, read, answer ─────────────────────────────────────

  /** Decides, reads the body where there is one, answers. `length` as the framing guard saw it. */
  begin(length: number): void {
    const route = this.route
    this.server.largeBodies.smallCalls.arrived(this.arrivedAt, length)
    if (length > route.bodyLimit) {
      this.refuseAndClose(route.refuse('payload-too-large', this), length)
      return
    }
    const nextTurn = this.server.turn.enter(this.arrivedAt)
    const refusal = nextTurn === null ? route.admit(this) : nextTurn.then(() => route.admit(this))
    if (refusal instanceof Promise) this.#awaitAdmission(refusal)
    else if (refusal !== null) {
      // The end of a body in chunks is known when it has come.
      if (length < 0 && this.endsConnection) this.refuseAndClose(refusal, length)
      else this.send(refusal)
      return
    }
    if (length !== 0 || route.readsBody) this.#receive(length)
    if (route.readsBody === 'stream' && !this.isUndecided() && !this.#hasRoom()) return
    if (route.readsBody === 'stream' || !this.isReading()) this.#answer()
  }

  /** Meanwhile the body is received as far as it is on its way (rule 3), and nothing is answered. */
  #awaitAdmission(refusal: Promise<Reply | null>): void {
    this.trackUntilEnd()
    this.#admitted = 'undecided'
    refusal.then(
      (decided) => this.guarded(() => this.#decide(decided)),
      (error: unknown) => this.onDefect(error),
    )
  }

  #decide(refusal: Reply | null): void {
    if (this.isOver()) return
    const answerDue = this.#admitted === 'answer-due'
    this.#admitted = 'decided'
    this.#receiver?.onDecided()
    if (this.#isAnswered()) return
    if (refusal !== null) this.res.cork(() => this.#sendOrRefuse(refusal))
    else if (!this.#hasRoom()) return
    else if (answerDue) this.res.cork(() => this.#answerInTurn())
  }

  /** Whether there is memory for what has come of the body; otherwise the call is refused. */
  #hasRoom(): boolean {
    const refusal = this.#receiver?.charge() ?? null
    if (refusal !== null) this.onNoRoom(refusal)
    return refusal === null
  }

  /**
   * Refuses a call and closes its connection. A body that is still coming is read on for a while: closing on
   * unread bytes sends a RST, and that can cost the caller the answer (it may send everything before it reads).
   */
  refuseAndClose(reply: Reply, length: number): void {
    // No body follows, or its end cannot be known (NaN): the answer and the close go out together.
    if (this.headOnly || !(length > 0 || length === -1)) {
      this.send(reply, true)
      return
    }
    this.#linger(reply)
    this.#receiver = new BodyReceiver(this.res, this, this.route, this.server.largeBodies, length)
  }

  /** Rule 3: the body handler is attached in the turn of the request. */
  #receive(length: number): void {
    this.trackUntilEnd()
    this.phase = 'reading'
    this.#receiver = new BodyReceiver(this.res, this, this.route, this.server.largeBodies, length)
    const { queue } = this.#receiver
    this.queue = queue
    if (queue !== null) this.onAbort(() => queue.fail())
  }

  #answer(): void {
    if (this.#admitted !== 'decided') {
      this.#admitted = 'answer-due'
      return
    }
    const reply = this.route.answer(this)
    // A handler has read it by now; a long stream would keep it for its whole life.
    this.body = NO_BYTES
    this.#receiver?.freeBytes()
    if (!(reply instanceof Promise)) {
      this.#sendOrRefuse(reply)
      return
    }
    this.trackUntilEnd()
    reply.then(
      (late) => this.#answerLate(late),
      (error: unknown) => this.onDefect(error),
    )
  }

  /** Rule 4: a write after the first turn stands inside a cork. */
  #answerLate(reply: Reply): void {
    if (this.#isAnswered()) return
    try {
      this.res.cork(() => this.#sendOrRefuse(reply))
    } catch (error) {
      this.onDefect(error)
    }
  }

  // ── What the receiver of the body asks and tells ──────────────────────────

  isReading(): boolean {
    return this.phase === 'reading'
  }

  isUndecided(): boolean {
    return this.#admitted !== 'decided'
  }

  onBodyRefused(kind: FaultKind): void {
    this.#linger(this.route.refuse(kind, this))
  }

  onNoRoom(kind: FaultKind): void {
    this.#lingerBytes = Math.min(LINGER_BYTES, this.bytesIn + SHORT_LINGER_BYTES)
    this.onBodyRefused(kind)
  }

  onUnwantedPiece(last: boolean): void {
    if (!last && this.bytesIn < this.#lingerBytes) return
    if (this.phase === 'closing') this.endConnection()
    else if (this.#refusal !== null) this.send(this.#refusal, true)
  }

  onBodyComplete(): void {
    this.phase = 'answering'
    if (this.queue !== null) {
      this.queue.markComplete()
      return
    }
    this.body = this.#receiver!.whole()
    this.#answerInTurn()
  }

  /** Rule 17: a large body is read in a turn of its own. */
  #answerInTurn(): void {
    if (this.body.byteLength < LARGE_BYTES || this.isUndecided()) this.#answer()
    else this.server.largeBodies.answers.add(this.#receiver!.caller, this)
  }

  answerNow(): void {
    if (this.#isAnswered()) return
    this.guarded(() => this.res.cork(() => this.#answer()))
  }

  // ── The way up: one answer, chosen once ───────────────────────────────────

  /** A later answer (of a handler that was overtaken by the deadline) is dropped. */
  #isAnswered(): boolean {
    return this.phase !== 'answering' && this.phase !== 'reading'
  }

  /** A reply that does not wait for the whole body is a refusal. */
  #sendOrRefuse(reply: Reply): void {
    if (this.isReading()) this.#linger(reply)
    else this.send(reply)
  }

  /** From here on the body is thrown away. A caller that is not done with it in this turn is answered at once. */
  #linger(refusal: Reply): void {
    this.trackUntilEnd()
    this.phase = 'lingering'
    this.queue?.discard()
    this.#receiver?.giveBack()
    this.#refusal = refusal
    this.status = refusal.status
    this.#giveUpAt = performance.now() + LINGER_MS
    setImmediate(() => {
      // The body may have ended in this turn, and the answer gone out as any other.
      if (this.phase !== 'lingering') return
      this.guarded(() =>
        this.res.cork(() => {
          this.bytesOut = writeUnendedAnswer(this.res, refusal, this.headOnly)
          this.phase = 'closing'
        }),
      )
    })
  }

  // ── Deadlines and the end ─────────────────────────────────────────────────

  override settle(aborted: boolean): void {
    // A call that waits for its turn is kept until then.
    this.body = NO_BYTES
    this.#receiver?.onSettled()
    super.settle(aborted)
  }

  /** Called every quarter of a second while the call waits for something. */
  checkTime(now: number): void {
    // A resume winds up the clock of ten seconds, which is for bodies that come; this one waits for its answer.
    if (this.phase === 'answering' && this.#receiver?.resumedAtEnd === true)
      this.guarded(() => this.res.resume())
    const { paced } = this
    try {
      // The reader's time is not the call's: it has a limit of its own.
      if (now >= this.#giveUpAt + (paced?.waitedMs(now) ?? 0)) this.#expire()
      else if (paced !== null && !paced.checkReader(now, this.server.sendTimeoutMs)) this.cut()
      else if (!this.isOver()) this.stream?.keepAlive(now, this.server.keepAliveMs)
    } catch (error) {
      this.onDefect(error)
    }
  }

  /** The total deadline has passed: tell the handler, then answer for it or cut what it has begun. */
  #expire(): void {
    this.notifyAborted()
    if (this.isReading()) this.#linger(this.route.refuse('request-timeout', this))
    else if (this.phase === 'answering') this.#refuseNow('deadline-exceeded')
    else this.cut()
  }

  #refuseNow(kind: 'deadline-exceeded' | 'unavailable'): void {
    this.res.cork(() => this.send(this.route.refuse(kind, this), true))
  }

  /**
   * Ends the call now: a stream whose reader keeps up with its closing frame, a call that is not answered yet with a
   * refusal, anything else by closing the socket.
   */
  cut(): void {
    this.guarded(() => {
      this.notifyAborted()
      if (this.isOver()) return
      if (this.stream?.cut() === true) {
        if (this.endsConnection) this.phase = 'cutting'
        else this.settle(true)
      } else if (this.phase === 'answering') this.#refuseNow('unavailable')
      else this.res.close() // fires onAborted, which settles
    })
  }
}
