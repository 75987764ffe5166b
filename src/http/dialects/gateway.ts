/** The gateway's errors: `{"error":{"code","message"}}` (contract/gateway 1.5). */
import type { Fault, FaultKind, Issue } from '../../base/fault.js'
import { type Dialect, faultHeaders } from './dialect.js'

interface Row {
  readonly code: number
  readonly message: string
}

const TABLE = {
  'bad-request': { code: 400, message: 'Invalid request' },
  'invalid-input': { code: 400, message: 'Invalid request parameters' },
  unauthenticated: { code: 401, message: 'Invalid credentials' },
  'payment-required': { code: 402, message: 'Insufficient credits' },
  forbidden: { code: 403, message: 'Only management keys can perform this operation' },
  'not-found': { code: 404, message: 'Resource not found' },
  'item-not-found': { code: 404, message: 'Resource not found' },
  'method-not-allowed': { code: 405, message: 'Method not allowed' },
  'request-timeout': { code: 408, message: 'Request timed out' },
  conflict: { code: 409, message: 'Resource conflict' },
  'length-required': { code: 411, message: 'Length required' },
  'payload-too-large': { code: 413, message: 'Request payload too large' },
  'headers-too-large': { code: 431, message: 'Request header fields too large' },
  'rate-limited': { code: 429, message: 'Rate limit exceeded' },
  'invalid-client': { code: 401, message: 'Invalid credentials' },
  'invalid-grant': { code: 400, message: 'Invalid request' },
  'invalid-scope': { code: 400, message: 'Invalid request' },
  'unsupported-grant-type': { code: 400, message: 'Invalid request' },
  internal: { code: 500, message: 'Internal server error' },
  'provider-failed': { code: 502, message: 'Provider returned an error' },
  unavailable: { code: 503, message: 'Service temporarily unavailable' },
  'deadline-exceeded': { code: 504, message: 'Request deadline exceeded' },
  'provider-timeout': { code: 524, message: 'Provider timed out' },
  'provider-overloaded': { code: 529, message: 'Provider overloaded' },
} satisfies Record<FaultKind, Row>

/** The public sentence for a fault: of its kind, or of its first violation, naming the field. */
export function faultMessage(fault: Fault): string {
  const first = fault.issues[0]
  return first === undefined ? TABLE[fault.kind].message : issueSentence(first)
}

function issueSentence(issue: Issue): string {
  const field = issue.loc.slice(1).join('.') || String(issue.loc[0])
  return issue.note ?? SENTENCES[issue.rule](field, issue.bound ?? 0)
}

const SENTENCES: { readonly [R in Issue['rule']]: (field: string, bound: number) => string } = {
  missing: (f) => `${f}: is required`,
  string: (f) => `${f}: must be a string`,
  'string-too-short': (f, n) => `${f}: must have at least ${n} characters`,
  'string-too-long': (f, n) => `${f}: must have at most ${n} characters`,
  number: (f) => `${f}: must be a number`,
  integer: (f) => `${f}: must be an integer`,
  'integer-fraction': (f) => `${f}: must be an integer`,
  'integer-text': (f) => `${f}: must be an integer`,
  boolean: (f) => `${f}: must be a boolean`,
  object: (f) => `${f}: must be an object`,
  array: (f) => `${f}: must be an array`,
  'at-least': (f, n) => `${f}: must be at least ${n}`,
  'at-most': (f, n) => `${f}: must be at most ${n}`,
  json: () => 'body: is not valid JSON',
  other: (f) => `${f}: is not valid`,
}

function body(fault: Fault): { error: { code: number; message: string } } {
  return { error: { code: TABLE[fault.kind].code, message: faultMessage(fault) } }
}

export const gateway: Dialect = {
  name: 'gateway',
  status: (kind) => TABLE[kind].code,
  render: (fault) => {
    const status = TABLE[fault.kind].code
    return { status, headers: faultHeaders(fault, status), body: JSON.stringify(body(fault)) }
  },
  midStream: (fault) => `data: ${JSON.stringify(body(fault))}\n\ndata: [DONE]\n\n`,
}
