import { Fault, type FaultKind, type GatewayErrorType } from '../base/fault.js'
import type { FailureClass, ProviderFailure } from '../gateway/providers/port/provider.js'

/** How a kind of failure looks to the gateway: exactly as a provider of kind openai tells the same mishap. */
interface FailureTemplate {
  readonly kind: FaultKind
  readonly errorType: GatewayErrorType
  readonly class: FailureClass
  /** Status the provider answered with; 0 when it did not. */
  readonly status: number
  readonly code: string
  readonly note?: string
  /** For the log. */
  readonly detail: string
}

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
  refused: brokenConnection('not-sent', 0, 'refused', 'connection refused'),
  reset: brokenConnection('maybe-processed', 0, 'reset', 'connection reset before the head of the answer'),
  cut: brokenConnection('maybe-processed', 200, 'reset', 'connection cut inside the answer'),
  malformed: brokenConnection('maybe-processed', 200, '200', 'an event of the answer is no JSON'),
  'no-terminator': brokenConnection('maybe-processed', 200, '200', 'the answer ended without its terminator'),
  silence: timedOut(0, 'no answer within the limit'),
  stall: timedOut(200, 'the answer stopped and did not go on within the limit'),
  deadline: timedOut(0, 'the deadline of the call passed'),
} as const satisfies Record<string, FailureTemplate>

export type SimulatedFailureName = keyof typeof FAILURES

function answeredWithStatus(kind: FaultKind, errorType: GatewayErrorType, status: number): FailureTemplate {
  return { kind, errorType, class: 'refused', status, code: String(status), detail: `answered ${status}` }
}

function brokenConnection(
  failureClass: FailureClass,
  status: number,
  code: string,
  detail: string,
): FailureTemplate {
  return {
    kind: 'provider-failed',
    errorType: 'provider_unavailable',
    class: failureClass,
    status,
    code,
    detail,
  }
}

function timedOut(status: number, detail: string): FailureTemplate {
  const failureClass = 'maybe-processed'
  return {
    kind: 'provider-timeout',
    errorType: 'timeout',
    class: failureClass,
    status,
    code: 'timeout',
    detail,
  }
}

/** `retryAfter` in seconds; only a rate limit carries one, and not every rate limit does. */
export function createProviderFailure(
  name: SimulatedFailureName,
  providerName: string,
  retryAfter?: number,
): ProviderFailure {
  const row: FailureTemplate = FAILURES[name]
  const fault = new Fault(row.kind, {
    metadata: { error_type: row.errorType, provider_code: row.code, provider_name: providerName },
    detail: `${providerName}: ${row.detail}`,
    ...(row.note !== undefined && { note: row.note }),
    ...(retryAfter !== undefined && { retryAfter }),
  })
  return { fault, class: row.class, status: row.status }
}

/** A request that this provider cannot carry out; the note says what and why, and is public. */
export function rejectRequest(note: string, providerName: string): ProviderFailure {
  const metadata = { error_type: 'invalid_request', provider_name: providerName } as const
  return { fault: new Fault('bad-request', { note, metadata }), class: 'refused', status: 400 }
}
