import type { StreamReceiver } from '../gateway/providers/port/provider.js'
import { createProviderFailure } from './provider-failures.js'
import { type PreparedCall, ScheduledCall, type Scheduler, StepDelays } from './scheduled-call.js'
import { upstreamBody } from './upstream-body.js'

/** Events of one stream in one turn; then the others have theirs. */
const MAX_EVENTS_PER_TURN = 64

/**
 * A streamed answer. Each step has a due time of its own, the one before plus a gap: a late turn hands over
 * everything that is due by then, and lateness never adds up. A paused stream makes nothing and its times move on.
 */
export class ScheduledStream extends ScheduledCall {
  readonly #part: PreparedCall
  readonly #receiver: StreamReceiver
  readonly #delays: StepDelays
  /** Due time of the next step, or of the failure. */
  #nextAt: number
  #started = false
  #pausedAt: number | null = null
  /** While events are handed over, the receiver may pause, resume and cancel; the loop sees to the rest. */
  #emitting = false

  constructor(stage: Scheduler, part: PreparedCall, receiver: StreamReceiver) {
    super(stage)
    this.#part = part
    this.#receiver = receiver
    this.#delays = new StepDelays(part)
    this.#nextAt = stage.wheel.now() + this.#firstDelay()
    this.#scheduleNext()
  }

  override pause(): void {
    if (this.over || this.#pausedAt !== null) return
    this.#pausedAt = this.scheduler.wheel.now()
    this.scheduler.wheel.cancel(this)
  }

  override resume(): void {
    if (this.over || this.#pausedAt === null) return
    this.#nextAt += this.scheduler.wheel.now() - this.#pausedAt
    this.#pausedAt = null
    if (!this.#emitting) this.#scheduleNext()
  }

  onDue(now: number): void {
    this.#emitting = true
    if (!this.#started) this.#start()
    const told = this.#emitDueEvents(now)
    if (!this.over && now >= this.#part.call.deadlineAt) this.#fail('deadline')
    if (!this.over && told > 0) this.#receiver.onFlush()
    this.#emitting = false
    if (!this.over && this.#pausedAt === null) this.#scheduleNext()
  }

  #scheduleNext(): void {
    this.scheduler.wheel.schedule(this, Math.min(this.#nextAt, this.#part.call.deadlineAt))
  }

  #firstDelay(): number {
    const { fault: trouble } = this.#part.faults
    if (trouble !== null && trouble.afterSteps === 0 && trouble.waitMs !== null) return trouble.waitMs
    return this.#delays.firstDelay(this.#part)
  }

  #start(): void {
    this.#started = true
    const { request, endpoint } = this.#part.call
    if (request.debug?.echo_upstream_body === true)
      this.#receiver.onRequestSent?.(upstreamBody(request, endpoint.upstreamModel))
  }

  /** The number of events handed over. */
  #emitDueEvents(now: number): number {
    let told = 0
    while (told < MAX_EVENTS_PER_TURN && this.#nextAt <= now && !this.over && this.#pausedAt === null) {
      if (this.#failIfScheduled()) break
      this.#emitNextStep()
      told++
    }
    return told
  }

  /** True when the call has failed instead of going on. */
  #failIfScheduled(): boolean {
    const { answer: script, faults: course } = this.#part
    const { fault: trouble } = course
    if (trouble === null) return this.#endIfEmpty()
    if (script.stepsDone < trouble.afterSteps && !script.finished) return false
    if (trouble.afterSteps === Number.POSITIVE_INFINITY) this.#emitFinish()
    if (!this.over) this.#fail(null)
    return true
  }

  /** An answer without a single token ends where its first would come. */
  #endIfEmpty(): boolean {
    if (!this.#part.answer.finished) return false
    this.#end()
    return true
  }

  #emitNextStep(): void {
    const { answer: script, faults: course } = this.#part
    this.#receiver.onEvent(script.nextEvent())
    if (this.over) return
    const { fault: trouble } = course
    if (script.finished && trouble === null) this.#end()
    else if (trouble !== null && (script.stepsDone >= trouble.afterSteps || script.finished)) {
      // A failure without a wait of its own comes where the next step would.
      this.#nextAt += trouble.waitMs ?? this.#delays.nextGap()
    } else this.#nextAt += this.#delays.nextGap()
  }

  #end(): void {
    this.#emitFinish()
    if (this.over) return
    this.markOver()
    this.#receiver.onEnd()
  }

  /** The finish and the figures. The receiver may cancel at any of them. */
  #emitFinish(): void {
    const { answer } = this.#part.answer
    this.#receiver.onEvent({
      type: 'finish',
      choice: 0,
      reason: answer.finishReason,
      native: answer.finishReason,
    })
    if (!this.over && answer.serviceTier !== null) {
      this.#receiver.onEvent({ type: 'tier', serviceTier: answer.serviceTier })
    }
    if (!this.over) this.#receiver.onEvent({ type: 'usage', usage: answer.usage })
  }

  #fail(own: 'deadline' | null): void {
    const { faults: course, call } = this.#part
    const failure =
      own === null ? course.fault!.failure : createProviderFailure(own, call.endpoint.provider.name)
    this.markOver()
    this.#receiver.onFailure(failure)
  }
}
