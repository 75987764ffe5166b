/** From the errors of sockets and of the HTTP parser to the closed list of reasons. */
import type { UpstreamFailure, UpstreamFailureReason, UpstreamPhase } from './port.js'

const REASONS: Readonly<Record<string, UpstreamFailureReason>> = {
  UND_ERR_HEADERS_OVERFLOW: 'too-large',
  UND_ERR_INVALID_ARG: 'protocol',
  UND_ERR_NOT_SUPPORTED: 'protocol',
}

/** What an error means for a call in this phase. Before the request was begun, any error is a refusal to connect. */
export function classifyFailure(error: unknown, phase: UpstreamPhase, sent: boolean): UpstreamFailure {
  const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown }
  if (name === 'HTTPParserError') return { reason: 'protocol', phase, requestSent: sent, cause: NO_HTTP }
  const named = typeof code === 'string' ? REASONS[code] : undefined
  return { reason: named ?? (sent ? 'reset' : 'refused'), phase, requestSent: sent, cause: error }
}

/** Stands for the parser's error, which carries the bytes it stumbled over: a part of an answer, not for a log. */
const NO_HTTP = 'the answer is no HTTP/1.1'
