/** Where the span of an inference belongs, as its caller says. */

import type { RoutedRequest } from '../../gateway/formats/canonical.js'
import { parentSpanOf, traceIdFor } from '../../gateway/formats/trace.js'
import type { Generation } from '../../gateway/run/generation.js'

/** A place in a trace of the caller's. */
export interface TraceParent {
  readonly traceId: string
  /** Null where the caller names the trace alone. */
  readonly spanId: string | null
  /** As `traceparent` has it; 1 is sampled. */
  readonly flags: number
}

const TRACEPARENT = /^([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const SAMPLED = 1

/** Of the `traceparent` header where it is well-formed, else of the body's `trace`; null where neither says it. */
export function findTraceParent({
  traceparent,
  request,
  caller,
}: Generation<RoutedRequest>): TraceParent | null {
  const named = parseTraceParentHeader(traceparent)
  if (named !== null) return named
  const traceId = traceIdFor(request, caller.organizationId)
  return traceId === null ? null : { traceId, spanId: parentSpanOf(request), flags: SAMPLED }
}

/** W3C Trace Context section 3.2: versions after the first may say more behind the flags; ff is none. */
function parseTraceParentHeader(header: string): TraceParent | null {
  const found = TRACEPARENT.exec(header)
  if (found === null) return null
  const [, version, traceId = '', spanId = '', flags = '', more] = found
  if (version === 'ff' || (version === '00' && more !== undefined)) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & SAMPLED }
}
