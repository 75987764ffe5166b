/** Where the span of an inference belongs, as its caller says. */
import type { RoutedRequest } from '../../gateway/formats/canonical.js'
import type { Generation } from '../../gateway/run/generation.js'

/** A place in a trace of the caller's. */
export interface TraceParent {
  readonly traceId: string
  /** Null where the caller names the trace alone. */
  readonly spanId: string | null
  /** As `traceparent` has it; 1 is sampled. */
  readonly flags: number
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const TRACE_ID = /^(?!0{32}$)[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16}$)[0-9a-f]{16}$/
const SAMPLED = 1

/** Of the `traceparent` header where it is well-formed, else of the body's `trace`; null where neither says it. */
export function findTraceParent({ traceparent, request }: Generation<RoutedRequest>): TraceParent | null {
  return parseTraceParentHeader(traceparent) ?? traceParentOfBody(request)
}

/** W3C Trace Context section 3.2: versions after the first may say more behind the flags; ff is none. */
function parseTraceParentHeader(header: string): TraceParent | null {
  const found = TRACEPARENT.exec(header)
  if (found === null) return null
  const [, version, traceId = '', spanId = '', flags = '', more] = found
  if (version === 'ff' || (version === '00' && more !== undefined)) return null
  if (!TRACE_ID.test(traceId) || !SPAN_ID.test(spanId)) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & SAMPLED }
}

function traceParentOfBody(request: RoutedRequest): TraceParent | null {
  const traceId = traceText(request, 'trace_id') ?? ''
  const spanId = traceText(request, 'parent_span_id') ?? ''
  if (!TRACE_ID.test(traceId)) return null
  return { traceId, spanId: SPAN_ID.test(spanId) ? spanId : null, flags: SAMPLED }
}

/** Callers may say anything of any length; this much of it is kept. */
const LONGEST_TRACE_TEXT = 256

/** A text of the body's `trace`, cut; undefined when absent or empty. */
export function traceText({ trace }: RoutedRequest, member: string): string | undefined {
  const value = trace?.[member]
  return typeof value === 'string' && value !== '' ? value.slice(0, LONGEST_TRACE_TEXT) : undefined
}
