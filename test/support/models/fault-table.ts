import type { GatewayErrorType } from '../../../src/base/fault.js'
import type { FinishReason } from '../../../src/gateway/formats/canonical.js'

/** An answer with an error status (`retryAfter`: seconds of its Retry-After), or a whole answer with its finish reason. */
export type SeenWhole =
  | { readonly status: number; readonly errorType: GatewayErrorType; readonly retryAfter: number | null }
  | { readonly status: 200; readonly finishReason: FinishReason }

/** As above when nothing was sent before; otherwise a stream that ends with an error chunk (contract/gateway 4.4). */
export type SeenStreamed =
  | SeenWhole
  | {
      readonly status: 200
      /** Events with content before the error. */
      readonly tokensBefore: number
      /** `error.code` and `error.metadata.error_type` of the chunk; its choice has finish_reason `error`. */
      readonly chunk: { readonly code: number; readonly errorType: GatewayErrorType }
    }

/** What a caller sees of a fault model. */
export interface FaultRow {
  readonly model: string
  readonly nonStreaming: SeenWhole
  readonly streaming: SeenStreamed
}

function refused(status: number, errorType: GatewayErrorType, retryAfter: number | null = null): SeenWhole {
  return { status, errorType, retryAfter }
}

function broken(
  code: number,
  errorType: GatewayErrorType,
  tokensBefore: number,
): Pick<FaultRow, 'nonStreaming' | 'streaming'> {
  return {
    nonStreaming: refused(code, errorType),
    streaming: { status: 200, tokensBefore, chunk: { code, errorType } },
  }
}

/** The same seen streaming and not: the error comes before anything is sent, or there is none. */
function alike(seen: SeenWhole): Pick<FaultRow, 'nonStreaming' | 'streaming'> {
  return { nonStreaming: seen, streaming: seen }
}

/**
 * What a caller sees of each fault model when nothing else is tried: a plain text request without limits. The
 * table in docs/guide/simulated-models.md and the contract test read this. A 429 or 503 that names no time gets the
 * gateway's own, 1 s.
 * `sim/fault-flap` alternates: the row tells its first call.
 */
export const FAULT_TABLE: readonly FaultRow[] = [
  { model: 'sim/fault-rate-limited', ...alike(refused(429, 'rate_limit_exceeded', 3)) },
  { model: 'sim/fault-rate-limited-bare', ...alike(refused(429, 'rate_limit_exceeded', 1)) },
  { model: 'sim/fault-error', ...alike(refused(502, 'provider_unavailable')) },
  { model: 'sim/fault-flap', ...alike(refused(503, 'provider_overloaded', 1)) },
  { model: 'sim/fault-refused', ...alike(refused(502, 'provider_unavailable')) },
  { model: 'sim/fault-reset', ...alike(refused(502, 'provider_unavailable')) },
  { model: 'sim/fault-silence', ...alike(refused(524, 'timeout')) },
  { model: 'sim/fault-slow-first-token', ...alike({ status: 200, finishReason: 'stop' }) },
  { model: 'sim/fault-cut', ...broken(502, 'provider_unavailable', 5) },
  { model: 'sim/fault-stall', ...broken(524, 'timeout', 5) },
  { model: 'sim/fault-malformed', ...broken(502, 'provider_unavailable', 5) },
  { model: 'sim/fault-no-terminator', ...broken(502, 'provider_unavailable', 32) },
  { model: 'sim/fault-context-length', ...alike(refused(400, 'context_length_exceeded')) },
  { model: 'sim/fault-content-filter', ...alike({ status: 200, finishReason: 'content_filter' }) },
]
