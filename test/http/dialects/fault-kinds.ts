import type { FaultKind } from '../../../src/base/fault.js'

/** Status of every fault kind on each face, and the word it goes by where the face has words. */
interface Wire {
  readonly practice: number
  /** Also the status on the messages face. */
  readonly gateway: number
  readonly oauth: readonly [status: number, error: string]
  readonly anthropic: string
}

/** A row: status on the practice face, on the gateway's and of the token endpoint; then the words of the last two. */
function wire(practice: number, gateway: number, oauth: number, error: string, anthropic: string): Wire {
  return { practice, gateway, oauth: [oauth, error], anthropic }
}

/** The whole closed list: a new kind does not compile until it stands here. */
export const WIRE: Readonly<Record<FaultKind, Wire>> = {
  'bad-request': wire(400, 400, 400, 'invalid_request', 'invalid_request_error'),
  'invalid-input': wire(422, 400, 400, 'invalid_request', 'invalid_request_error'),
  unauthenticated: wire(401, 401, 401, 'invalid_client', 'authentication_error'),
  'payment-required': wire(402, 402, 402, 'invalid_request', 'billing_error'),
  forbidden: wire(403, 403, 403, 'invalid_request', 'permission_error'),
  'not-found': wire(404, 404, 404, 'invalid_request', 'not_found_error'),
  'item-not-found': wire(404, 404, 404, 'invalid_request', 'not_found_error'),
  'method-not-allowed': wire(405, 405, 405, 'invalid_request', 'invalid_request_error'),
  'request-timeout': wire(408, 408, 408, 'invalid_request', 'timeout_error'),
  conflict: wire(409, 409, 409, 'invalid_request', 'invalid_request_error'),
  'precondition-failed': wire(412, 412, 412, 'invalid_request', 'invalid_request_error'),
  unprocessable: wire(422, 422, 422, 'invalid_request', 'invalid_request_error'),
  'payload-too-large': wire(413, 413, 413, 'invalid_request', 'invalid_request_error'),
  'headers-too-large': wire(431, 431, 431, 'invalid_request', 'invalid_request_error'),
  'rate-limited': wire(429, 429, 429, 'invalid_request', 'rate_limit_error'),
  'invalid-client': wire(401, 401, 401, 'invalid_client', 'authentication_error'),
  'invalid-grant': wire(400, 400, 400, 'invalid_grant', 'invalid_request_error'),
  'invalid-scope': wire(400, 400, 400, 'invalid_scope', 'invalid_request_error'),
  'unsupported-grant-type': wire(400, 400, 400, 'unsupported_grant_type', 'invalid_request_error'),
  internal: wire(500, 500, 500, 'server_error', 'api_error'),
  'not-implemented': wire(501, 501, 501, 'server_error', 'invalid_request_error'),
  'provider-failed': wire(502, 502, 503, 'temporarily_unavailable', 'api_error'),
  unavailable: wire(503, 503, 503, 'temporarily_unavailable', 'overloaded_error'),
  'deadline-exceeded': wire(504, 504, 503, 'temporarily_unavailable', 'timeout_error'),
  'provider-timeout': wire(504, 524, 503, 'temporarily_unavailable', 'timeout_error'),
  'provider-overloaded': wire(503, 529, 503, 'temporarily_unavailable', 'overloaded_error'),
}

/** Every fault kind. */
export const KINDS = Object.keys(WIRE) as FaultKind[]
