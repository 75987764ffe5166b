import type { CompletionReceiver } from '../gateway/providers/port/provider.js'
import { createProviderFailure } from './provider-failures.js'
import { type PreparedCall, ScheduledCall, type Scheduler, StepDelays } from './scheduled-call.js'

/** A whole answer, given at the time at which its stream would have ended. */
export class ScheduledCompletion extends ScheduledCall {
  readonly #part: PreparedCall
  readonly #receiver: CompletionReceiver
  readonly #endsAt: number

  constructor(stage: Scheduler, part: PreparedCall, receiver: CompletionReceiver) {
    super(stage)
    this.#part = part
    this.#receiver = receiver
    const span = durationOfCall(part)
    this.#endsAt = span === 0 ? 0 : stage.wheel.now() + span
    stage.wheel.schedule(this, Math.min(this.#endsAt, part.call.deadlineAt))
  }

  onDue(now: number): void {
    this.markOver()
    const { answer: script, faults: course, call } = this.#part
    if (now < this.#endsAt)
      this.#receiver.onFailure(createProviderFailure('deadline', call.endpoint.provider.name))
    else if (course.fault !== null) this.#receiver.onFailure(course.fault.failure)
    else this.#receiver.onEnd(script.toCompletion())
  }
}

/** Time to the last step, or to the failure, in milliseconds. */
function durationOfCall(part: PreparedCall): number {
  const { fault: trouble } = part.faults
  const { stepCount: steps } = part.answer
  if (trouble !== null && trouble.afterSteps === 0 && trouble.waitMs !== null) return trouble.waitMs
  const delays = new StepDelays(part)
  const first = delays.firstDelay(part)
  const told = trouble === null ? steps : Math.min(steps, trouble.afterSteps)
  const gaps = delays.sumOfGaps(Math.max(0, told - 1))
  return first + gaps + (trouble?.waitMs ?? 0)
}
