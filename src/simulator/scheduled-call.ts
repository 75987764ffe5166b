/**
 * Calls under way: an answer is handed over at its due times, streamed or whole, and fails where a fault is
 * scheduled.
 */
import type { ChatEvent, ChatRequest } from '../gateway/formats/canonical.js'
import type {
  CallHandle,
  CompletionReceiver,
  FailureReceiver,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../gateway/providers/port/provider.js'
import type { AnswerGenerator } from './answer/answer-generator.js'
import type { CompiledBehaviour } from './behaviour.js'
import { type FaultSchedule, simulatedFailure } from './faults.js'
import type { Creation } from './generated-file.js'
import { RANDOM_LANE, SeededRandom } from './random.js'
import type { TapedPace, TapedSteps } from './tape-deck.js'
import { TimerEntry, type TimerWheel } from './timer-wheel.js'

/** A call that is decided: what to say, at which times, and what goes wrong. */
export interface PreparedCall {
  readonly call: ProviderCall
  readonly generator: AnswerGenerator
  readonly faults: FaultSchedule
  readonly behaviour: CompiledBehaviour
  /** Of a recorded stream; null where times are drawn. */
  readonly pace: TapedPace | null
  /** What is to be made beside the words; null for models that only speak. */
  readonly create: Creation | null
}

/** A call that the wheel wakes. It is over once: ended, failed or cancelled. */
abstract class ScheduledCall extends TimerEntry implements CallHandle {
  protected readonly wheel: TimerWheel
  protected over = false

  constructor(wheel: TimerWheel) {
    super()
    this.wheel = wheel
  }

  pause(): void {}
  resume(): void {}

  cancel(): void {
    this.over = true
    this.wheel.cancel(this)
  }
}

/** A call that was decided against before it began; the receiver gets the failure in a later turn. */
export class RejectedCall extends ScheduledCall {
  readonly #failure: ProviderFailure
  readonly #receiver: FailureReceiver

  constructor(wheel: TimerWheel, failure: ProviderFailure, receiver: FailureReceiver) {
    super(wheel)
    this.#failure = failure
    this.#receiver = receiver
    wheel.schedule(this, 0)
  }

  onDue(): void {
    this.#receiver.onFailure(this.#failure)
  }
}

/** A whole answer, given at the time at which its stream would have ended. */
export class ScheduledCompletion extends ScheduledCall {
  readonly #prepared: PreparedCall
  readonly #receiver: CompletionReceiver
  readonly #endsAt: number

  constructor(wheel: TimerWheel, prepared: PreparedCall, receiver: CompletionReceiver) {
    super(wheel)
    this.#prepared = prepared
    this.#receiver = receiver
    const duration = durationOf(prepared)
    this.#endsAt = duration === 0 ? 0 : wheel.now() + duration
    wheel.schedule(this, Math.min(this.#endsAt, prepared.call.deadlineAt))
  }

  onDue(now: number): void {
    const { generator, faults, call } = this.#prepared
    if (now < this.#endsAt) this.#receiver.onFailure(deadlineFailure(call))
    else if (faults.fault !== null) this.#receiver.onFailure(faults.fault.failure)
    else this.#receiver.onEnd(generator.toCompletion())
  }
}

/** Events of one stream in one turn; then the others have theirs. */
const MAX_EVENTS_PER_TURN = 64

/**
 * A streamed answer. Each step has a due time of its own, the one before plus a gap: a late turn hands over
 * everything that is due by then, and lateness never adds up. A paused stream makes nothing and its times move on, that
 * by which it has to be over included.
 */
export class ScheduledStream extends ScheduledCall {
  readonly #prepared: PreparedCall
  readonly #receiver: StreamReceiver
  readonly #delays: StepDelays
  /** Due time of the next step, or of the failure. */
  #nextAt: number
  #deadlineAt: number
  #started = false
  #pausedAt: number | null = null
  /** While events are handed over, the receiver may pause, resume and cancel; the loop sees to the rest. */
  #emitting = false

  constructor(wheel: TimerWheel, prepared: PreparedCall, receiver: StreamReceiver) {
    super(wheel)
    this.#prepared = prepared
    this.#receiver = receiver
    this.#delays = new StepDelays(prepared)
    this.#deadlineAt = prepared.call.deadlineAt
    this.#nextAt = wheel.now() + (immediateFaultDelay(prepared) ?? this.#delays.firstDelay(prepared))
    this.#scheduleNext()
  }

  override pause(): void {
    if (this.over || this.#pausedAt !== null) return
    this.#pausedAt = this.wheel.now()
    this.wheel.cancel(this)
  }

  override resume(): void {
    if (this.over || this.#pausedAt === null) return
    const pausedMs = this.wheel.now() - this.#pausedAt
    this.#nextAt += pausedMs
    this.#deadlineAt += pausedMs
    this.#pausedAt = null
    if (!this.#emitting) this.#scheduleNext()
  }

  onDue(now: number): void {
    const { call } = this.#prepared
    this.#emitting = true
    if (!this.#started) this.#start()
    const emitted = this.#emitDueEvents(now)
    if (!this.over && now >= this.#deadlineAt) this.#fail(deadlineFailure(call))
    if (!this.over && emitted > 0) this.#receiver.onFlush()
    this.#emitting = false
    if (!this.over && this.#pausedAt === null) this.#scheduleNext()
  }

  #scheduleNext(): void {
    this.wheel.schedule(this, Math.min(this.#nextAt, this.#deadlineAt))
  }

  #start(): void {
    this.#started = true
    const { request, endpoint } = this.#prepared.call
    if (request.debug?.echo_upstream_body === true) {
      this.#receiver.onRequestSent?.(upstreamBody(request, endpoint.upstreamModel))
    }
  }

  /** The number of steps handed over. */
  #emitDueEvents(now: number): number {
    let emitted = 0
    while (emitted < MAX_EVENTS_PER_TURN && this.#nextAt <= now && !this.over && this.#pausedAt === null) {
      if (this.#isAtEnd()) {
        this.#endOrFail()
        break
      }
      this.#emitStep()
      emitted++
    }
    return emitted
  }

  /** Whether what comes now is the failure, or the end of an answer without a single step. */
  #isAtEnd(): boolean {
    const { generator, faults } = this.#prepared
    return generator.finished || (faults.fault !== null && generator.stepsDone >= faults.fault.afterSteps)
  }

  #emitStep(): void {
    const { faults } = this.#prepared
    const { event, gap } = this.#nextEvent()
    this.#receiver.onEvent(event)
    if (this.over) return
    if (!this.#isAtEnd()) this.#nextAt += gap
    else if (faults.fault === null) this.#endOrFail()
    // A failure without a wait of its own comes where the next step would.
    else this.#nextAt += faults.fault.waitMs ?? this.#delays.nextGap()
  }

  /** And the time to the one behind it. Recorded events may have several tokens. */
  #nextEvent(): { readonly event: ChatEvent; readonly gap: number } {
    const { generator } = this.#prepared
    let event = generator.nextEvent()
    while (!this.#isAtEnd()) {
      const gap = this.#delays.nextGap()
      if (!this.#delays.joinsText) return { event, gap }
      event = joinText(event, generator.nextEvent())
    }
    return { event, gap: 0 }
  }

  #endOrFail(): void {
    const { fault } = this.#prepared.faults
    if (fault === null || fault.afterSteps === Number.POSITIVE_INFINITY) this.#emitFinish()
    if (this.over) return
    if (fault !== null) {
      this.#fail(fault.failure)
      return
    }
    this.over = true
    this.#receiver.onEnd()
  }

  /** The finish and the figures. The receiver may cancel at any of them. */
  #emitFinish(): void {
    const { finishReason: reason, serviceTier, usage } = this.#prepared.generator.plan
    this.#receiver.onEvent({ type: 'finish', choice: 0, reason, native: reason })
    if (!this.over && serviceTier !== null) this.#receiver.onEvent({ type: 'tier', serviceTier })
    if (!this.over) this.#receiver.onEvent({ type: 'usage', usage })
  }

  #fail(failure: ProviderFailure): void {
    this.over = true
    this.#receiver.onFailure(failure)
  }
}

/** The times of one call's steps; streamed or not, the same ones. All in milliseconds. */
class StepDelays {
  readonly #behaviour: CompiledBehaviour
  readonly #random: SeededRandom | null
  readonly #taped: TapedSteps | null
  /** Of an answer that is words alone tokens can be joined. */
  readonly #isText: boolean

  constructor({ behaviour, generator, pace }: PreparedCall) {
    const { toolCalls, topLogprobs, reasoningTokens } = generator.plan
    this.#taped = pace?.steps() ?? null
    this.#isText = toolCalls.length + reasoningTokens === 0 && topLogprobs === null
    this.#behaviour = behaviour
    const isDrawn = behaviour.gapMs.constant === null || behaviour.firstTokenMs.constant === null
    this.#random = isDrawn ? new SeededRandom(generator.plan.seed, RANDOM_LANE.delays) : null
  }

  /** The token that comes next belongs to the event before it. */
  get joinsText(): boolean {
    return this.#isText && this.#taped?.joins === true
  }

  nextGap(): number {
    if (this.#taped !== null) return this.#taped.nextGap()
    const { gapMs } = this.#behaviour
    return gapMs.constant ?? gapMs.draw(this.#random!)
  }

  /** Of so many gaps together. */
  sumOfGaps(count: number): number {
    const { constant } = this.#behaviour.gapMs
    if (constant !== null && this.#taped === null) return constant * count
    let sum = 0
    for (let i = 0; i < count; i++) sum += this.nextGap()
    return sum
  }

  /** Time to the first step. Reasoning that is not shown takes its time nevertheless. */
  firstDelay({ generator, faults, pace }: PreparedCall): number {
    const { firstTokenMs } = this.#behaviour
    const drawn = pace?.firstMs ?? firstTokenMs.constant ?? firstTokenMs.draw(this.#random!)
    const { reasoningTokens, showsReasoning } = generator.plan
    return (faults.firstTokenMs ?? drawn) + (showsReasoning ? 0 : this.sumOfGaps(reasoningTokens))
  }
}

function joinText(event: ChatEvent, next: ChatEvent): ChatEvent {
  if (event.type !== 'delta' || next.type !== 'delta') return event
  const content = `${event.delta.content ?? ''}${next.delta.content ?? ''}`
  return { ...event, delta: { ...event.delta, content } }
}

/** Time to a failure that comes before the first step; null when there is none. */
function immediateFaultDelay({ faults: { fault } }: PreparedCall): number | null {
  return fault !== null && fault.afterSteps === 0 ? fault.waitMs : null
}

/** Time to the last step, or to the failure, in milliseconds. */
function durationOf(prepared: PreparedCall): number {
  const immediate = immediateFaultDelay(prepared)
  if (immediate !== null) return immediate
  const { fault } = prepared.faults
  const { stepCount } = prepared.generator
  const delays = new StepDelays(prepared)
  const first = delays.firstDelay(prepared)
  const steps = fault === null ? stepCount : Math.min(stepCount, fault.afterSteps)
  return first + delays.sumOfGaps(Math.max(0, steps - 1)) + (fault?.waitMs ?? 0)
}

function deadlineFailure({ endpoint }: ProviderCall): ProviderFailure {
  return simulatedFailure('deadline', endpoint.provider.name)
}

/** What a real provider of this wire format would be sent: the request without what is meant for the gateway. */
function upstreamBody(request: ChatRequest, upstreamModel: string): unknown {
  const { models, provider, route, plugins, session_id, user, metadata, trace, debug, ...rest } = request
  return { ...rest, model: upstreamModel }
}
