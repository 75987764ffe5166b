/** What goes wrong with a simulated call, when, and how it looks to the gateway: exactly as from a real provider. */
import { Fault, type FaultKind, type GatewayErrorType } from '../base/fault.js'
import { refusedCall } from '../gateway/providers/port/failure.js'
import type { FailureClass, ProviderFailure } from '../gateway/providers/port/provider.js'
import { TapeDefect } from '../tape/tape.js'
import type { SimulatedFault } from './behaviour.js'
import type { RandomSeed } from './random.js'

/** The failure that ends a call, and when. */
export interface FaultPoint {
  /** Steps that still go out. With infinitely many it comes in the place of the end. */
  readonly afterSteps: number
  /** Silence before the failure in milliseconds; null for none beyond the wait for the next step. */
  readonly waitMs: number | null
  readonly failure: ProviderFailure
}

/** What a fault makes of one call: how it fails, if it does, and when its first token comes, if not as usual. */
export interface FaultSchedule {
  readonly fault: FaultPoint | null
  readonly firstTokenMs: number | null
}

const NO_FAULT: FaultSchedule = { fault: null, firstTokenMs: null }

/**
 * The course of one call under a fault. `calls` counts the calls of the endpoint in this worker, from 0; only a
 * flap looks at it. Everything else depends on the request alone: `seed` is that of its answer, null for an operation
 * without one, which is overloaded whatever the share.
 */
export function scheduleFault(
  fault: SimulatedFault | null,
  seed: RandomSeed | null,
  calls: number,
  providerName: string,
): FaultSchedule {
  if (fault === null) return NO_FAULT
  const scheduleFailure = (
    name: SimulatedFailureName,
    afterSteps = 0,
    waitMs: number | null = 0,
    retryAfter?: number,
  ): FaultSchedule => {
    const failure = simulatedFailure(name, providerName, retryAfter)
    return { fault: { afterSteps, waitMs, failure }, firstTokenMs: null }
  }
  switch (fault.kind) {
    case 'rate-limited':
      return scheduleFailure('rate-limited', 0, 0, fault.retry_after)
    case 'error':
    case 'refused':
    case 'reset':
    case 'context-length':
      return scheduleFailure(fault.kind)
    case 'flap':
      return calls % 2 === 0 ? scheduleFailure('unavailable') : NO_FAULT
    case 'overloaded':
      return isOverloaded(seed, fault.share) ? scheduleFailure(overloadFailureName(seed)) : NO_FAULT
    case 'silence':
      return scheduleFailure('silence', 0, fault.limit_ms)
    case 'slow-first-token': {
      const { delay_ms: delay, limit_ms: limit } = fault
      return limit !== undefined && delay >= limit
        ? scheduleFailure('silence', 0, limit)
        : { fault: null, firstTokenMs: delay }
    }
    case 'cut':
    case 'malformed':
      return scheduleFailure(fault.kind, fault.after, null)
    case 'stall':
      return scheduleFailure('stall', fault.after, fault.limit_ms)
    case 'no-terminator':
      return scheduleFailure('no-terminator', Number.POSITIVE_INFINITY, null)
    case 'content-filter':
      return NO_FAULT
  }
}

/** The same request is always on the same side of the share. */
function isOverloaded(seed: RandomSeed | null, share: number): boolean {
  return seed === null || (seed.low >>> 0) / 2 ** 32 < share
}

function overloadFailureName(seed: RandomSeed | null): SimulatedFailureName {
  return seed !== null && (seed.high & 1) === 0 ? 'unavailable' : 'overloaded'
}

/** How a failure looks to the gateway: as a provider of kind openai tells the same one. */
interface FailureTemplate {
  readonly kind: FaultKind
  readonly errorType: GatewayErrorType
  readonly class: FailureClass
  /** Status the provider answered with; 0 when it did not. */
  readonly status: number
  readonly code: string
  /** For the log. */
  readonly detail: string
  readonly note?: string
}

function answeredWithStatus(kind: FaultKind, errorType: GatewayErrorType, status: number): FailureTemplate {
  return { kind, errorType, class: 'refused', status, code: String(status), detail: `answered ${status}` }
}

const BROKEN = {
  kind: 'provider-failed',
  errorType: 'provider_unavailable',
  class: 'maybe-processed',
  status: 200,
  code: '200',
} as const

const TIMED_OUT = {
  kind: 'provider-timeout',
  errorType: 'timeout',
  class: 'maybe-processed',
  status: 0,
  code: 'timeout',
} as const

const FAILURES = {
  'rate-limited': answeredWithStatus('rate-limited', 'rate_limit_exceeded', 429),
  error: answeredWithStatus('provider-failed', 'provider_unavailable', 500),
  unavailable: answeredWithStatus('unavailable', 'provider_overloaded', 503),
  overloaded: answeredWithStatus('provider-overloaded', 'provider_overloaded', 529),
  'context-length': {
    ...answeredWithStatus('bad-request', 'context_length_exceeded', 400),
    code: 'context_length_exceeded',
    note: 'The request exceeds the context length of the model',
  },
  refused: { ...BROKEN, class: 'not-sent', status: 0, code: 'refused', detail: 'connection refused' },
  reset: { ...BROKEN, status: 0, code: 'reset', detail: 'connection reset before the head of the answer' },
  cut: { ...BROKEN, code: 'reset', detail: 'connection cut inside the answer' },
  malformed: { ...BROKEN, detail: 'an event of the answer is no JSON' },
  'no-terminator': { ...BROKEN, detail: 'the answer ended without its terminator' },
  silence: { ...TIMED_OUT, detail: 'no answer within the limit' },
  stall: { ...TIMED_OUT, status: 200, detail: 'the answer stopped and did not go on within the limit' },
  deadline: { ...TIMED_OUT, detail: 'the deadline of the call passed' },
} as const satisfies Record<string, FailureTemplate>

type SimulatedFailureName = keyof typeof FAILURES

/** `retryAfter` in seconds; only a rate limit carries one, and not every rate limit does. */
export function simulatedFailure(
  name: SimulatedFailureName,
  providerName: string,
  retryAfter?: number,
): ProviderFailure {
  const template: FailureTemplate = FAILURES[name]
  const fault = new Fault(template.kind, {
    metadata: {
      error_type: template.errorType,
      provider_code: template.code,
      provider_name: providerName,
    },
    detail: `${providerName}: ${template.detail}`,
    ...(template.note !== undefined && { note: template.note }),
    ...(retryAfter !== undefined && { retryAfter }),
  })
  return { fault, class: template.class, status: template.status }
}

/** As a provider of kind openai tells a status that was recorded; 0 for one that was out of reach. */
export function recordedRefusal(status: number, providerName: string): ProviderFailure {
  if (status === 0) return simulatedFailure('refused', providerName)
  return refusedCall(status, {}, '', { name: providerName, secrets: [] }, 0)
}

/** Thrown where a request asks for what a simulated model does not do. The message says what and why, and is public. */
export class UnsupportedRequest extends Error {}

/** Why a call cannot begin, of what was thrown while it was planned. A defect is thrown on. */
export function planningFailure(error: unknown, providerName: string): ProviderFailure {
  if (error instanceof Fault) return { fault: error, class: 'refused', status: 400 }
  if (error instanceof TapeDefect) return tapeFailure(error, providerName)
  const metadata = { error_type: 'invalid_request', provider_name: providerName } as const
  return {
    fault: new Fault('bad-request', { note: rejectionSentence(error), metadata }),
    class: 'refused',
    status: 400,
  }
}

/** The operator's to mend: why is told in the log, the caller learns that it was the provider. */
function tapeFailure(cause: TapeDefect, providerName: string): ProviderFailure {
  const metadata = { error_type: 'provider_unavailable', provider_name: providerName } as const
  const detail = `${providerName}: ${cause.message}`
  return { fault: new Fault('provider-failed', { metadata, detail, cause }), class: 'not-sent', status: 0 }
}

/** Schemas and tools come from callers; nested a hundred thousand deep they end the stack, not the worker. */
function rejectionSentence(error: unknown): string {
  if (error instanceof UnsupportedRequest) return error.message
  if (error instanceof RangeError) return 'The request is nested too deeply for this model.'
  throw error
}
