/** The messages endpoint's errors, in the third-party messages format (contract/gateway 1.6). */
import type { Fault } from '../../base/fault.js'
import type { ErrorDialect } from './dialect.js'
import { gateway, gatewayErrorOf, gatewayReply } from './gateway.js'

/** This format's closed list of error types, by status: both faces of the gateway agree on statuses. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  429: 'rate_limit_error',
  500: 'api_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  524: 'timeout_error',
  529: 'overloaded_error',
}
const OTHER_ERROR_TYPE = 'invalid_request_error'

function errorBody(fault: Fault, requestId: string | null): object {
  const routing = fault.generation?.serviceMetadata ?? null
  const { code, message, details } = gatewayErrorOf(fault)
  const { metadata } = fault
  return {
    type: 'error',
    error: {
      type: ERROR_TYPES[code] ?? OTHER_ERROR_TYPE,
      message,
      ...(metadata !== undefined && { error_type: metadata.error_type }),
      ...(details !== undefined && { details }),
    },
    request_id: fault.generation?.id ?? requestId,
    ...metadataOf(fault),
    ...(routing !== null && fault.kind !== 'internal' && { service_metadata: routing }),
  }
}

/** What else is known of the failure; a 500 hides its cause (contract/gateway 1.5). */
function metadataOf({ metadata, kind }: Fault): { metadata?: object } {
  if (metadata === undefined || kind === 'internal') return {}
  const { error_type: _, ...rest } = metadata
  return Object.keys(rest).length === 0 ? {} : { metadata: rest }
}

export const anthropic: ErrorDialect = {
  name: 'anthropic',
  // Public clients of this format read the second one (contract/gateway 1.4).
  requestIds: ['x-request-id', 'request-id'],
  lockable: true,
  status: gateway.status,
  namesCall: true,
  render: (fault, requestId) => gatewayReply(fault, errorBody(fault, requestId ?? null)),
}

/** The error as the last event of a stream (contract/gateway 5.8). */
export function errorEvent(fault: Fault): string {
  return `event: error\ndata: ${JSON.stringify(errorBody(fault, null))}\n\n`
}
