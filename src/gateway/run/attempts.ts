/**
 * The attempts of one inference in their order: which endpoint is asked next, and what its health learns of it.
 *
 * Exactly one layer retries, and it is this one. Another attempt is made only as long as nothing of an answer has
 * been handed to the caller. What a provider may bill for the one before is told with it.
 */

import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { type CallPermit, REFUSED } from '../health/health-registry.js'
import type { CallHandle, ProviderFailure } from '../providers/port/provider.js'
import { brokenAnswerFailure, defectFailure, noHealthyEndpoint } from './attempt-failures.js'
import type { Attempt, Generation, LostAttempt, LostCost } from './generation.js'
import { PlanWalk } from './plan-walk.js'
import type { AttemptPorts, AttemptSender } from './ports.js'
import { createProviderCall } from './provider-call.js'
import { changesNothing, isContextTooLong, isRescuable } from './rescue.js'

/** An attempt that is under way, or serves. */
interface RunningAttempt {
  readonly endpoint: ModelEndpoint
  /** The breaker's; refused once it has been brought back. */
  permit: CallPermit
  /** `performance.now()` */
  readonly startedAt: number
  /** Others of this inference began before it. */
  readonly isLater: boolean
  call: CallHandle | null
}

/** One that was asked beside a late one. */
interface BesideAttempt extends RunningAttempt {
  readonly droppedFields: string[]
}

export class Attempts<R extends RoutedRequest> {
  readonly #generation: Generation<R>
  readonly #ports: AttemptPorts
  readonly #sender: AttemptSender<R>
  readonly #walk: PlanWalk
  #retries = 0
  #cancelPause: (() => void) | null = null
  /** The latest. */
  #running: RunningAttempt
  #beside: BesideAttempt | null = null
  /** Another endpoint may be asked beside a late one. */
  #mayHedge = false
  #cancelWatch: (() => void) | null = null

  constructor(generation: Generation<R>, ports: AttemptPorts, sender: AttemptSender<R>) {
    this.#generation = generation
    this.#ports = ports
    this.#sender = sender
    this.#walk = new PlanWalk(generation, ports.health)
    const endpoint = generation.plan.endpoints[0]!
    this.#running = { endpoint, permit: REFUSED, startedAt: 0, isLater: false, call: null }
  }

  /** Of the latest attempt. */
  get endpoint(): ModelEndpoint {
    return this.#running.endpoint
  }

  pause(): void {
    this.#running.call?.pause()
    this.#beside?.call?.pause()
  }

  resume(): void {
    this.#running.call?.resume()
    this.#beside?.call?.resume()
  }

  /** When the endpoint of the latest recorded attempt was asked: one may begin with a fetch of what it sends along. */
  get askedAt(): number {
    const { startedAt, waits } = this.#generation.attempts.at(-1)!
    return startedAt + (waits?.preparedMs ?? 0)
  }

  /** When the latest recorded attempt was over, or began to answer. */
  get endedAt(): number {
    return this.#generation.attempts.at(-1)!.endedAt
  }

  /** Makes the first attempt. */
  start(): void {
    this.#ports.retries.recordCall(this.#generation.caller.organizationId)
    this.#mayHedge = this.#ports.hedging.begin(this.#generation)
    this.#generation.isHedgeIdle = !this.#mayHedge && this.#generation.request.provider?.hedge === true
    if (this.#tryNext()) return
    const failure = noHealthyEndpoint(this.#generation, this.#ports.health)
    setImmediate(() => this.#sender.giveUp(failure))
  }

  /** Sends the call to the next endpoint that takes one; false when none does. */
  #tryNext(): boolean {
    const place = this.#walk.next()
    if (place === null) return false
    const { endpoint } = place
    const attempt = this.#begin(place, this.#generation.attempts.length > 0)
    this.#running = attempt
    this.#generation.attemptedAt = attempt.startedAt
    try {
      const call = createProviderCall(this.#generation, endpoint, this.#ports.deadlineMs, this.#isRepeatable)
      attempt.call = this.#sender.send(call, endpoint)
      if (this.#mayHedge) this.#watch(attempt)
    } catch (cause) {
      // A defect of ours must not leave the caller waiting for the deadline.
      setImmediate(() => this.#sender.onFailure(defectFailure(cause)))
    }
    return true
  }

  #begin(
    { endpoint, permit }: Pick<RunningAttempt, 'endpoint' | 'permit'>,
    isLater: boolean,
  ): RunningAttempt {
    return { endpoint, permit, startedAt: performance.now(), isLater, call: null }
  }

  // ── A second one beside a late one ───────────────────────────────────────────

  #watch(attempt: RunningAttempt): void {
    const { health, clock } = this.#ports
    if (!this.#walk.hasBeside(attempt.endpoint)) return
    const lateMs = health.lateAfterMs(attempt.endpoint, this.#sender.isWhole)
    if (lateMs === null) return
    // What has arrived already is read before another one is asked.
    this.#cancelWatch = clock.runAfter(lateMs, () => setImmediate(() => this.#askBeside(attempt)))
  }

  #endWatch(): void {
    this.#cancelWatch?.()
    this.#cancelWatch = null
  }

  #askBeside(late: RunningAttempt): void {
    const generation = this.#generation
    const { hedging, deadlineMs } = this.#ports
    const isLate = late === this.#running && generation.served === null && !this.#sender.isOver
    if (!isLate || late.permit === REFUSED) return
    const { organizationId } = generation.caller
    if (!hedging.hasRoom(organizationId)) return
    const place = this.#walk.nextBeside(late.endpoint)
    if (place === null) return
    hedging.spend(organizationId)
    this.#mayHedge = false
    const { endpoint } = place
    const beside: BesideAttempt = { ...this.#begin(place, true), droppedFields: [] }
    this.#beside = beside
    try {
      const call = createProviderCall(generation, endpoint, deadlineMs, true, beside.droppedFields)
      beside.call = this.#sender.sendBeside(call, endpoint)
    } catch (cause) {
      setImmediate(() => this.#sender.onBesideFailure(defectFailure(cause)))
    }
  }

  /** The one beside answers first, and the late one is dropped. `lost`: what that may cost. */
  overtake(lost: LostCost | null): void {
    const late = this.#running
    this.#ports.health.recordOvertaken(
      late.endpoint,
      this.#sender.isWhole,
      performance.now() - late.startedAt,
    )
    this.#drop(late, 'overtaken', lost)
    this.#goOnBeside()
  }

  /** The one beside has failed; the late one is waited for. */
  failBeside(failure: ProviderFailure, lost: LostCost | null): void {
    const beside = this.#beside!
    this.#beside = null
    this.#record(beside, failure.status, failure.fault.kind, lost)
    this.#recordUnanswered(beside, failure)
  }

  #goOnBeside(): void {
    const beside = this.#beside!
    this.#beside = null
    this.#running = beside
    this.#generation.droppedFields = beside.droppedFields
    this.#generation.attemptedAt = beside.startedAt
  }

  #dropBeside(error: string): void {
    const beside = this.#beside
    if (beside === null) return
    this.#beside = null
    this.#drop(beside, error, this.#sender.lostBeside())
  }

  #drop(attempt: RunningAttempt, error: string, lost: LostCost | null): void {
    this.#record(attempt, 0, error, attempt.call?.waits?.() ? lost : null)
    this.#ports.health.recordAbort(attempt.endpoint, attempt.permit, false)
    attempt.permit = REFUSED
    attempt.call?.cancel()
  }

  // ── What comes of them ───────────────────────────────────────────────────────

  /** After a failed attempt that has answered nothing: tries again, here or elsewhere, or gives up. */
  continueAfter(failure: ProviderFailure, lost: LostCost | null): void {
    const failed = this.#running
    this.#endWatch()
    this.#record(failed, failure.status, failure.fault.kind, lost)
    this.#recordUnanswered(failed, failure)
    failed.permit = REFUSED
    failed.call = null
    if (this.#isRescuable(failure) && performance.now() < this.#deadlineAt) {
      if (isContextTooLong(failure.fault)) this.#walk.excludeSmall(failed.endpoint)
      if (this.#beside !== null) {
        this.#goOnBeside()
        this.#sender.onOnlyBeside()
        return
      }
      if (this.#tryNext() || this.#tryAllLater(failure)) return
    }
    this.#dropBeside('aborted')
    this.#sender.giveUp(failure)
  }

  /** That those before it have used up the time of the call is not the fault of the endpoint that was asked last. */
  #recordUnanswered({ endpoint, permit, isLater }: RunningAttempt, failure: ProviderFailure): void {
    const { health } = this.#ports
    const now = performance.now()
    const isCutShort = isLater && failure.fault.kind === 'provider-timeout' && now >= this.#deadlineAt
    if (isCutShort) health.recordAbort(endpoint, permit, false)
    else health.recordFailure(endpoint, permit, failure, now - this.askedAt)
  }

  /** All endpoints have been tried: from the first on once more, after a pause. */
  #tryAllLater(failure: ProviderFailure): boolean {
    const { retries, clock } = this.#ports
    const pause = retries.pauseAfter(failure, this.#retries, this.#generation.caller.organizationId)
    if (pause === null || performance.now() + pause >= this.#deadlineAt) return false
    this.#retries++
    this.#cancelPause = clock.runAfter(pause, () => {
      this.#cancelPause = null
      this.#walk.restart()
      if (!this.#sender.isOver && !this.#tryNext()) this.#sender.giveUp(failure)
    })
    return true
  }

  #isRescuable(failure: ProviderFailure): boolean {
    const { retries } = this.#ports
    const onOwnAccount = this.endpoint.own !== undefined
    return isRescuable(failure, retries.rescue, changesNothing(this.#generation.request), onOwnAccount)
  }

  /** Whether the call may be made again where a provider may have worked on it. */
  get #isRepeatable(): boolean {
    return this.#ports.retries.rescue === 'unanswered' && changesNothing(this.#generation.request)
  }

  get #deadlineAt(): number {
    return this.#generation.startedAt + this.#ports.deadlineMs
  }

  /**
   * Ends what is under way; an attempt counts as one although it has no status. `lost`: what one may cost that has been
   * sent and has answered nothing.
   */
  abort(lost: LostCost | null): void {
    this.#cancelPause?.()
    this.#endWatch()
    this.#dropBeside('aborted')
    const running = this.#running
    if (running.permit === REFUSED) running.call?.cancel()
    else if (this.#generation.served === null) this.#drop(running, 'aborted', lost)
    else {
      this.markEnd()
      this.#ports.health.recordAbort(running.endpoint, running.permit, true)
      running.permit = REFUSED
      running.call?.cancel()
    }
  }

  /** The endpoint under way answers; one that was asked beside it is too late. */
  markServing(): void {
    const { health, hedging } = this.#ports
    const running = this.#running
    this.#endWatch()
    this.#dropBeside('overtaken')
    this.#generation.served = running.endpoint
    this.#record(running, 200)
    const ms = this.endedAt - this.askedAt
    health.recordAnswer(running.endpoint, running.permit, ms)
    if (hedging.isOn) health.recordTimeToAnswer(running.endpoint, this.#sender.isWhole, ms)
  }

  /** What answers has come to its end. */
  markEnd(): void {
    this.#generation.attempts.at(-1)!.endedAt = performance.now()
  }

  /** The answer is complete. `tokens` of it came within `ms`; 0 where that says nothing of the endpoint. */
  complete(tokens: number, ms: number): void {
    // A whole answer that broke off after some words is told as it is; its endpoint has failed all the same.
    if (this.#generation.finish?.reason === 'error') {
      this.failMidAnswer(brokenAnswerFailure(this.endpoint))
      return
    }
    this.#ports.health.recordEnd(this.endpoint, this.#running.permit, tokens, ms)
    this.#running.permit = REFUSED
  }

  /** The answer breaks off. That our own time for it is up is not its endpoint's fault: it was answering. */
  failMidAnswer(failure: ProviderFailure): void {
    const { health } = this.#ports
    const { endpoint, permit } = this.#running
    const isOurs = failure.fault.kind === 'provider-timeout' && performance.now() >= this.#deadlineAt
    if (isOurs) health.recordAbort(endpoint, permit, true)
    else health.recordFailure(endpoint, permit, failure)
    this.#running.permit = REFUSED
    this.markEnd()
    this.#generation.markBroken(failure.status, failure.fault.kind)
  }

  /** An attempt is over, or has begun to answer. */
  #record(
    { endpoint, startedAt, call }: RunningAttempt,
    status: number,
    error?: string,
    lost: LostCost | null = null,
  ): void {
    const waits = call?.waits?.() ?? null
    const attempt: Attempt = { endpoint, status, startedAt, endedAt: performance.now(), waits, lost }
    if (error !== undefined) attempt.error = error
    this.#generation.attempts.push(attempt)
    if (lost !== null) this.#sender.onLost(attempt as LostAttempt)
  }
}
