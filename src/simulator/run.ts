import type { Flow, ProviderCall, ProviderFailure } from '../gateway/providers/port/provider.js'
import type { Script } from './answer/script.js'
import type { CompiledBehaviour } from './compiled-behaviour.js'
import { LANE, Random } from './random.js'
import { type TickWheel, Timed } from './tick-wheel.js'
import type { Course } from './trouble.js'

/** Where runs live: the wheel that wakes them, and the count of those under way. */
export interface Stage {
  readonly wheel: TickWheel
  /** Runs that have neither ended nor failed nor been cancelled. */
  active: number
}

/** One call in the form that runs take: what to say, in which course, at which times. */
export interface Part {
  readonly call: ProviderCall
  readonly script: Script
  readonly course: Course
  readonly behaviour: CompiledBehaviour
}

/** A call under way. It is woken by the wheel, and over once: ended, failed or cancelled. */
export abstract class Run extends Timed implements Flow {
  protected readonly stage: Stage
  protected over = false

  constructor(stage: Stage) {
    super()
    this.stage = stage
    stage.active++
  }

  pause(): void {}
  resume(): void {}

  cancel(): void {
    if (this.over) return
    this.stage.wheel.cancel(this)
    this.leave()
  }

  /** To be called before the receiver hears the last word. */
  protected leave(): void {
    this.over = true
    this.stage.active--
  }
}

/** What any receiver takes. */
interface FailureReceiver {
  failed(failure: ProviderFailure): void
}

/** A call that was decided against before it began; the receiver hears of it in a later turn. */
export class RefusedRun extends Run {
  readonly #failure: ProviderFailure
  readonly #receiver: FailureReceiver

  constructor(stage: Stage, failure: ProviderFailure, receiver: FailureReceiver) {
    super(stage)
    this.#failure = failure
    this.#receiver = receiver
    stage.wheel.schedule(this, 0)
  }

  due(): void {
    this.leave()
    this.#receiver.failed(this.#failure)
  }
}

/** The times of one call's steps; streamed or not, the same ones. */
export class Delays {
  readonly #behaviour: CompiledBehaviour
  readonly #random: Random | null

  constructor({ behaviour, script }: Part) {
    this.#behaviour = behaviour
    const drawn = behaviour.gapMs.constant === null || behaviour.firstTokenMs.constant === null
    this.#random = drawn ? new Random(script.answer.seed, LANE.delays) : null
  }

  gap(): number {
    const { gapMs } = this.#behaviour
    return gapMs.constant ?? gapMs.draw(this.#random!)
  }

  /** Of so many gaps together. */
  gaps(count: number): number {
    const { constant } = this.#behaviour.gapMs
    if (constant !== null) return constant * count
    let sum = 0
    for (let i = 0; i < count; i++) sum += this.gap()
    return sum
  }

  /** Time to the first step. Reasoning that is not told takes its time nevertheless. */
  first({ script, course }: Part): number {
    const { firstTokenMs } = this.#behaviour
    const drawn = firstTokenMs.constant ?? firstTokenMs.draw(this.#random!)
    const { thoughts, tellsThoughts } = script.answer
    return (course.firstTokenMs ?? drawn) + (tellsThoughts ? 0 : this.gaps(thoughts))
  }
}
