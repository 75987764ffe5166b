/** The gateway's errors: `{"error":{"code","message"}}` (contract/gateway 1.5, contract/decisions 49). */
import type { Fault, FaultKind, ValidationIssue } from '../../base/fault.js'
import type { HeaderList, Reply } from '../../transport/exchange.js'
import { type ErrorDialect, faultHeaders } from './dialect.js'

const ERRORS = {
  'bad-request': { code: 400, message: 'Invalid request parameters' },
  'invalid-input': { code: 400, message: 'Invalid request parameters' },
  unauthenticated: { code: 401, message: 'Invalid credentials' },
  'payment-required': { code: 402, message: 'Insufficient credits' },
  forbidden: { code: 403, message: 'Only management keys can perform this operation' },
  'not-found': { code: 404, message: 'Resource not found' },
  'item-not-found': { code: 404, message: 'Resource not found' },
  'method-not-allowed': { code: 405, message: 'Method not allowed' },
  'request-timeout': { code: 408, message: 'Request timed out' },
  conflict: { code: 409, message: 'Resource conflict' },
  'precondition-failed': { code: 412, message: 'Precondition failed' },
  unprocessable: { code: 422, message: 'Unprocessable request' },
  'payload-too-large': { code: 413, message: 'Request payload too large' },
  'headers-too-large': { code: 431, message: 'Request header fields too large' },
  'rate-limited': { code: 429, message: 'Rate limit exceeded' },
  'invalid-client': { code: 401, message: 'Invalid credentials' },
  'invalid-grant': { code: 400, message: 'Invalid request parameters' },
  'invalid-scope': { code: 400, message: 'Invalid request parameters' },
  'unsupported-grant-type': { code: 400, message: 'Invalid request parameters' },
  internal: { code: 500, message: 'Internal Server Error' },
  'not-implemented': { code: 501, message: 'Not implemented' },
  'provider-failed': { code: 502, message: 'Provider returned error' },
  unavailable: { code: 503, message: 'Service temporarily unavailable' },
  'deadline-exceeded': { code: 504, message: 'The operation was aborted due to timeout' },
  'provider-timeout': { code: 524, message: 'Request timed out. Please try again later.' },
  'provider-overloaded': { code: 529, message: 'Provider returned error' },
} satisfies Record<FaultKind, { code: number; message: string }>

/**
 * The public sentence for a fault: that of its status, with what more is known behind a colon. Refused credentials have
 * a sentence of their own; what is known of failures that no caller can mend stands in `metadata` alone.
 */
export function faultMessage(fault: Fault): string {
  const { code, message } = ERRORS[fault.kind]
  const detail = faultDetail(fault)
  if (detail === undefined || (code >= 500 && code !== 503)) return message
  return code === 401 || code === 403 ? detail : `${message}: ${detail}`
}

/** What is known beyond the status: a note, or the first violation, naming the field. */
export function faultDetail({ note, issues: [first] }: Fault): string | undefined {
  return note ?? (first && issueSentence(first))
}

function issueSentence(issue: ValidationIssue): string {
  const { loc, rule, note } = issue
  const field = (rule === 'json' && note === undefined ? '' : loc.slice(1).join('.')) || String(loc[0])
  return `${field}: ${ruleSentence(issue)}`
}

/** What a value must be, going on from the name of its field. */
export function ruleSentence({ rule, bound = 0, note }: ValidationIssue): string {
  const sentence = note ?? SENTENCES[rule]
  return typeof sentence === 'string' ? sentence : sentence(bound)
}

const SENTENCES: { readonly [R in ValidationIssue['rule']]: string | ((bound: number) => string) } = {
  missing: 'is required',
  string: 'must be a string',
  'string-too-short': (n) => `must have at least ${n} ${n === 1 ? 'character' : 'characters'}`,
  'string-too-long': (n) => `must have at most ${n} characters`,
  number: 'must be a number',
  integer: 'must be an integer',
  'integer-fraction': 'must be an integer',
  'integer-text': 'must be an integer',
  boolean: 'must be a boolean',
  object: 'must be an object',
  array: 'must be an array',
  'too-few': (n) => `must have at least ${entryCount(n)}`,
  'too-many': (n) => `must have at most ${entryCount(n)}`,
  'at-least': (n) => `must be at least ${n}`,
  'at-most': (n) => `must be at most ${n}`,
  json: 'is not valid JSON',
  other: 'is not valid',
}

function entryCount(n: number): string {
  return n === 1 ? '1 entry' : `${n} entries`
}

/** The error object of a fault. A 500 hides its cause: no metadata, no sentence of its own (contract/gateway 1.5). */
export function gatewayErrorOf(fault: Fault) {
  const { code, message } = ERRORS[fault.kind]
  if (code === 500) return { code, message }
  const { metadata, details } = fault
  return {
    code,
    message: faultMessage(fault),
    ...(metadata !== undefined && { metadata }),
    ...(details !== undefined && { details }),
  }
}

function errorBody(fault: Fault): object {
  const error = gatewayErrorOf(fault)
  const routing = fault.generation?.serviceMetadata ?? null
  // Never on a 500, which hides everything about its cause.
  return routing === null || error.code === 500 ? { error } : { error, service_metadata: routing }
}

/** An error with the gateway's status and headers, among them the name of the inference that was under way. */
export function gatewayReply(fault: Fault, body: object): Reply {
  const status = ERRORS[fault.kind].code
  const { generation } = fault
  const named: HeaderList = generation === null ? [] : [['X-Generation-Id', generation.id]]
  return { status, headers: faultHeaders(fault, status, named), body: JSON.stringify(body) }
}

export const gateway: ErrorDialect = {
  name: 'gateway',
  requestIds: ['x-request-id'],
  lockable: true,
  status: (kind) => ERRORS[kind].code,
  render: (fault) => gatewayReply(fault, errorBody(fault)),
}
