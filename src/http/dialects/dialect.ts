/** What every wire format for errors has in common. */
import type { Fault, FaultKind } from '../../base/fault.js'
import type { HeaderList, Reply } from '../../transport/exchange.js'
import { JSON_TYPE } from '../reply.js'

export interface ErrorDialect {
  readonly name: 'practice' | 'gateway' | 'oauth' | 'anthropic' | 'scim'
  /** Names of the headers by which every answer says the id of its call. */
  readonly requestIds: readonly string[]
  /** Of all its bodies; `application/json` when absent. */
  readonly mediaType?: string
  /** Pattern of paths below which every answer is in this format, those to paths that do not exist included. */
  readonly area?: `/${string}/*`
  /** Set where no page of another origin is let in, whatever the operator allows otherwise. */
  readonly sameOrigin?: true
  /** Whether the configuration may say who calls operations of this face. */
  readonly lockable: boolean
  /** Status of a fault kind on this face. */
  readonly status: (kind: FaultKind) => number
  /** Whether the body names the call, so that no two are alike. */
  readonly namesCall?: true
  readonly render: (fault: Fault, requestId?: string) => Reply
}

/** Headers a status owes (RFC 9110 sections 10.2.1, 10.2.3 and 11.6.1; RFC 6750 section 3). */
export function faultHeaders(
  fault: Fault,
  status: number,
  extra: HeaderList = [],
  type: HeaderList[number] = JSON_TYPE,
): HeaderList {
  const headers: (readonly [string, string])[] = [type, ...extra]
  if (status === 401) headers.push(['WWW-Authenticate', 'Bearer'])
  if (status === 405) headers.push(['Allow', fault.allow.join(', ')])
  if (status === 429 || status === 503) {
    headers.push(['Retry-After', String(Math.max(1, Math.ceil(fault.retryAfter ?? 1)))])
    headers.push(['Cache-Control', 'no-store'])
  }
  if (fault.rate !== undefined) {
    headers.push(['X-RateLimit-Limit', String(fault.rate.limit)])
    headers.push(['X-RateLimit-Remaining', String(fault.rate.remaining)])
    headers.push(['X-RateLimit-Reset', String(Math.ceil(fault.rate.resetAt))])
  }
  return headers
}
