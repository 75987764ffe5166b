/**
 * The token endpoint's errors: RFC 6749 section 5.2 with the product's own statuses (contract/gateway 1.7,
 * contract/decisions 55).
 */
import type { Fault, FaultKind } from '../../base/fault.js'
import { type ErrorDialect, faultHeaders } from './dialect.js'

const INVALID_REQUEST = { status: 400, error: 'invalid_request', description: 'The request is malformed' }
const SERVER_ERROR = { status: 500, error: 'server_error', description: 'The request could not be processed' }
const UNAVAILABLE = {
  status: 503,
  error: 'temporarily_unavailable',
  description: 'The service is temporarily unavailable',
}

const ERRORS = {
  'bad-request': INVALID_REQUEST,
  'invalid-input': INVALID_REQUEST,
  unauthenticated: { status: 401, error: 'invalid_client', description: 'Client authentication failed' },
  'payment-required': { ...INVALID_REQUEST, status: 402 },
  forbidden: { ...INVALID_REQUEST, status: 403 },
  'not-found': { ...INVALID_REQUEST, status: 404 },
  'item-not-found': { ...INVALID_REQUEST, status: 404 },
  'method-not-allowed': { ...INVALID_REQUEST, status: 405 },
  'request-timeout': { ...INVALID_REQUEST, status: 408 },
  conflict: { ...INVALID_REQUEST, status: 409 },
  'precondition-failed': { ...INVALID_REQUEST, status: 412 },
  unprocessable: { ...INVALID_REQUEST, status: 422 },
  'payload-too-large': { ...INVALID_REQUEST, status: 413, description: 'The request is too large' },
  'headers-too-large': { ...INVALID_REQUEST, status: 431 },
  'rate-limited': { ...INVALID_REQUEST, status: 429, description: 'Too many requests' },
  'invalid-client': { status: 401, error: 'invalid_client', description: 'Client authentication failed' },
  'invalid-grant': { status: 400, error: 'invalid_grant', description: 'The subject token was not accepted' },
  'invalid-scope': {
    status: 400,
    error: 'invalid_scope',
    description: 'The requested scope is not available',
  },
  'unsupported-grant-type': {
    status: 400,
    error: 'unsupported_grant_type',
    description: 'The grant type is not supported',
  },
  internal: SERVER_ERROR,
  'not-implemented': { ...SERVER_ERROR, status: 501 },
  'provider-failed': UNAVAILABLE,
  unavailable: UNAVAILABLE,
  'deadline-exceeded': UNAVAILABLE,
  'provider-timeout': UNAVAILABLE,
  'provider-overloaded': UNAVAILABLE,
} satisfies Record<FaultKind, { status: number; error: string; description: string }>

const NEVER_STORED = [
  ['Cache-Control', 'no-store'],
  ['Pragma', 'no-cache'],
] as const

/** What a description may hold (RFC 6749 section 5.2). */
const DESCRIPTION_TEXT = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/

/** The sentence of the kind; a malformed request names the field as well, and never its value. */
function describe({ kind, note, issues }: Fault): string {
  const { error, description } = ERRORS[kind]
  const [issue] = issues
  const field = issue && `${issue.loc.slice(1).join('.') || 'body'}: ${issue.note ?? 'is not valid'}`
  const detail = note ?? field
  if (error !== 'invalid_request' || detail === undefined || !DESCRIPTION_TEXT.test(detail))
    return description
  return `${description}: ${detail}`
}

export const oauth: ErrorDialect = {
  name: 'oauth',
  requestIds: ['x-request-id'],
  lockable: false,
  status: (kind) => ERRORS[kind].status,
  render: (fault: Fault) => {
    const { status, error } = ERRORS[fault.kind]
    const headers = faultHeaders(fault, status).filter(([name]) => name !== 'Cache-Control')
    const body = JSON.stringify({ error, error_description: describe(fault) })
    return { status, headers: [...headers, ...NEVER_STORED], body }
  },
}
