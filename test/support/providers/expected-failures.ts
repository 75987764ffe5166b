/** How the failures of a provider are to be seen by a caller, whatever format it speaks. */
import type { Test } from 'tap'
import type { FaultKind, GatewayErrorType } from '../../../src/base/fault.js'
import type { FailureClass, ProviderFailure } from '../../../src/gateway/providers/port/provider.js'

export interface ExpectedFailure {
  readonly kind: FaultKind
  readonly type: GatewayErrorType
  readonly class: FailureClass
  readonly status: number
  readonly code?: string
  readonly retryAfter?: number
  readonly raw?: string | undefined
  readonly note?: string
}

const FAILED = { kind: 'provider-failed', type: 'provider_unavailable' } as const
/** What is not the caller's doing, turned away with this status. */
export const refused = (status: number) => ({ ...FAILED, class: 'refused', status }) as const
/** An answer that breaks, after this status; 0 when none came. */
export const broken = (status: number) => ({ ...FAILED, class: 'maybe-processed', status }) as const
export const BROKEN = broken(200)
export const timedOut = (status: number) =>
  ({ kind: 'provider-timeout', type: 'timeout', class: 'maybe-processed', status }) as const
export const overloaded = (kind: FailureClass) =>
  ({ kind: 'provider-overloaded', type: 'provider_overloaded', class: kind, status: 529 }) as const
const BAD = { kind: 'bad-request', class: 'refused', status: 400 } as const
export const INVALID_REQUEST = { ...BAD, type: 'invalid_request' } as const
export const CONTEXT_TOO_LONG = { ...BAD, type: 'context_length_exceeded' } as const
export const POLICY_VIOLATION = { ...BAD, type: 'content_policy_violation' } as const
export const TOO_LARGE = {
  kind: 'payload-too-large',
  type: 'payload_too_large',
  class: 'refused',
  status: 413,
} as const
export const RATE_LIMITED = {
  kind: 'rate-limited',
  type: 'rate_limit_exceeded',
  class: 'refused',
  status: 429,
} as const

/** Members that are not expected are not looked at; the code is always a text. */
export function checkFailure(t: Test, failure: ProviderFailure, expected: ExpectedFailure): void {
  const { fault } = failure
  t.equal(fault.kind, expected.kind)
  t.equal(failure.class, expected.class)
  t.equal(failure.status, expected.status)
  t.equal(fault.metadata?.error_type, expected.type)
  t.type(fault.metadata?.provider_code, 'string')
  if ('code' in expected) t.equal(fault.metadata?.provider_code, expected.code)
  if ('raw' in expected) t.equal(fault.metadata?.raw, expected.raw)
  if ('retryAfter' in expected) t.equal(fault.retryAfter, expected.retryAfter)
  if ('note' in expected) t.equal(fault.note, expected.note)
}
