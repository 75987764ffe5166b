import type { StreamReceiver } from '../gateway/providers/port/provider.js'
import { providerFailure } from './provider-failures.js'
import { Delays, type Part, Run, type Stage } from './run.js'
import { sentBody } from './sent-body.js'

/** Events of one stream in one turn; then the others have theirs. */
const EVENTS_PER_TURN = 64

/**
 * A streamed answer. Each step has a due time of its own, the one before plus a gap: a late turn hands over
 * everything that is due by then, and lateness never adds up. A paused stream makes nothing and its times move on.
 */
export class StreamRun extends Run {
  readonly #part: Part
  readonly #receiver: StreamReceiver
  readonly #delays: Delays
  /** Due time of the next step, or of the failure. */
  #nextAt: number
  #begun = false
  #pausedAt: number | null = null
  /** While events are handed over, the receiver may pause, resume and cancel; the loop sees to the rest. */
  #telling = false

  constructor(stage: Stage, part: Part, receiver: StreamReceiver) {
    super(stage)
    this.#part = part
    this.#receiver = receiver
    this.#delays = new Delays(part)
    this.#nextAt = stage.wheel.now() + this.#firstDelay()
    this.#sleep()
  }

  override pause(): void {
    if (this.over || this.#pausedAt !== null) return
    this.#pausedAt = this.stage.wheel.now()
    this.stage.wheel.cancel(this)
  }

  override resume(): void {
    if (this.over || this.#pausedAt === null) return
    this.#nextAt += this.stage.wheel.now() - this.#pausedAt
    this.#pausedAt = null
    if (!this.#telling) this.#sleep()
  }

  due(now: number): void {
    this.#telling = true
    if (!this.#begun) this.#begin()
    const told = this.#tellWhatIsDue(now)
    if (!this.over && now >= this.#part.call.deadlineAt) this.#fail('deadline')
    if (!this.over && told > 0) this.#receiver.flush()
    this.#telling = false
    if (!this.over && this.#pausedAt === null) this.#sleep()
  }

  #sleep(): void {
    this.stage.wheel.schedule(this, Math.min(this.#nextAt, this.#part.call.deadlineAt))
  }

  #firstDelay(): number {
    const { trouble } = this.#part.course
    if (trouble !== null && trouble.after === 0 && trouble.waitMs !== null) return trouble.waitMs
    return this.#delays.first(this.#part)
  }

  #begin(): void {
    this.#begun = true
    const { request, endpoint } = this.#part.call
    if (request.debug?.echo_upstream_body === true)
      this.#receiver.sent?.(sentBody(request, endpoint.upstreamModel))
  }

  /** The number of events handed over. */
  #tellWhatIsDue(now: number): number {
    let told = 0
    while (told < EVENTS_PER_TURN && this.#nextAt <= now && !this.over && this.#pausedAt === null) {
      if (this.#troubled()) break
      this.#step()
      told++
    }
    return told
  }

  /** True when the call has failed instead of going on. */
  #troubled(): boolean {
    const { script, course } = this.#part
    const { trouble } = course
    if (trouble === null) return this.#emptyEnd()
    if (script.told < trouble.after && !script.finished) return false
    if (trouble.after === Number.POSITIVE_INFINITY) this.#tellEnd()
    if (!this.over) this.#fail(null)
    return true
  }

  /** An answer without a single token ends where its first would come. */
  #emptyEnd(): boolean {
    if (!this.#part.script.finished) return false
    this.#end()
    return true
  }

  #step(): void {
    const { script, course } = this.#part
    this.#receiver.event(script.next())
    if (this.over) return
    const { trouble } = course
    if (script.finished && trouble === null) this.#end()
    else if (trouble !== null && (script.told >= trouble.after || script.finished)) {
      // A failure without a wait of its own comes where the next step would.
      this.#nextAt += trouble.waitMs ?? this.#delays.gap()
    } else this.#nextAt += this.#delays.gap()
  }

  #end(): void {
    this.#tellEnd()
    if (this.over) return
    this.leave()
    this.#receiver.ended()
  }

  /** The finish and the figures. The receiver may cancel at any of them. */
  #tellEnd(): void {
    const { answer } = this.#part.script
    this.#receiver.event({ type: 'finish', choice: 0, reason: answer.finish, native: answer.finish })
    if (!this.over && answer.serviceTier !== null) {
      this.#receiver.event({ type: 'tier', serviceTier: answer.serviceTier })
    }
    if (!this.over) this.#receiver.event({ type: 'usage', usage: answer.usage })
  }

  #fail(own: 'deadline' | null): void {
    const { course, call } = this.#part
    const failure = own === null ? course.trouble!.failure : providerFailure(own, call.endpoint.provider.name)
    this.leave()
    this.#receiver.failed(failure)
  }
}
