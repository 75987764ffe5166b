import type { CompletionReceiver } from '../gateway/providers/port/provider.js'
import { providerFailure } from './provider-failures.js'
import { Delays, type Part, Run, type Stage } from './run.js'

/** A whole answer, given at the time at which its stream would have ended. */
export class CompletionRun extends Run {
  readonly #part: Part
  readonly #receiver: CompletionReceiver
  readonly #endsAt: number

  constructor(stage: Stage, part: Part, receiver: CompletionReceiver) {
    super(stage)
    this.#part = part
    this.#receiver = receiver
    const span = duration(part)
    this.#endsAt = span === 0 ? 0 : stage.wheel.now() + span
    stage.wheel.schedule(this, Math.min(this.#endsAt, part.call.deadlineAt))
  }

  due(now: number): void {
    this.leave()
    const { script, course, call } = this.#part
    if (now < this.#endsAt) this.#receiver.failed(providerFailure('deadline', call.endpoint.provider.name))
    else if (course.trouble !== null) this.#receiver.failed(course.trouble.failure)
    else this.#receiver.ended(script.whole())
  }
}

/** Time to the last step, or to the failure, in milliseconds. */
function duration(part: Part): number {
  const { trouble } = part.course
  const { steps } = part.script
  if (trouble !== null && trouble.after === 0 && trouble.waitMs !== null) return trouble.waitMs
  const delays = new Delays(part)
  const first = delays.first(part)
  const told = trouble === null ? steps : Math.min(steps, trouble.after)
  const gaps = delays.gaps(Math.max(0, told - 1))
  return first + gaps + (trouble?.waitMs ?? 0)
}
