/** What the `trace` of a request means for the traces of an operator (contract/gateway 2.1). */
import { hash } from 'node:crypto'
import type { RoutedRequest } from './canonical.js'
import type { JsonObject } from './json-values.js'

/** Members with a meaning of their own; all others are the caller's labels. */
const KNOWN_MEMBERS: ReadonlySet<string> = new Set([
  'trace_id',
  'trace_name',
  'span_name',
  'generation_name',
  'parent_span_id',
])

const TRACE_ID = /^(?!0{32}$)[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16}$)[0-9a-f]{16}$/
const TRACE_ID_CHARS = 32

/** A text of the `trace`; undefined when absent or empty. */
export function traceText({ trace }: RoutedRequest, member: string): string | undefined {
  const value = trace?.[member]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * The trace that a request belongs to, in the form that traces have: one that has it passes, any other text stands for
 * one and the same trace of its organization. Null where the request names none.
 */
export function traceIdFor(request: RoutedRequest, organizationId: string): string | null {
  const text = traceText(request, 'trace_id')
  if (text === undefined) return null
  const lower = text.toLowerCase()
  return TRACE_ID.test(lower)
    ? lower
    : hash('sha256', `trace\n${organizationId}\n${text}`, 'hex').slice(0, TRACE_ID_CHARS)
}

/** The span that a request belongs to; null where it names none, or what can be none. */
export function parentSpanOf(request: RoutedRequest): string | null {
  const lower = traceText(request, 'parent_span_id')?.toLowerCase() ?? ''
  return SPAN_ID.test(lower) ? lower : null
}

/** Members of the `trace` that can have no effect: a span without its trace, or one that can be none. */
export function idleTraceMembers(request: RoutedRequest): readonly string[] {
  if (request.trace === undefined || traceText(request, 'parent_span_id') === undefined) return []
  const isIdle = parentSpanOf(request) === null || traceText(request, 'trace_id') === undefined
  return isIdle ? ['trace.parent_span_id'] : []
}

/** The caller's own labels of a `trace`, each as text. */
export function traceLabels(trace: JsonObject | undefined): readonly (readonly [string, string])[] {
  if (trace === undefined) return []
  return Object.entries(trace)
    .filter(([name, value]) => !KNOWN_MEMBERS.has(name) && value !== undefined)
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)])
}
