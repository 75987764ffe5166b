import type { CallHandle, ProviderCall, ProviderFailure } from '../gateway/providers/port/provider.js'
import type { AnswerGenerator } from './answer/answer-generator.js'
import type { CompiledBehaviour } from './compiled-behaviour.js'
import type { FaultSchedule } from './fault-schedule.js'
import { RANDOM_LANE, SeededRandom } from './random.js'
import { TimerEntry, type TimerWheel } from './timer-wheel.js'

/** Where runs live: the wheel that wakes them, and the count of those under way. */
export interface Scheduler {
  readonly wheel: TimerWheel
  /** Runs that have neither ended nor failed nor been cancelled. */
  activeCalls: number
}

/** One call in the form that runs take: what to say, in which course, at which times. */
export interface PreparedCall {
  readonly call: ProviderCall
  readonly answer: AnswerGenerator
  readonly faults: FaultSchedule
  readonly behaviour: CompiledBehaviour
}

/** A call under way. It is woken by the wheel, and over once: ended, failed or cancelled. */
export abstract class ScheduledCall extends TimerEntry implements CallHandle {
  protected readonly scheduler: Scheduler
  protected over = false

  constructor(scheduler: Scheduler) {
    super()
    this.scheduler = scheduler
    scheduler.activeCalls++
  }

  pause(): void {}
  resume(): void {}

  cancel(): void {
    if (this.over) return
    this.scheduler.wheel.cancel(this)
    this.markOver()
  }

  /** To be called before the receiver hears the last word. */
  protected markOver(): void {
    this.over = true
    this.scheduler.activeCalls--
  }
}

/** What any receiver takes. */
interface FailureReceiver {
  onFailure(failure: ProviderFailure): void
}

/** A call that was decided against before it began; the receiver hears of it in a later turn. */
export class RejectedCall extends ScheduledCall {
  readonly #failure: ProviderFailure
  readonly #receiver: FailureReceiver

  constructor(stage: Scheduler, failure: ProviderFailure, receiver: FailureReceiver) {
    super(stage)
    this.#failure = failure
    this.#receiver = receiver
    stage.wheel.schedule(this, 0)
  }

  onDue(): void {
    this.markOver()
    this.#receiver.onFailure(this.#failure)
  }
}

/** The times of one call's steps; streamed or not, the same ones. */
export class StepDelays {
  readonly #behaviour: CompiledBehaviour
  readonly #random: SeededRandom | null

  constructor({ behaviour, answer: script }: PreparedCall) {
    this.#behaviour = behaviour
    const drawn = behaviour.gapMs.constant === null || behaviour.firstTokenMs.constant === null
    this.#random = drawn ? new SeededRandom(script.answer.seed, RANDOM_LANE.delays) : null
  }

  nextGap(): number {
    const { gapMs } = this.#behaviour
    return gapMs.constant ?? gapMs.draw(this.#random!)
  }

  /** Of so many gaps together. */
  sumOfGaps(count: number): number {
    const { constant } = this.#behaviour.gapMs
    if (constant !== null) return constant * count
    let sum = 0
    for (let i = 0; i < count; i++) sum += this.nextGap()
    return sum
  }

  /** Time to the first step. Reasoning that is not told takes its time nevertheless. */
  firstDelay({ answer: script, faults: course }: PreparedCall): number {
    const { firstTokenMs } = this.#behaviour
    const drawn = firstTokenMs.constant ?? firstTokenMs.draw(this.#random!)
    const { reasoningTokens: thoughts, showsReasoning: tellsThoughts } = script.answer
    return (course.firstTokenMs ?? drawn) + (tellsThoughts ? 0 : this.sumOfGaps(thoughts))
  }
}
