/** The messages endpoint's errors, in the third-party messages format (contract/gateway 1.6). */
import type { Fault, FaultKind } from '../../base/fault.js'
import { type Dialect, faultHeaders } from './dialect.js'
import { gateway, gatewayErrorOf, generationHeader } from './gateway.js'

/** Our word for each fault in this format's closed list of error types. */
const ERROR_TYPES = {
  'bad-request': 'invalid_request_error',
  'invalid-input': 'invalid_request_error',
  unauthenticated: 'authentication_error',
  'payment-required': 'billing_error',
  forbidden: 'permission_error',
  'not-found': 'not_found_error',
  'item-not-found': 'not_found_error',
  'method-not-allowed': 'invalid_request_error',
  'request-timeout': 'timeout_error',
  conflict: 'invalid_request_error',
  unprocessable: 'invalid_request_error',
  'length-required': 'invalid_request_error',
  'payload-too-large': 'invalid_request_error',
  'headers-too-large': 'invalid_request_error',
  'rate-limited': 'rate_limit_error',
  'invalid-client': 'authentication_error',
  'invalid-grant': 'invalid_request_error',
  'invalid-scope': 'invalid_request_error',
  'unsupported-grant-type': 'invalid_request_error',
  internal: 'api_error',
  'provider-failed': 'api_error',
  unavailable: 'overloaded_error',
  'deadline-exceeded': 'timeout_error',
  'provider-timeout': 'timeout_error',
  'provider-overloaded': 'overloaded_error',
} satisfies Record<FaultKind, string>

function errorBody(fault: Fault): unknown {
  const routing = fault.generation?.serviceMetadata ?? null
  const { message, details } = gatewayErrorOf(fault)
  return {
    type: 'error',
    error: {
      type: ERROR_TYPES[fault.kind],
      message,
      ...stableCode(fault),
      ...(details !== undefined && { details }),
    },
    request_id: fault.generation?.id ?? null,
    ...metadataOf(fault),
    ...(routing !== null && fault.kind !== 'internal' && { service_metadata: routing }),
  }
}

function stableCode({ metadata }: Fault): { error_type?: string } {
  return metadata === undefined ? {} : { error_type: metadata.error_type }
}

/** What else is known of the failure; a 500 hides its cause (contract/gateway 1.5). */
function metadataOf({ metadata, kind }: Fault): { metadata?: object } {
  if (metadata === undefined || kind === 'internal') return {}
  const { error_type: _, ...rest } = metadata
  return Object.keys(rest).length === 0 ? {} : { metadata: rest }
}

export const anthropic: Dialect = {
  name: 'anthropic',
  // Public clients of this format read the second one (contract/gateway 1.4).
  requestIds: ['x-request-id', 'request-id'],
  lockable: true,
  // Both faces of the gateway agree on statuses.
  status: gateway.status,
  render: (fault) => {
    const status = gateway.status(fault.kind)
    return {
      status,
      headers: faultHeaders(fault, status, generationHeader(fault)),
      body: JSON.stringify(errorBody(fault)),
    }
  },
}

/** The error as the last event of a stream (contract/gateway 5.8). */
export function errorEvent(fault: Fault): string {
  return `event: error\ndata: ${JSON.stringify(errorBody(fault))}\n\n`
}
