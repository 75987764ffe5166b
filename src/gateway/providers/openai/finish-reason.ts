/** Why servers say they stopped, in the words of contract/gateway 3.2. */
import type { FinishReason } from '../../formats/canonical.js'

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ...nativeReasons('stop', [
    'stop',
    'end_turn',
    'eos',
    'eos_token',
    'stop_sequence',
    'complete',
    'end',
    'normal',
  ]),
  ...nativeReasons('length', [
    'length',
    'max_tokens',
    'max_output_tokens',
    'max_length',
    'model_length',
    'token_limit',
  ]),
  ...nativeReasons('tool_calls', ['tool_calls', 'tool_call', 'tool_use', 'function_call']),
  ...nativeReasons('content_filter', [
    'content_filter',
    'content_filtered',
    'safety',
    'refusal',
    'recitation',
    'blocked',
  ]),
  ...nativeReasons('error', ['error', 'abort', 'aborted']),
])

function nativeReasons(
  reason: FinishReason,
  natives: readonly string[],
): readonly (readonly [string, FinishReason])[] {
  return natives.map((native) => [native, reason])
}

interface ParsedFinish {
  readonly reason: FinishReason
  /** The server's own word. */
  readonly native: string | null
}

/** A word nobody knows is a stop: the answer did come to its end. */
export function parseFinishReason(value: unknown): ParsedFinish {
  const native = typeof value === 'string' && value !== '' ? value : null
  return { reason: REASONS.get(native?.toLowerCase() ?? 'stop') ?? 'stop', native }
}
