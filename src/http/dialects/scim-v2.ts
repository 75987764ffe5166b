/** Errors of the provisioning service (RFC 7644 section 3.12): the gateway's statuses in a directory's words. */
import type { Fault, FaultKind } from '../../base/fault.js'
import { type ErrorDialect, faultHeaders } from './dialect.js'
import { faultMessage, gateway } from './gateway.js'

export const SCIM_TYPE = 'application/scim+json'

const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error'

/** What a violation that the pipeline has found is called; those of resources bring a keyword of their own. */
const KEYWORDS: Partial<Record<FaultKind, string>> = {
  'bad-request': 'invalidSyntax',
  'invalid-input': 'invalidSyntax',
}

function errorBody(fault: Fault, status: number): object {
  const { kind, note, scimType = KEYWORDS[kind] } = fault
  return {
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType !== undefined && { scimType }),
    // Administrators of a directory read this sentence and nothing else.
    detail: kind === 'internal' ? faultMessage(fault) : (note ?? faultMessage(fault)),
  }
}

export const scimV2: ErrorDialect = {
  name: 'scim',
  requestIds: ['x-request-id'],
  mediaType: SCIM_TYPE,
  area: '/api/v1/scim/v2/*',
  sameOrigin: true,
  lockable: false,
  status: gateway.status,
  render: (fault) => {
    const status = gateway.status(fault.kind)
    const headers = faultHeaders(fault, status, [], ['Content-Type', SCIM_TYPE])
    return { status, headers, body: JSON.stringify(errorBody(fault, status)) }
  },
}
