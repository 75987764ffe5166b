/** How a provider call failed, as the fault the caller sees (contract/gateway 1.5) and the class a retry reads. */
import { Fault, type FaultKind, type GatewayErrorType } from '../../../base/fault.js'
import type { UpstreamFailure } from '../../../upstream/port.js'
import {
  asCount,
  asObject,
  type JsonObject,
  nonEmptyText,
  optionalMember,
  parseJson,
} from '../../formats/json-values.js'
import type { CallHandle, FailureClass, FailureReceiver, ProviderFailure } from './provider.js'

/** Who answered, for the public metadata; and what must never be seen in it. */
export interface FailureSource {
  /** Display name of the provider. */
  readonly name: string
  /** Credentials, cut out of every text that the provider sends. */
  readonly secrets: readonly string[]
  /** Callers of the operation know no 422: it is told as a 400 (contract/decisions 43). */
  readonly without422?: true
  /** How this service writes an error, as one of OpenAI's form; absent where it writes them so itself. */
  readonly readError?: (body: JsonObject) => ErrorMembers
}

/** What is read of an error. */
export interface ErrorMembers {
  readonly code?: unknown
  readonly message?: unknown
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/** What a caller is told of a failure. */
interface FaultMapping {
  readonly kind: FaultKind
  readonly type: GatewayErrorType
  /** Our own sentence, where the kind's does not fit. */
  readonly note?: string
  /** Whether the caller can mend it, so that the provider's reason is told. */
  readonly mendable?: true
  /** Whether the caller is told when to come back. */
  readonly waits?: true
}

interface FailureDetail {
  readonly source: FailureSource
  readonly class: FailureClass
  readonly status: number
  readonly code: string
  /** For the log. */
  readonly detail: string
  readonly cause?: unknown
  readonly error?: JsonObject
  /** Seconds. */
  readonly retryAfter?: number
}

function createFailure(
  { kind, type, note, mendable, waits }: FaultMapping,
  { source, class: failureClass, status, code, detail, cause, error, retryAfter = 1 }: FailureDetail,
): ProviderFailure {
  const raw = mendable && error !== undefined ? sanitizeReason(error.message, source.secrets) : undefined
  const fault = new Fault(kind, {
    metadata: {
      error_type: type,
      provider_code: code,
      provider_name: source.name,
      ...optionalMember('raw', raw),
    },
    detail: `${source.name}: ${detail}`,
    ...optionalMember('note', note),
    ...(waits && { retryAfter }),
    ...optionalMember('cause', cause),
  })
  return { fault, class: failureClass, status }
}

// ── Without an answer ───────────────────────────────────────────────────────

/** This machine has no descriptor, port or memory left for a connection. */
const OWN_LACKS: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM'])

function lackOf(cause: unknown): string | null {
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  return OWN_LACKS.has(code) ? String(code) : null
}

/** The connection failed, broke or stayed silent, or there was none to be had. */
export function transportFailure(
  { reason, phase, cause, requestSent }: UpstreamFailure,
  source: FailureSource,
  status: number,
): ProviderFailure {
  const ownLack = reason === 'timeout' && phase === 'queue' ? 'none became free in time' : lackOf(cause)
  if (!requestSent && ownLack !== null) {
    // Nothing the provider could be blamed for, so it is not named.
    const detail = `${source.name}: no connection (${ownLack})`
    return { fault: new Fault('unavailable', { retryAfter: 1, detail, cause }), class: 'not-sent', status: 0 }
  }
  const late = reason === 'timeout' && phase !== 'connect'
  return createFailure(late ? TIMED_OUT : reason === 'closing' ? SHUTTING_DOWN : FAILED, {
    source,
    class: requestSent ? 'maybe-processed' : 'not-sent',
    status,
    code: reason,
    detail: `${reason} in phase ${phase}`,
    cause,
  })
}

/** The provider answered something that is no answer, or did not finish it. `detail` is for the log, our own words. */
export function malformedAnswer(detail: string, source: FailureSource, status: number): ProviderFailure {
  return createFailure(FAILED, { source, class: 'maybe-processed', status, code: String(status), detail })
}

/** The end of a call that cannot even begin, told in a later turn: the provider has seen nothing of it. */
export function rejectCall(fault: Fault, receiver: FailureReceiver): CallHandle {
  const later = setImmediate(() => receiver.onFailure({ fault, class: 'not-sent', status: 0 }))
  return { pause: () => {}, resume: () => {}, cancel: () => clearImmediate(later) }
}

// ── With an error for an answer ─────────────────────────────────────────────

/** Statuses of a server in between that lost sight of the request. */
const MAYBE_PROCESSED: ReadonlySet<number> = new Set([408, 504, 522, 524])

/** The provider answered with a status that is no success; `body` is what could be read of its body. */
export function refusedCall(
  status: number,
  headers: ResponseHeaders,
  body: string,
  source: FailureSource,
  unixMs: number,
): ProviderFailure {
  const error = parseErrorBody(body, source)
  return createFailure(mapStatus(toldStatus(status, source), error), {
    source,
    class: MAYBE_PROCESSED.has(status) ? 'maybe-processed' : 'refused',
    status,
    code: providerCode(error, source) ?? String(status),
    detail: `answered ${status}`,
    error,
    retryAfter: retryAfterSeconds(headers, unixMs),
  })
}

/**
 * An error inside an answer that had begun as a success: in a body, or as an event. It counts as the status that it
 * means, or as 502 when it does not say.
 */
export function errorInAnswer(value: unknown, source: FailureSource, answered: number): ProviderFailure {
  const error = asObject(value) ?? { message: value }
  const status = impliedStatus(error)
  return createFailure(mapStatus(toldStatus(status, source), error), {
    source,
    class: status < 500 ? 'refused' : 'maybe-processed',
    status,
    code: providerCode(error, source) ?? String(status),
    detail: `error within a ${answered}`,
    error,
  })
}

function parseErrorBody(body: string, { readError }: FailureSource): JsonObject {
  const parsed = parseJson(body)
  const members = asObject(Array.isArray(parsed) ? parsed[0] : parsed) ?? {}
  if (readError !== undefined) return { ...readError(members) }
  const { error } = members
  return asObject(error) ?? (typeof error === 'string' ? { message: error } : members)
}

/** The provider's own code, or its kind of error, when it is a word. */
function providerCode({ code, type }: JsonObject, { secrets }: FailureSource): string | undefined {
  const said = typeof code === 'number' ? String(code) : (nonEmptyText(code) ?? nonEmptyText(type))
  return sanitizeCode(said, secrets)
}

/** Always from 400 to 599. */
function impliedStatus(error: JsonObject): number {
  for (const code of [error.code, error.status, error.status_code]) {
    const status = asCount(typeof code === 'string' ? Number(code) : code) ?? 0
    if (status >= 400 && status <= 599) return status
  }
  const words = errorWords(error)
  if (/rate_limit/.test(words)) return 429
  if (/overloaded/.test(words)) return 529
  if (/timeout_error/.test(words)) return 504
  if (/request_too_large/.test(words)) return 413
  return /invalid_request|context_length|content_policy|content_filter/.test(words) ? 400 : 502
}

function errorWords({ code, type }: JsonObject): string {
  return `${nonEmptyText(code) ?? ''} ${nonEmptyText(type) ?? ''}`
}

// ── Statuses ────────────────────────────────────────────────────────────────

/** Our credential, our credit, our path: what the provider refuses there is not the caller's doing. */
const FAILED: FaultMapping = { kind: 'provider-failed', type: 'provider_unavailable' }
/** Ours: the process is about to end. */
const SHUTTING_DOWN: FaultMapping = { kind: 'unavailable', type: 'provider_unavailable', waits: true }
const TIMED_OUT: FaultMapping = { kind: 'provider-timeout', type: 'timeout' }
const BAD_REQUEST = { kind: 'bad-request', mendable: true } as const

const CONTEXT_TOO_LONG: FaultMapping = {
  ...BAD_REQUEST,
  type: 'context_length_exceeded',
  note: 'The request exceeds the context length of the model',
}
const POLICY_VIOLATION: FaultMapping = {
  ...BAD_REQUEST,
  type: 'content_policy_violation',
  note: 'The provider refused the content of the request',
}

const STATUS_FAULTS: Readonly<Record<number, FaultMapping>> = {
  400: { ...BAD_REQUEST, type: 'invalid_request', note: 'The provider rejected the request' },
  408: TIMED_OUT,
  413: { kind: 'payload-too-large', type: 'payload_too_large' },
  422: { kind: 'unprocessable', type: 'unprocessable', mendable: true },
  429: { kind: 'rate-limited', type: 'rate_limit_exceeded', waits: true },
  503: { kind: 'unavailable', type: 'provider_overloaded', waits: true },
  504: TIMED_OUT,
  522: TIMED_OUT,
  524: TIMED_OUT,
  529: { kind: 'provider-overloaded', type: 'provider_overloaded', waits: true },
}

function toldStatus(status: number, { without422 }: FailureSource): number {
  return status === 422 && without422 === true ? 400 : status
}

function mapStatus(status: number, error: JsonObject): FaultMapping {
  if ((status === 400 || status === 413 || status === 422) && isContextTooLong(error)) return CONTEXT_TOO_LONG
  if (status === 400 && isPolicyViolation(error)) return POLICY_VIOLATION
  // A path of its own, whose middle the caller has named.
  if (status === 404 && /voice_not_found/.test(errorWords(error))) return mapStatus(400, error)
  return STATUS_FAULTS[status] ?? FAILED
}

function isContextTooLong(error: JsonObject): boolean {
  if (error.code === 'context_length_exceeded') return true
  return /context (length|window)|maximum context|prompt is too long|too many tokens/i.test(
    nonEmptyText(error.message) ?? '',
  )
}

function isPolicyViolation(error: JsonObject): boolean {
  if (/content_policy|content_filter|moderation/i.test(errorWords(error))) return true
  return /content (management )?policy|content filter/i.test(nonEmptyText(error.message) ?? '')
}

// ── Retry-After ─────────────────────────────────────────────────────────────

const MAX_RETRY_AFTER_S = 3600

/** Whole seconds from 1 to 3600, from a number or a date (RFC 9110 section 10.2.3); 1 when it says nothing usable. */
function retryAfterSeconds(headers: ResponseHeaders, unixMs: number): number {
  const header = headers['retry-after']
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - unixMs) / 1000
  if (Number.isNaN(seconds)) return 1
  return Math.min(MAX_RETRY_AFTER_S, Math.max(1, Math.ceil(seconds)))
}

// ── A provider's own words ───────────────────────────────────────────────────
// Shown to the caller only when short, and without anything that looks like a credential.

const MAX_CHARS = 500
const REDACTED = '[redacted]'

/** Keys by their usual beginnings, bearer credentials, and any long run of letters and digits mixed. */
const CREDENTIALS: readonly RegExp[] = [
  /\bbearer\s+\S+/gi,
  /\b(?:sk|pk|rk|key|api|gsk|xai|AIza)[-_][\w*.-]{6,}/gi,
  /\bAIza[\w-]{10,}/g,
  /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g,
  /\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{24,}/g,
]

/** A provider's reason for a refusal that the caller can mend; undefined when it gave none. */
function sanitizeReason(message: unknown, secrets: readonly string[]): string | undefined {
  if (typeof message !== 'string' || message === '') return undefined
  // Cut only after hiding, so that no cut leaves half a credential that nothing recognises; but bound the work first.
  const bounded = message.slice(0, 8 * MAX_CHARS)
  const text = CREDENTIALS.reduce(
    (rest, pattern) => rest.replace(pattern, REDACTED),
    redactSecrets(bounded, secrets),
  )
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text
}

/** A code that is a plain word; undefined for sentences, and for a word that holds a credential. */
function sanitizeCode(code: string | undefined, secrets: readonly string[]): string | undefined {
  if (code === undefined || !/^[\w.:-]{1,64}$/.test(code)) return undefined
  const hidden = CREDENTIALS.some((pattern) => code.search(pattern) >= 0)
  return hidden || redactSecrets(code, secrets) !== code ? undefined : code
}

function redactSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, REDACTED)), text)
}
