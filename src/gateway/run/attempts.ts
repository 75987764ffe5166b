/**
 * The attempts of one inference in their order: which endpoint is asked next, and what its health learns of it.
 *
 * Exactly one layer retries, and it is this one. Another attempt is made only as long as nothing of an answer has
 * been handed to the caller. What a provider may bill for the one before is told with it.
 */

import { hash } from 'node:crypto'
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { type CallPermit, type HealthRegistry, REFUSED } from '../health/health-registry.js'
import type {
  CallHandle,
  FailureReceiver,
  ProviderCall,
  ProviderFailure,
} from '../providers/port/provider.js'
import { fitRequest } from '../routing/parameters.js'
import { serviceTierFor } from '../routing/plan.js'
import type { Attempt, Generation, LostAttempt, LostCost } from './generation.js'
import { changesNothing, isContextTooLong, isRescuable, type RetryBudget } from './rescue.js'

export interface AttemptPorts {
  readonly clock: Clock
  /** Total time of an inference in milliseconds. */
  readonly deadlineMs: number
  readonly health: HealthRegistry
  readonly retries: RetryBudget
}

/** Sends the attempts of one inference and takes what comes of them. */
export interface AttemptSender<R extends RoutedRequest> extends FailureReceiver {
  readonly isOver: boolean
  send(call: ProviderCall<R>, endpoint: ModelEndpoint): CallHandle
  /** Told of an attempt that has answered nothing and may cost something upstream. */
  onLost(attempt: LostAttempt): void
  /** There will be no further attempt, and nothing has been answered. */
  giveUp(failure: ProviderFailure): void
}

export class Attempts<R extends RoutedRequest> {
  readonly #generation: Generation<R>
  readonly #ports: AttemptPorts
  readonly #sender: AttemptSender<R>
  #nextIndex = 0
  #retries = 0
  /** Endpoints whose context was too short for the prompt. */
  #tooSmall: ModelEndpoint[] | null = null
  /** The breaker's permit of the attempt under way. */
  #permit: CallPermit = REFUSED
  #cancelPause: (() => void) | null = null
  #endpoint: ModelEndpoint
  #call: CallHandle | null = null

  constructor(generation: Generation<R>, ports: AttemptPorts, sender: AttemptSender<R>) {
    this.#generation = generation
    this.#ports = ports
    this.#sender = sender
    this.#endpoint = generation.plan.endpoints[0]!
  }

  /** Of the latest attempt. */
  get endpoint(): ModelEndpoint {
    return this.#endpoint
  }

  /** The call of the provider that is under way. */
  get call(): CallHandle | null {
    return this.#call
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
    if (this.#tryNext()) return
    const failure = noHealthyEndpoint(this.#generation, this.#ports.health)
    setImmediate(() => this.#sender.giveUp(failure))
  }

  /** Sends the call to the next endpoint that takes one; false when none does. */
  #tryNext(): boolean {
    const endpoint = this.#chooseEndpoint()
    if (endpoint === null) return false
    this.#endpoint = endpoint
    this.#generation.attemptedAt = performance.now()
    try {
      const call = createProviderCall(this.#generation, endpoint, this.#ports.deadlineMs, this.#isRepeatable)
      this.#call = this.#sender.send(call, endpoint)
    } catch (cause) {
      // A defect of ours must not leave the caller waiting for the deadline.
      const fault = new Fault('internal', { cause })
      setImmediate(() => this.#sender.onFailure({ fault, class: 'not-sent', status: 0 }))
    }
    return true
  }

  #chooseEndpoint(): ModelEndpoint | null {
    const { endpoints } = this.#generation.plan
    while (this.#nextIndex < endpoints.length) {
      const endpoint = endpoints[this.#nextIndex++]!
      if (this.#tooSmall?.every((short) => hasLargerContext(endpoint, short)) === false) continue
      this.#permit = this.#ports.health.tryAcquire(endpoint, this.#generation.caller.organizationId)
      if (this.#permit !== REFUSED) return endpoint
    }
    return null
  }

  /** After a failed attempt that has answered nothing: tries again, here or elsewhere, or gives up. */
  continueAfter(failure: ProviderFailure, lost: LostCost | null): void {
    this.#record(failure.status, failure.fault.kind, lost)
    this.#recordUnanswered(failure)
    this.#permit = REFUSED
    this.#call = null
    if (this.#isRescuable(failure) && performance.now() < this.#deadlineAt) {
      if (isContextTooLong(failure.fault)) this.#tooSmall = [...(this.#tooSmall ?? []), this.#endpoint]
      if (this.#tryNext() || this.#tryAllLater(failure)) return
    }
    this.#sender.giveUp(failure)
  }

  /** That those before it have used up the time of the call is not the fault of the endpoint that was asked last. */
  #recordUnanswered(failure: ProviderFailure): void {
    const { health } = this.#ports
    const { attempts } = this.#generation
    const now = performance.now()
    const isCutShort =
      attempts.length > 1 && failure.fault.kind === 'provider-timeout' && now >= this.#deadlineAt
    if (isCutShort) health.recordAbort(this.#endpoint, this.#permit, false)
    else health.recordFailure(this.#endpoint, this.#permit, failure, now - this.askedAt)
  }

  /** All endpoints have been tried: from the first on once more, after a pause. */
  #tryAllLater(failure: ProviderFailure): boolean {
    const { retries, clock } = this.#ports
    const pause = retries.pauseAfter(failure, this.#retries, this.#generation.caller.organizationId)
    if (pause === null || performance.now() + pause >= this.#deadlineAt) return false
    this.#retries++
    this.#cancelPause = clock.runAfter(pause, () => {
      this.#cancelPause = null
      this.#nextIndex = 0
      if (!this.#sender.isOver && !this.#tryNext()) this.#sender.giveUp(failure)
    })
    return true
  }

  #isRescuable(failure: ProviderFailure): boolean {
    const { retries } = this.#ports
    const onOwnAccount = this.#endpoint.own !== undefined
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
    if (this.#permit !== REFUSED) {
      const answering = this.#generation.served !== null
      if (answering) this.markEnd()
      else this.#record(0, 'aborted', this.#call?.waits?.() ? lost : null)
      this.#ports.health.recordAbort(this.#endpoint, this.#permit, answering)
      this.#permit = REFUSED
    }
    this.#call?.cancel()
  }

  /** The endpoint under way answers. */
  markServing(): void {
    const generation = this.#generation
    generation.served = this.#endpoint
    this.#record(200)
    this.#ports.health.recordAnswer(this.#endpoint, this.#permit, this.endedAt - this.askedAt)
  }

  /** What answers has come to its end. */
  markEnd(): void {
    this.#generation.attempts.at(-1)!.endedAt = performance.now()
  }

  /** The answer is complete. `tokens` of it came within `ms`; 0 where that says nothing of the endpoint. */
  complete(tokens: number, ms: number): void {
    // A whole answer that broke off after some words is told as it is; its endpoint has failed all the same.
    if (this.#generation.finish?.reason === 'error') {
      this.failMidAnswer(brokenAnswerFailure(this.#endpoint))
      return
    }
    this.#ports.health.recordEnd(this.#endpoint, this.#permit, tokens, ms)
    this.#permit = REFUSED
  }

  /** The answer breaks off. That our own time for it is up is not its endpoint's fault: it was answering. */
  failMidAnswer(failure: ProviderFailure): void {
    const { health } = this.#ports
    const isOurs = failure.fault.kind === 'provider-timeout' && performance.now() >= this.#deadlineAt
    if (isOurs) health.recordAbort(this.#endpoint, this.#permit, true)
    else health.recordFailure(this.#endpoint, this.#permit, failure)
    this.#permit = REFUSED
    this.markEnd()
    this.#generation.markBroken(failure.status, failure.fault.kind)
  }

  /** The attempt under way is over, or has begun to answer. */
  #record(status: number, error?: string, lost: LostCost | null = null): void {
    const { attempts, attemptedAt: startedAt } = this.#generation
    const waits = this.#call?.waits?.() ?? null
    const endedAt = performance.now()
    const attempt: Attempt = { endpoint: this.#endpoint, status, startedAt, endedAt, waits, lost }
    if (error !== undefined) attempt.error = error
    attempts.push(attempt)
    if (lost !== null) this.#sender.onLost(attempt as LostAttempt)
  }
}

/**
 * Whether an endpoint may take a prompt that was too long for another one. One that does not say how much it takes
 * is no hope, and where the other one did not say either, only another model is.
 */
function hasLargerContext(endpoint: ModelEndpoint, short: ModelEndpoint): boolean {
  const least = contextLengthOf(short)
  return least === 0 ? endpoint.model !== short.model : contextLengthOf(endpoint) > least
}

function contextLengthOf(endpoint: ModelEndpoint): number {
  return endpoint.contextLength ?? endpoint.model.contextLength ?? 0
}

/** No endpoint has been asked, because every breaker is open. */
function noHealthyEndpoint(of: Generation<RoutedRequest>, health: HealthRegistry): ProviderFailure {
  const now = health.now()
  const { endpoints, requested } = of.plan
  const waits = endpoints.map((endpoint) => health.of(endpoint).waitMs(now, of.caller.organizationId))
  const fault = new Fault('unavailable', {
    note: `No endpoint of ${requested} is healthy at the moment`,
    metadata: { error_type: 'provider_unavailable' },
    retryAfter: Math.max(1, Math.ceil(Math.min(...waits) / 1000)),
    detail: 'every breaker is open',
  })
  return { fault, class: 'not-sent', status: 0 }
}

/** A provider that ends properly without a single event has answered nothing. */
export function emptyAnswerFailure({ provider }: ModelEndpoint): ProviderFailure {
  const metadata = { error_type: 'provider_unavailable', provider_name: provider.name } as const
  return {
    fault: new Fault('provider-failed', { metadata, detail: 'the stream ended without an event' }),
    class: 'maybe-processed',
    status: 200,
  }
}

function brokenAnswerFailure({ provider }: ModelEndpoint): ProviderFailure {
  const metadata = { error_type: 'provider_unavailable', provider_name: provider.name } as const
  const fault = new Fault('provider-failed', { metadata, detail: 'a whole answer that broke off' })
  return { fault, class: 'maybe-processed', status: 200 }
}

// ── What a provider is told ────────────────────────────────────────────────────

/** The call of one endpoint; `deadlineMs` is the total time of the inference. */
export function createProviderCall<R extends RoutedRequest>(
  { request, operation, caller, id, simulate, startedAt, droppedFields }: Generation<R>,
  endpoint: ModelEndpoint,
  deadlineMs: number,
  repeatable: boolean,
): ProviderCall<R> {
  // What an earlier attempt has left out says nothing of this one.
  droppedFields.length = 0
  return {
    request: fitRequest(request, operation, endpoint, droppedFields),
    endpoint,
    generationId: id,
    caller,
    endUser: endUserPseudonym(caller, request.user, request.account),
    serviceTier: serviceTierFor(request.service_tier, endpoint),
    simulate,
    deadlineAt: startedAt + deadlineMs,
    repeatable,
    droppedFields,
  }
}

const PREFIX = 'user-'
const HEX_CHARS = 40

/** Principals live as long as their key's record stays the same. */
const accounts = new WeakMap<Principal, string>()

/**
 * A stable pseudonym of the end user within the organization, or of the account when the caller named nobody.
 * The organization's id, which holds 74 random bits, keeps others from guessing names; two organizations with
 * the same user get different pseudonyms. `of`: whatever else the caller named the user by.
 */
export function endUserPseudonym(caller: Principal, user: string | undefined, of?: string): string {
  if (of !== undefined) return hashPseudonym(`user\n${caller.organizationId}\n${user ?? ''}\n${of}`)
  if (user !== undefined && user !== '') return hashPseudonym(`user\n${caller.organizationId}\n${user}`)
  let account = accounts.get(caller)
  if (account === undefined) {
    account = hashPseudonym(`account\n${caller.organizationId}\n${caller.workspaceId ?? ''}`)
    accounts.set(caller, account)
  }
  return account
}

function hashPseudonym(text: string): string {
  return PREFIX + hash('sha256', text, 'hex').slice(0, HEX_CHARS)
}
