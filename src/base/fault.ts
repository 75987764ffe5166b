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
  | 'precondition-failed' // the resource is not in the state that the caller named
  | 'unprocessable' // the provider understood the request and cannot carry it out
  | 'payload-too-large'
  | 'headers-too-large'
  | 'rate-limited'
  | 'invalid-client'
  | 'invalid-grant'
  | 'invalid-scope'
  | 'unsupported-grant-type'
  | 'internal'
  | 'not-implemented' // the standard knows it, this server does not do it
  | 'provider-failed' // the upstream answered with something broken
  | 'unavailable' // we are saturated or draining
  | 'deadline-exceeded' // our own total deadline
  | 'provider-timeout' // the upstream stayed silent
  | 'provider-overloaded'

/** Which rule of a schema a value breaks. Dialects translate rules into their own vocabulary. */
export type ValidationRule =
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
  | 'too-few' // items of an array, or members of a map
  | 'too-many'
  | 'at-least'
  | 'at-most'
  | 'json'
  | 'other'

/**
 * One violation: where (`path`, `query`, `body`, then names and indexes), which rule, the rule's bound, and what a
 * reader is told where the rule alone says too little. A note goes on from the name of the field ("must be …") and
 * never holds words of the caller.
 */
export class ValidationIssue {
  constructor(
    readonly loc: readonly (string | number)[],
    readonly rule: ValidationRule,
    readonly bound?: number,
    readonly note?: string,
  ) {}
}

/** Stable codes of the gateway's errors (contract/gateway 1.5). */
export type GatewayErrorType =
  | 'context_length_exceeded'
  | 'max_tokens_exceeded'
  | 'authentication'
  | 'payment_required'
  | 'permission_denied'
  | 'rate_limit_exceeded'
  | 'provider_overloaded'
  | 'provider_unavailable'
  | 'invalid_request'
  | 'not_found'
  | 'payload_too_large'
  | 'unprocessable'
  | 'content_policy_violation'
  | 'image_download_failed'
  | 'server'
  | 'timeout'
  | 'unmapped'

interface FaultMetadata {
  readonly error_type: GatewayErrorType
  /** The provider's own code; never on a 500. */
  readonly provider_code?: string
  readonly provider_name?: string
  readonly [member: string]: unknown
}

interface FaultOptions {
  /** All violations, for `invalid-input`. */
  readonly issues?: readonly ValidationIssue[] | undefined
  /** Seconds after which a new try makes sense; integer of at least 1. */
  readonly retryAfter?: number | undefined
  /** Which limit it was, for `rate-limited`. */
  readonly rate?: ExceededRateLimit | undefined
  /** Methods that the path does allow, for `method-not-allowed`. */
  readonly allow?: readonly string[] | undefined
  /** Public sentence instead of the kind's own. Never text of an upstream, never a secret, never a cause. */
  readonly note?: string | undefined
  /** Public members of the error, where the dialect has a place for them (contract/gateway 1.5). */
  readonly metadata?: FaultMetadata | undefined
  /** Public `details` of the error, where a public client reads what to do without. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** Keyword of a directory's error (RFC 7644 section 3.12). */
  readonly scimType?: string | undefined
  /** For the log only, never for the wire. */
  readonly detail?: string | undefined
  /** For the log only, never for the wire. */
  readonly cause?: unknown
}

/** The limit that a call has met (contract/gateway 1.4). */
interface ExceededRateLimit {
  readonly limit: number
  readonly remaining: number
  /** When there is room again, in Unix milliseconds. */
  readonly resetAt: number
}

/** The inference a fault ended. */
interface FailedGeneration {
  readonly id: string
  /** Routing metadata, when the caller opted in. */
  readonly serviceMetadata: object | null
}

/** An expected failure. Thrown by code that acts, rendered in exactly one place (src/http/dispatch.ts). */
export class Fault extends Error {
  readonly kind: FaultKind
  readonly issues: readonly ValidationIssue[]
  readonly retryAfter: number | undefined
  readonly rate: ExceededRateLimit | undefined
  readonly allow: readonly string[]
  readonly detail: string | undefined
  readonly note: string | undefined
  readonly metadata: FaultMetadata | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly scimType: string | undefined
  /** Set when the fault happened behind the routing. */
  generation: FailedGeneration | null = null

  constructor(kind: FaultKind, detail: FaultOptions = {}) {
    // An expected failure is told by its kind and its cause. A stack would cost more than the rest of a refusal.
    const depth = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(kind, detail.cause === undefined ? undefined : { cause: detail.cause })
    Error.stackTraceLimit = depth
    this.name = 'Fault'
    this.kind = kind
    this.issues = detail.issues ?? []
    this.retryAfter = detail.retryAfter
    this.rate = detail.rate
    this.allow = detail.allow ?? []
    this.detail = detail.detail
    this.note = detail.note
    this.metadata = detail.metadata
    this.details = detail.details
    this.scimType = detail.scimType
  }

  /** The same fault, told as the end of a generation. A copy: a fault may be shared. */
  withGeneration(generation: FailedGeneration): Fault {
    const copy = new Fault(this.kind, this)
    copy.generation = generation
    return copy
  }
}

/** An issue that its note explains. */
export function notedIssue(loc: ValidationIssue['loc'], note: string): ValidationIssue {
  return new ValidationIssue(loc, 'other', undefined, note)
}

/** `invalid-input` for one reason, which the note explains. */
export function invalidInput(loc: ValidationIssue['loc'], note: string): Fault {
  return new Fault('invalid-input', { issues: [notedIssue(loc, note)] })
}

/** Throws the named fault; reads well at the end of a `??`. */
export function throwFault(kind: FaultKind, detail?: FaultOptions): never {
  throw new Fault(kind, detail)
}
