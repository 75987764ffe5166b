/** How a choice ended, in the words of many servers. */
import type { ChatFinish, FinishReason } from '../../formats/canonical.js'
import { type JsonObject, nonEmptyText } from '../../formats/json-values.js'

/** Words of servers (contract/gateway 3.2). */
const NATIVE_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop end_turn eos eos_token stop_sequence complete end normal',
  length: 'length max_tokens max_output_tokens max_length model_length token_limit',
  tool_calls: 'tool_calls tool_call tool_use function_call',
  content_filter: 'content_filter content_filtered safety refusal recitation blocked',
  error: 'error abort aborted',
}

const REASONS: ReadonlyMap<string, FinishReason> = new Map(
  (Object.keys(NATIVE_REASONS) as FinishReason[]).flatMap((reason) =>
    NATIVE_REASONS[reason].split(' ').map((native) => [native, reason] as const),
  ),
)

/** How a choice ended. An unknown word is a stop: the answer did come to its end. */
export function parseFinish(choice: JsonObject): ChatFinish {
  const native = nonEmptyText(choice.finish_reason) ?? null
  const reason =
    native === null ? 'stop' : (REASONS.get(native) ?? REASONS.get(native.toLowerCase()) ?? 'stop')
  const told = { reason, native: nonEmptyText(choice.native_finish_reason) ?? native }
  // The one is the name of vLLM, the other of SGLang; a number is the id of a token.
  const matched = reason === 'stop' ? (choice.stop_reason ?? choice.matched_stop) : undefined
  return typeof matched === 'string' && matched !== '' ? { ...told, stopSequence: matched } : told
}

/** What a server says of a choice that it could not finish. */
export function choiceError({ error }: JsonObject): unknown {
  return error || { message: 'the answer broke off' }
}

/** It stands in every chunk. */
const LONGEST_FINGERPRINT = 256

/** What a server calls the build that answers; undefined when it does not say, or says a book. */
export function parseFingerprint({ system_fingerprint: told }: JsonObject): string | undefined {
  const fingerprint = nonEmptyText(told)
  return fingerprint !== undefined && fingerprint.length <= LONGEST_FINGERPRINT ? fingerprint : undefined
}
