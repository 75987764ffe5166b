/** What the headers of an inference call ask for (contract/gateway 1.3). */
import type { HttpCall } from '../http/endpoint.js'

export const SESSION_HEADER = 'x-session-id'

/** The opt-in to routing metadata: the names in use, then those of before. */
const METADATA_HEADERS = ['x-service-metadata', 'x-openrouter-metadata'] as const
const FORMER_METADATA_HEADERS = [
  'x-service-experimental-metadata',
  'x-openrouter-experimental-metadata',
] as const

/** Asks the simulated provider for a behaviour, where its operator allows that. */
export const SIMULATE_HEADER = 'x-service-simulate'
/** `disabled` keeps a stream free of comments, for clients that choke on them. */
const KEEP_ALIVE_HEADER = 'x-service-keep-alive'

/** `enabled` asks for a `Server-Timing` header on the answer. */
const TIMING_HEADER = 'x-service-timing'
/** W3C Trace Context. */
export const TRACE_HEADER = 'traceparent'

/** Request headers that an inference reads, for `endpoint({ headers })`. */
export const INFERENCE_HEADERS: readonly string[] = [
  SESSION_HEADER,
  ...METADATA_HEADERS,
  ...FORMER_METADATA_HEADERS,
  SIMULATE_HEADER,
  KEEP_ALIVE_HEADER,
  TIMING_HEADER,
  TRACE_HEADER,
]

/** Whether the caller asks for routing metadata. A present header in use decides over the former ones. */
export function wantsMetadata(call: Pick<HttpCall, 'header'>): boolean {
  for (const names of [METADATA_HEADERS, FORMER_METADATA_HEADERS]) {
    for (const name of names) {
      const value = call.header(name)
      if (value !== '') return value.trim().toLowerCase() === 'enabled'
    }
  }
  return false
}

/** Whether a silence of a stream may be broken. */
export function wantsKeepAlive(call: Pick<HttpCall, 'header'>): boolean {
  return call.header(KEEP_ALIVE_HEADER).toLowerCase() !== 'disabled'
}

/** Whether the caller wants to know where the time went. */
export function wantsTiming(call: Pick<HttpCall, 'header'>): boolean {
  return call.header(TIMING_HEADER).toLowerCase() === 'enabled'
}
