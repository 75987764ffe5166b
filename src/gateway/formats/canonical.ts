/**
 * What every codec and every provider speaks.
 *
 * A canonical request is a validated chat request (contract/gateway 2), wire names included: it is the
 * widest of the formats, so nothing is lost on the way into it, and the commonest pair (a chat caller, an
 * OpenAI-compatible provider) crosses without a copy. Answers are canonical events or a canonical completion.
 */
import type { Fault } from '../../base/fault.js'
import type { CacheControl, ContentPart, PromptCacheOptions, TextPart } from './chat-parts.js'
import type { JsonObject } from './json-values.js'
import type { Tooling } from './tooling.js'
import type { Usage } from './usage.js'

export type { CacheControl, ContentPart, PromptCacheOptions, TextPart } from './chat-parts.js'
export { NO_USAGE, type Usage, type UsageDetails, withoutZeros } from './usage.js'

export interface ToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** contract/gateway 3.5; passed on unchanged in both directions. */
export interface ReasoningDetail {
  readonly type: string
  readonly [member: string]: unknown
}

export type ChatMessage =
  | {
      readonly role: 'system' | 'developer'
      readonly content: string | readonly TextPart[]
      readonly name?: string
      readonly configuration_update?: { readonly reasoning: { readonly effort: ReasoningEffort } } | null
    }
  | { readonly role: 'user'; readonly content: string | readonly ContentPart[]; readonly name?: string }
  | {
      readonly role: 'assistant'
      readonly content?: string | readonly ContentPart[] | null
      readonly name?: string
      readonly refusal?: string | null
      readonly tool_calls?: readonly ToolCall[]
      readonly audio?: JsonObject
      readonly images?: readonly JsonObject[]
      readonly reasoning?: string | null
      readonly reasoning_details?: readonly ReasoningDetail[]
      readonly model?: string
    }
  | {
      readonly role: 'tool'
      readonly content: string | readonly ContentPart[]
      readonly tool_call_id: string
    }

export interface FunctionTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: JsonObject
    readonly strict?: boolean | null
  }
  readonly cache_control?: CacheControl
}

/** A tool the gateway or the provider would run itself; kinds of contract/gateway 2.4. */
interface ServerTool {
  readonly type: string
  readonly [member: string]: unknown
}

export type ChatTool = FunctionTool | ServerTool

export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: 'function'; readonly function: { readonly name: string } }
  | { readonly type: string }

export type ResponseFormat =
  | { readonly type: 'text' | 'json_object' | 'python' }
  | {
      readonly type: 'json_schema'
      readonly json_schema: {
        readonly name: string
        readonly description?: string
        readonly schema?: JsonObject
        readonly strict?: boolean | null
      }
    }
  | { readonly type: 'grammar'; readonly grammar: string }

export type ReasoningEffort = 'max' | 'xhigh' | 'high' | 'medium' | 'low' | 'minimal' | 'none'

export interface ProviderPreferences {
  readonly order?: readonly string[] | null
  readonly only?: readonly string[] | null
  readonly ignore?: readonly string[] | null
  readonly allow_fallbacks?: boolean | null
  readonly hedge?: boolean | null
  readonly require_parameters?: boolean | null
  readonly data_collection?: 'allow' | 'deny' | null
  readonly zdr?: boolean | null
  readonly enforce_distillable_text?: boolean | null
  readonly quantizations?: readonly string[] | null
  readonly sort?: string | { readonly by?: string | null; readonly partition?: string | null } | null
  readonly max_price?: Readonly<Record<string, string | number>>
  readonly preferred_min_throughput?: unknown
  readonly preferred_max_latency?: unknown
  readonly [extra: string]: unknown
}

/** A file of the caller's workspace that a request names by its id. */
export interface NamedFile {
  readonly id: string
  readonly filename: string
  /** Told by the content. */
  readonly mimeType: string
  readonly sizeBytes: number
}

/** What the gateway itself reads of a request, whatever its format; the wire names are the same in all of them. */
export interface RoutedRequest {
  readonly model?: string
  readonly models?: readonly string[]
  readonly stream?: boolean
  /** What the answer is made of; text when absent. */
  readonly modalities?: readonly ('text' | 'image' | 'audio')[]
  readonly provider?: ProviderPreferences | null
  readonly route?: 'fallback' | 'sort' | null
  readonly service_tier?: string | null
  readonly session_id?: string
  /** The session says what the call belongs to and binds it to no endpoint (contract/decisions 59). */
  readonly is_session_loose?: true
  readonly user?: string
  /** Further names of the person or the account that a call is for; they go into the pseudonym and nowhere else. */
  readonly account?: string
  readonly trace?: JsonObject
  /** Members that say nothing in this request; told to the caller. */
  readonly idle?: readonly string[]
  /** Members that no schema here names (contract/decisions 46); none of them is null. */
  readonly extra?: JsonObject
  /** What the gateway itself is to do around the turns of the model; absent where that is nothing. */
  readonly tooling?: Tooling
  /** The files that it names, found in the caller's workspace; absent where it names none. */
  readonly files?: readonly NamedFile[]
}

/** A validated chat request. Members that were not sent are absent. */
export interface ChatRequest extends RoutedRequest {
  readonly messages: readonly ChatMessage[]
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly top_k?: number | null
  readonly top_a?: number | null
  readonly min_p?: number | null
  readonly frequency_penalty?: number | null
  readonly presence_penalty?: number | null
  readonly repetition_penalty?: number | null
  readonly logit_bias?: Readonly<Record<string, number>> | null
  readonly logprobs?: boolean | null
  readonly top_logprobs?: number | null
  readonly seed?: number | null
  readonly stop?: string | readonly string[] | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  /** How the sound of a spoken answer is to be. */
  readonly audio?: { readonly voice: string; readonly format: string } | null
  readonly image_config?: JsonObject
  readonly prediction?: { readonly type: 'content'; readonly content: string | readonly TextPart[] } | null
  readonly response_format?: ResponseFormat
  readonly tools?: readonly ChatTool[]
  readonly tool_choice?: ToolChoice
  readonly parallel_tool_calls?: boolean | null
  readonly stop_server_tools_when?: readonly JsonObject[]
  readonly max_tool_calls?: number
  readonly reasoning?: {
    readonly effort?: ReasoningEffort | null
    readonly summary?: 'auto' | 'concise' | 'detailed' | null
    readonly max_tokens?: number | null
    readonly exclude?: boolean | null
    readonly enabled?: boolean | null
  } | null
  readonly reasoning_effort?: ReasoningEffort | null
  readonly plugins?: readonly JsonObject[]
  readonly cache_control?: CacheControl
  readonly prompt_cache_options?: PromptCacheOptions | null
  readonly prompt_cache_key?: string | null
  readonly metadata?: Readonly<Record<string, string>>
  readonly debug?: { readonly echo_upstream_body?: boolean }
  readonly verbosity?: string | null
  readonly include_reasoning?: boolean | null
  readonly structured_outputs?: boolean | null
}

// ── Answers ─────────────────────────────────────────────────────────────────

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'

interface TokenChance {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[] | null
}

export interface TokenLogprob extends TokenChance {
  readonly top_logprobs: readonly TokenChance[]
}

export interface Logprobs {
  readonly content: readonly TokenLogprob[] | null
  readonly refusal: readonly TokenLogprob[] | null
}

export interface ToolCallDelta {
  readonly index: number
  readonly id?: string
  readonly type?: 'function'
  readonly function: { readonly name?: string; readonly arguments?: string }
}

/** What a message, and an event of one, may say beside its text. */
interface MessageExtras {
  readonly reasoning_details?: readonly ReasoningDetail[]
  readonly audio?: JsonObject
  readonly images?: readonly JsonObject[]
  readonly annotations?: readonly JsonObject[]
}

/** What one event adds to a choice; wire names of contract/gateway 4.3, without `role`. Absent members say nothing. */
export interface ChatDelta extends MessageExtras {
  readonly content?: string
  readonly reasoning?: string
  readonly refusal?: string
  readonly tool_calls?: readonly ToolCallDelta[]
}

/** How a choice ended. */
export interface ChatFinish {
  readonly reason: FinishReason
  /** The provider's own word. */
  readonly native: string | null
  /** The stop sequence that ended it, where the provider tells which one. */
  readonly stopSequence?: string
}

/** One step of a streamed answer. */
export type ChatEvent =
  | {
      readonly type: 'delta'
      readonly choice: number
      readonly delta: ChatDelta
      readonly logprobs?: Logprobs
    }
  | (ChatFinish & { readonly type: 'finish'; readonly choice: number })
  /** The provider's figures; comes at most once, before the end. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'tier'; readonly serviceTier: string }
  /** The configuration of the provider's that answers; once, before what it says. */
  | { readonly type: 'fingerprint'; readonly fingerprint: string }

/** The message of a choice; wire names of contract/gateway 3.2. `content` and `refusal` are never absent. */
export interface AssistantMessage extends MessageExtras {
  readonly role: 'assistant'
  readonly content: string | null
  readonly refusal: string | null
  readonly reasoning?: string | null
  readonly tool_calls?: readonly ToolCall[]
}

export interface CompletionChoice {
  readonly index: number
  readonly message: AssistantMessage
  readonly finishReason: FinishReason
  readonly native: string | null
  readonly stopSequence?: string
  readonly logprobs: Logprobs | null
  /** Why a choice broke off that had said something; its finish reason is `error` then. */
  readonly error?: Fault
}

/** A whole answer. */
export interface Completion {
  readonly choices: readonly CompletionChoice[]
  /** Null when the provider sent no figures. */
  readonly usage: Usage | null
  readonly serviceTier: string | null
  /** `system_fingerprint` of the provider, where it sends one. */
  readonly fingerprint?: string
}

/** What kind of call it is: the format that it is asked and answered in. */
export type InferenceOperation = 'chat' | 'messages' | 'speech' | 'transcription' | 'embeddings'

/** Why an answer ended: in the words of its format, and in the provider's own where they are known. */
export interface AnswerFinish {
  readonly reason: string
  readonly native: string | null
}

/** How an inference ended. `aborted`: the caller left before the end. */
export type InferenceOutcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly fault: Fault }
  | { readonly kind: 'aborted' }
