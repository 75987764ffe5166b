/** What the headers of an inference ask for, and what they say of the calling program (contract/gateway 1.3). */
import type { CallingClient } from '../gateway/run/generation.js'
import type { HttpCall } from '../http/endpoint.js'
import { SESSION_HEADER } from './request-members.js'

/** The opt-in to routing metadata: the names in use, then those of before. */
const METADATA_HEADERS = [
  'x-service-metadata',
  'x-openrouter-metadata',
  'x-service-experimental-metadata',
  'x-openrouter-experimental-metadata',
] as const

/** Asks the simulated provider for a behaviour, where its operator allows that. */
export const SIMULATE_HEADER = 'x-service-simulate'
/** `disabled` keeps a stream free of comments, for clients that choke on them. */
export const KEEP_ALIVE_HEADER = 'x-service-keep-alive'

/** `enabled` asks for chunks that tell of server tools (contract/tools 1.5). */
export const TOOL_EVENTS_HEADER = 'x-service-tool-events'

/** `enabled` asks for a `Server-Timing` header on the answer. */
export const TIMING_HEADER = 'x-service-timing'
/** W3C Trace Context. */
export const TRACE_HEADER = 'traceparent'

/** What the calling program says of itself, for the row in the ledger; the first name that is there counts. */
const AGENT_HEADER = 'user-agent'
const REFERER_HEADERS = ['http-referer', 'referer'] as const
const TITLE_HEADERS = ['x-service-title', 'x-openrouter-title', 'x-title'] as const

/** Request headers that an inference reads, for `endpoint({ headers })`. */
export const INFERENCE_HEADERS: readonly string[] = [
  SESSION_HEADER,
  ...METADATA_HEADERS,
  SIMULATE_HEADER,
  KEEP_ALIVE_HEADER,
  TOOL_EVENTS_HEADER,
  TIMING_HEADER,
  TRACE_HEADER,
  AGENT_HEADER,
  ...REFERER_HEADERS,
  ...TITLE_HEADERS,
]

/** Whether the caller asks for routing metadata. A present header in use decides over the former ones. */
export function wantsMetadata(call: Pick<HttpCall, 'header'>): boolean {
  for (const name of METADATA_HEADERS) {
    const value = call.header(name)
    if (value !== '') return value.trim().toLowerCase() === 'enabled'
  }
  return false
}

/** For the row in the ledger. */
export function callingClient(call: HttpCall): CallingClient {
  return {
    agent: call.header(AGENT_HEADER),
    referer: firstHeader(call, REFERER_HEADERS),
    title: firstHeader(call, TITLE_HEADERS),
  }
}

function firstHeader(call: HttpCall, names: readonly string[]): string {
  for (const name of names) {
    const value = call.header(name)
    if (value !== '') return value
  }
  return ''
}
