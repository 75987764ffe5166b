/** What becomes of the parts of a request that the other format cannot say. */
import { Fault } from '../../base/fault.js'
import type { FinishReason, RoutedRequest } from '../formats/canonical.js'
import { asObject, countJsonValues, type JsonObject, parseJson } from '../formats/json-values.js'
import { rejectCall } from '../providers/port/failure.js'
import type { CallHandle, FailureReceiver, ProviderCall } from '../providers/port/provider.js'

/** In the JSON texts of one request: parsing makes an object for every two bytes of `[]`. */
const MOST_PARSED_VALUES = 100_000

/** Keeps account of one request on its way into the other format, or of a part of it at `path`. */
export class Translation {
  /** `droppedFields` is the list of the call: names of fields, each once. */
  constructor(
    private readonly droppedFields: string[],
    private readonly path = '',
    private readonly left = { values: MOST_PARSED_VALUES },
  ) {}

  /** The same for a part of this part. */
  at(path: string | number): Translation {
    return new Translation(this.droppedFields, this.#join(path), this.left)
  }

  #join(path: string | number): string {
    return this.path === '' || path === '' ? `${this.path}${path}` : `${this.path}.${path}`
  }

  /** The field of the request changes nothing that the caller could not do without: it is left out and named. */
  drop(field: string): void {
    if (!this.droppedFields.includes(field)) this.droppedFields.push(field)
  }

  /** A block is left out: its kind is named below `where`, as long as it looks like a word. */
  dropKind(where: string, { type }: { readonly type: string }): void {
    this.drop(`${where}.${/^[a-z0-9_]{1,64}$/.test(type) ? type : 'content'}`)
  }

  /** The object that the JSON text in a field of this part stands for; refuses any other text. */
  parseObject(field: string, text: string): JsonObject {
    this.left.values -= countJsonValues(text, this.left.values)
    if (this.left.values < 0) this.refuse(field, 'is nested too deep, or the request holds too much of it')
    return asObject(parseJson(text)) ?? this.refuse(field, 'must be a JSON object for this provider')
  }

  /**
   * Leaving the field of this part out, or with `''` the part itself, would change what was asked: the call ends
   * before anything is sent.
   */
  refuse(field: string, why = 'cannot be carried out by this provider'): never {
    throw new Fault('bad-request', {
      note: `${this.#join(field)} ${why}`,
      metadata: { error_type: 'invalid_request' },
    })
  }
}

/** Translates a call and begins it; where the translation refuses, the receiver is told so in a later turn. */
export function translate(
  { droppedFields }: ProviderCall<RoutedRequest>,
  receiver: FailureReceiver,
  begin: (translation: Translation) => CallHandle,
): CallHandle {
  try {
    return begin(new Translation(droppedFields))
  } catch (error) {
    if (error instanceof Fault) return rejectCall(error, receiver)
    throw error
  }
}

type WithoutUndefined<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** An object without the members that are undefined. A copy: one whose members are deleted is slow ever after. */
export function withoutUndefined<T extends object>(members: T): WithoutUndefined<T> {
  const all = members as Record<string, unknown>
  const told: Record<string, unknown> = {}
  for (const name in all) if (all[name] !== undefined) told[name] = all[name]
  return told as WithoutUndefined<T>
}

// ── Service tiers: the formats call one of them by different names ─────────────

export function tierForMessages(tier: string | null | undefined): string | undefined {
  return tier === 'default' ? 'standard_only' : (tier ?? undefined)
}

export function tierForChat(tier: string | null | undefined): string | undefined {
  return tier === 'standard_only' ? 'default' : (tier ?? undefined)
}

/** What a messages provider says it served with, as chat says it. */
export function servedTierForChat(tier: string): string {
  return tier === 'standard' ? 'default' : tier
}

/** What a chat provider says it served with, as the messages format says it; null where that has no word for it. */
export function servedTierForMessages(tier: string): string | null {
  if (tier === 'default') return 'standard'
  return tier === 'priority' || tier === 'standard' || tier === 'batch' ? tier : null
}

// ── Why an answer ended (contract/gateway 3.2 and 5.6) ─────────────────────────

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
])

/** An unknown word is a stop: the answer did come to its end. */
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
 * call say `stop` although they call it: what counts is that the caller has to act. `matched`: the stop sequence that
 * ended the answer.
 */
export function stopReasonFor(
  reason: Exclude<FinishReason, 'error'>,
  native: string | null,
  calls: boolean,
  matched: string | null,
): string {
  const meant = reason === 'stop' && calls ? 'tool_calls' : reason
  if (matched !== null && meant === 'stop') return 'stop_sequence'
  return native !== null && FINISH_REASONS.get(native) === meant ? native : STOP_REASONS[meant]
}
