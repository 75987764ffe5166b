/**
 * What a caller and a provider of the third-party messages format say to each other inside the gateway
 * (contract/gateway 5). Wire names throughout; where both sides speak it, blocks and events cross as they
 * are, members unknown to us included.
 */
import type { CacheControl, RoutedRequest, Usage } from './canonical.js'

/** One content block of any kind; code that reads members of a kind checks them itself. */
export interface ContentBlock {
  readonly type: string
  readonly [member: string]: unknown
}

export interface MessagesMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string | readonly ContentBlock[]
  readonly [member: string]: unknown
}

export interface MessagesTool {
  /** Absent or null means `custom`. */
  readonly type?: string | null | undefined
  readonly name?: string
  readonly description?: string
  readonly input_schema?: Readonly<Record<string, unknown>>
  readonly cache_control?: CacheControl | null
  readonly [member: string]: unknown
}

export type MessagesToolChoice =
  | { readonly type: 'auto' | 'any'; readonly disable_parallel_tool_use?: boolean }
  | { readonly type: 'tool'; readonly name: string; readonly disable_parallel_tool_use?: boolean }
  | { readonly type: 'none' }

export type ThinkingConfig =
  | { readonly type: 'enabled'; readonly budget_tokens: number; readonly [member: string]: unknown }
  | { readonly type: 'adaptive'; readonly [member: string]: unknown }
  | { readonly type: 'disabled' | 'between_tools' }

/** A validated messages request. `fallbacks` has become `models`, `metadata.user_id` stands in for an absent `user`. */
export interface MessagesRequest extends RoutedRequest {
  readonly model: string
  readonly messages: readonly MessagesMessage[]
  readonly max_tokens: number
  readonly system?: string | readonly ContentBlock[]
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
  readonly stop_sequences?: readonly string[]
  readonly tools?: readonly MessagesTool[]
  readonly tool_choice?: MessagesToolChoice
  readonly thinking?: ThinkingConfig
  readonly output_config?: {
    readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null
    readonly format?: {
      readonly type: 'json_schema'
      readonly schema: Readonly<Record<string, unknown>>
    } | null
    readonly task_budget?: Readonly<Record<string, unknown>> | null
    readonly [member: string]: unknown
  }
  readonly speed?: 'fast' | 'standard' | null
  readonly context_management?: Readonly<Record<string, unknown>> | null
  readonly cache_control?: CacheControl | null
  readonly compaction?: Readonly<Record<string, unknown>> | null
  /** Skills that a provider has for everybody; never an id. */
  readonly container?: Readonly<Record<string, unknown>> | null
  readonly inference_geo?: string | null
  readonly safeguards?: readonly Readonly<Record<string, unknown>>[] | null
}

/** `usage` of contract/gateway 5.6 as a provider sent it, or as much as it said so far. */
export type MessagesUsage = Readonly<Record<string, unknown>>

/** In which tier an answer was served, in the provider's word, `fast` where its speed was; null where it says nothing. */
export function servedTier(usage: MessagesUsage | null): string | null {
  if (usage === null) return null
  const { speed, service_tier: tier } = usage
  if (speed === 'fast') return speed
  return typeof tier === 'string' && tier !== '' ? tier : null
}

/** Reasons that an answer ends with (contract/gateway 5.6). */
export const MESSAGES_STOP_REASONS = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'compaction',
  'model_context_window_exceeded',
] as const

export interface StopInfo {
  readonly stop_reason: string | null
  readonly stop_sequence: string | null
  readonly stop_details: Readonly<Record<string, unknown>> | null
  readonly container: Readonly<Record<string, unknown>> | null
  readonly context_management?: Readonly<Record<string, unknown>> | null
}

/** One step of a streamed answer in the messages format. */
export type MessagesEvent =
  /** The provider has begun; what it says of the input. At most once and first; not content. */
  | {
      readonly type: 'start'
      readonly usage: MessagesUsage | null
      readonly container?: StopInfo['container']
    }
  /**
   * A `content_block_start`, `content_block_delta` or `content_block_stop`. `data` is its JSON as it goes on the
   * wire, `event` the same parsed. Indexes count from 0 without gaps.
   */
  | { readonly type: 'block'; readonly data: string; readonly event: ContentBlockEvent }
  /** The answer's end as `message_delta` tells it; before `usage` and the end. */
  | { readonly type: 'stop'; readonly stop: StopInfo }
  /**
   * Final figures: `usage` by the canonical rule, `wire` as the provider sent them, null when it is of another
   * format; `serviceTier` is told where `wire` cannot tell it.
   */
  | {
      readonly type: 'usage'
      readonly usage: Usage
      readonly wire: MessagesUsage | null
      readonly serviceTier?: string | null
    }

export type ContentBlockEvent =
  | { readonly type: 'content_block_start'; readonly index: number; readonly content_block: ContentBlock }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: ContentBlock }
  | { readonly type: 'content_block_stop'; readonly index: number }

/** A whole answer in the messages format. */
export interface MessagesAnswer {
  readonly content: readonly ContentBlock[]
  readonly stop: StopInfo
  /** By the canonical rule; null when the provider sent none. */
  readonly usage: Usage | null
  /** As the provider sent them; null when it is of another format. */
  readonly wireUsage: MessagesUsage | null
  /** Told where `wireUsage` cannot tell it. */
  readonly serviceTier?: string | null
}

/** The commonest event by far, a piece of text, costs one string to be escaped. */
export function blockEventJson(event: ContentBlockEvent): string {
  if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') return JSON.stringify(event)
  const text = JSON.stringify(event.delta.text)
  return `{"type":"content_block_delta","index":${event.index},"delta":{"type":"text_delta","text":${text}}}`
}
