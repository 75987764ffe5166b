/**
 * The closed list of ways in which a call can fail as expected, and the error that carries one.
 *
 * A fault says what happened, never how it looks on the wire: each dialect (src/http/dialects) is a table over
 * all kinds, so a new kind does not compile until every dialect has answered for it.
 */
export type FaultKind =
  | 'bad-request' // the framing or the shape of the request is broken
  | 'invalid-input' // well-framed, but its values break the schema; `issues` lists every violation
  | 'unauthenticated'
  | 'payment-required'
  | 'forbidden'
  | 'not-found' // no such operation
  | 'item-not-found' // the operation exists, the addressed resource does not
  | 'method-not-allowed'
  | 'request-timeout' // the caller took too long to send
  | 'conflict'
  | 'length-required' // Transfer-Encoding where a length is due
  | 'payload-too-large'
  | 'headers-too-large'
  | 'rate-limited'
  | 'invalid-client'
  | 'invalid-grant'
  | 'invalid-scope'
  | 'unsupported-grant-type'
  | 'internal'
  | 'provider-failed' // the upstream answered with something broken
  | 'unavailable' // we are saturated or draining
  | 'deadline-exceeded' // our own total deadline
  | 'provider-timeout' // the upstream stayed silent
  | 'provider-overloaded'

/** Which rule of a schema a value breaks. Dialects translate rules into their own vocabulary. */
export type Rule =
  | 'missing'
  | 'string'
  | 'string-too-short'
  | 'string-too-long'
  | 'number'
  | 'integer'
  | 'integer-fraction'
  | 'integer-text'
  | 'boolean'
  | 'object'
  | 'array'
  | 'at-least'
  | 'at-most'
  | 'json'
  | 'other'

/** One violation: where (`path`, `query`, `body`, then names and indexes), which rule, and the rule's bound. */
export class Issue {
  constructor(
    readonly loc: readonly (string | number)[],
    readonly rule: Rule,
    readonly bound?: number,
    readonly note?: string,
  ) {}
}

export interface FaultDetail {
  /** All violations, for `invalid-input`. */
  readonly issues?: readonly Issue[]
  /** Seconds after which a new try makes sense; integer of at least 1. */
  readonly retryAfter?: number
  /** Methods that the path does allow, for `method-not-allowed`. */
  readonly allow?: readonly string[]
  /** For the log only, never for the wire. */
  readonly detail?: string
  /** For the log only, never for the wire. */
  readonly cause?: unknown
}

/** An expected failure. Thrown by code that acts, rendered in exactly one place (src/http/dispatch.ts). */
export class Fault extends Error {
  readonly kind: FaultKind
  readonly issues: readonly Issue[]
  readonly retryAfter: number | undefined
  readonly allow: readonly string[]
  readonly detail: string | undefined

  constructor(kind: FaultKind, detail: FaultDetail = {}) {
    // An expected failure is told by its kind and its cause. A stack would cost more than the rest of a refusal.
    const depth = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(kind, detail.cause === undefined ? undefined : { cause: detail.cause })
    Error.stackTraceLimit = depth
    this.name = 'Fault'
    this.kind = kind
    this.issues = detail.issues ?? []
    this.retryAfter = detail.retryAfter
    this.allow = detail.allow ?? []
    this.detail = detail.detail
  }
}

/** Throws the named fault; reads well at the end of a `??`. */
export function fail(kind: FaultKind, detail?: FaultDetail): never {
  throw new Fault(kind, detail)
}
