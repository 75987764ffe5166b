import type { FaultKind } from '../../../src/base/fault.js'

/** Status of every fault kind on each face, and the word it goes by where the face has words. */
interface Wire {
  readonly practice: number
  /** Also the status on the messages face. */
  readonly gateway: number
  readonly oauth: readonly [status: number, error: string]
  readonly anthropic: string
}

/** The whole closed list: a new kind does not compile until it stands here. */
export const WIRE = {
  'bad-request': {
    practice: 400,
    gateway: 400,
    oauth: [400, 'invalid_request'],
    anthropic: 'invalid_request_error',
  },
  'invalid-input': {
    practice: 422,
    gateway: 400,
    oauth: [400, 'invalid_request'],
    anthropic: 'invalid_request_error',
  },
  unauthenticated: {
    practice: 401,
    gateway: 401,
    oauth: [401, 'invalid_client'],
    anthropic: 'authentication_error',
  },
  'payment-required': {
    practice: 402,
    gateway: 402,
    oauth: [402, 'invalid_request'],
    anthropic: 'billing_error',
  },
  forbidden: {
    practice: 403,
    gateway: 403,
    oauth: [403, 'invalid_request'],
    anthropic: 'permission_error',
  },
  'not-found': {
    practice: 404,
    gateway: 404,
    oauth: [404, 'invalid_request'],
    anthropic: 'not_found_error',
  },
  'item-not-found': {
    practice: 404,
    gateway: 404,
    oauth: [404, 'invalid_request'],
    anthropic: 'not_found_error',
  },
  'method-not-allowed': {
    practice: 405,
    gateway: 405,
    oauth: [405, 'invalid_request'],
    anthropic: 'invalid_request_error',
  },
  'request-timeout': {
    practice: 408,
    gateway: 408,
    oauth: [408, 'invalid_request'],
    anthropic: 'timeout_error',
  },
  conflict: {
    practice: 409,
    gateway: 409,
    oauth: [409, 'invalid_request'],
    anthropic: 'invalid_request_error',
  },
  unprocessable: {
    practice: 422,
    gateway: 422,
    oauth: [422, 'invalid_request'],
    anthropic: 'invalid_request_error',
  },
  'length-required': {
    practice: 411,
    gateway: 411,
    oauth: [411, 'invalid_request'],
    anthropic: 'invalid_request_error',
  },
  'payload-too-large': {
    practice: 413,
    gateway: 413,
    oauth: [413, 'invalid_request'],
    anthropic: 'invalid_request_error',
  },
  'headers-too-large': {
    practice: 431,
    gateway: 431,
    oauth: [431, 'invalid_request'],
    anthropic: 'invalid_request_error',
  },
  'rate-limited': {
    practice: 429,
    gateway: 429,
    oauth: [429, 'invalid_request'],
    anthropic: 'rate_limit_error',
  },
  'invalid-client': {
    practice: 401,
    gateway: 401,
    oauth: [401, 'invalid_client'],
    anthropic: 'authentication_error',
  },
  'invalid-grant': {
    practice: 400,
    gateway: 400,
    oauth: [400, 'invalid_grant'],
    anthropic: 'invalid_request_error',
  },
  'invalid-scope': {
    practice: 400,
    gateway: 400,
    oauth: [400, 'invalid_scope'],
    anthropic: 'invalid_request_error',
  },
  'unsupported-grant-type': {
    practice: 400,
    gateway: 400,
    oauth: [400, 'unsupported_grant_type'],
    anthropic: 'invalid_request_error',
  },
  internal: { practice: 500, gateway: 500, oauth: [500, 'server_error'], anthropic: 'api_error' },
  'provider-failed': {
    practice: 502,
    gateway: 502,
    oauth: [503, 'temporarily_unavailable'],
    anthropic: 'api_error',
  },
  unavailable: {
    practice: 503,
    gateway: 503,
    oauth: [503, 'temporarily_unavailable'],
    anthropic: 'overloaded_error',
  },
  'deadline-exceeded': {
    practice: 504,
    gateway: 504,
    oauth: [503, 'temporarily_unavailable'],
    anthropic: 'timeout_error',
  },
  'provider-timeout': {
    practice: 504,
    gateway: 524,
    oauth: [503, 'temporarily_unavailable'],
    anthropic: 'timeout_error',
  },
  'provider-overloaded': {
    practice: 503,
    gateway: 529,
    oauth: [503, 'temporarily_unavailable'],
    anthropic: 'overloaded_error',
  },
} as const satisfies Record<FaultKind, Wire>

/** Every fault kind. */
export const KINDS = Object.keys(WIRE) as FaultKind[]
