/** The practice API's errors: `{"detail": …}` (contract/practice 1 and 2). */
import type { Fault, FaultKind, ValidationIssue, ValidationRule } from '../../base/fault.js'
import { type ErrorDialect, faultHeaders } from './dialect.js'

const ERRORS = {
  'bad-request': { status: 400, detail: 'Bad Request' },
  'invalid-input': { status: 422, detail: 'Unprocessable Content' },
  unauthenticated: { status: 401, detail: 'Unauthorized' },
  'payment-required': { status: 402, detail: 'Payment Required' },
  forbidden: { status: 403, detail: 'Forbidden' },
  'not-found': { status: 404, detail: 'Not Found' },
  'item-not-found': { status: 404, detail: 'Item not found' },
  'method-not-allowed': { status: 405, detail: 'Method Not Allowed' },
  'request-timeout': { status: 408, detail: 'Request Timeout' },
  conflict: { status: 409, detail: 'Conflict' },
  'precondition-failed': { status: 412, detail: 'Precondition Failed' },
  unprocessable: { status: 422, detail: 'Unprocessable Content' },
  'payload-too-large': { status: 413, detail: 'Request payload too large' },
  'headers-too-large': { status: 431, detail: 'Request Header Fields Too Large' },
  'rate-limited': { status: 429, detail: 'Too Many Requests' },
  'invalid-client': { status: 401, detail: 'Unauthorized' },
  'invalid-grant': { status: 400, detail: 'Bad Request' },
  'invalid-scope': { status: 400, detail: 'Bad Request' },
  'unsupported-grant-type': { status: 400, detail: 'Bad Request' },
  internal: { status: 500, detail: 'Internal Server Error' },
  'not-implemented': { status: 501, detail: 'Not Implemented' },
  'provider-failed': { status: 502, detail: 'Bad Gateway' },
  unavailable: { status: 503, detail: 'Service temporarily unavailable' },
  'deadline-exceeded': { status: 504, detail: 'Gateway Timeout' },
  'provider-timeout': { status: 504, detail: 'Gateway Timeout' },
  'provider-overloaded': { status: 503, detail: 'Service temporarily unavailable' },
} satisfies Record<FaultKind, { status: number; detail: string }>

interface ValidationWording {
  readonly type: string
  readonly msg: string | ((bound: number) => string)
}

/** The vocabulary that users of the Python ecosystem know from Pydantic 2. */
const WORDING = {
  missing: { type: 'missing', msg: 'Field required' },
  string: { type: 'string_type', msg: 'Input should be a valid string' },
  'string-too-short': {
    type: 'string_too_short',
    msg: (n) => `String should have at least ${characterCount(n)}`,
  },
  'string-too-long': {
    type: 'string_too_long',
    msg: (n) => `String should have at most ${characterCount(n)}`,
  },
  number: { type: 'float_type', msg: 'Input should be a valid number' },
  integer: { type: 'int_type', msg: 'Input should be a valid integer' },
  'integer-fraction': {
    type: 'int_from_float',
    msg: 'Input should be a valid integer, got a number with a fractional part',
  },
  'integer-text': {
    type: 'int_parsing',
    msg: 'Input should be a valid integer, unable to parse string as an integer',
  },
  boolean: { type: 'bool_type', msg: 'Input should be a valid boolean' },
  object: {
    type: 'model_attributes_type',
    msg: 'Input should be a valid dictionary or object to extract fields from',
  },
  array: { type: 'list_type', msg: 'Input should be a valid list' },
  'too-few': { type: 'too_short', msg: (n) => `Input should have at least ${itemCount(n)}` },
  'too-many': { type: 'too_long', msg: (n) => `Input should have at most ${itemCount(n)}` },
  'at-least': { type: 'greater_than_equal', msg: (n) => `Input should be greater than or equal to ${n}` },
  'at-most': { type: 'less_than_equal', msg: (n) => `Input should be less than or equal to ${n}` },
  json: { type: 'json_invalid', msg: 'JSON decode error' },
  other: { type: 'value_error', msg: 'Value error' },
} satisfies Record<ValidationRule, ValidationWording>

function characterCount(n: number): string {
  return n === 1 ? '1 character' : `${n} characters`
}

function itemCount(n: number): string {
  return n === 1 ? '1 item' : `${n} items`
}

function validationDetail(issue: ValidationIssue): {
  loc: readonly (string | number)[]
  msg: string
  type: string
} {
  const { type, msg }: ValidationWording = WORDING[issue.rule]
  return { loc: issue.loc, msg: typeof msg === 'string' ? msg : msg(issue.bound ?? 0), type }
}

export const practice: ErrorDialect = {
  name: 'practice',
  requestIds: [],
  lockable: false,
  status: (kind) => ERRORS[kind].status,
  render: (fault: Fault) => {
    const { status, detail } = ERRORS[fault.kind]
    const body = fault.kind === 'invalid-input' ? fault.issues.map(validationDetail) : detail
    return { status, headers: faultHeaders(fault, status), body: JSON.stringify({ detail: body }) }
  },
}
