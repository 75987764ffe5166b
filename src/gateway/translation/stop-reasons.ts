/** Why an answer ended, in the words of both formats (contract/gateway 3.2 and 5.6). */
import type { FinishReason } from '../formats/canonical.js'

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
])

/** A word nobody knows is a stop: the answer did come to its end. */
export function finishReasonFor(stopReason: string | null): FinishReason {
  return FINISH_REASONS.get(stopReason ?? 'end_turn') ?? 'stop'
}

const STOP_REASONS: Readonly<Record<Exclude<FinishReason, 'error'>, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/**
 * A provider's own word stays where it is one of this format and says the same. Servers that were told which tool to
 * call say `stop` although they call it: what counts is that the caller has to act.
 */
export function stopReasonFor(
  reason: Exclude<FinishReason, 'error'>,
  native: string | null,
  calls: boolean,
): string {
  const meant = reason === 'stop' && calls ? 'tool_calls' : reason
  return native !== null && FINISH_REASONS.get(native) === meant ? native : STOP_REASONS[meant]
}
