/**
 * What a request wants done by the gateway itself, around and between the turns of a model: tools it runs, plugins, and
 * what ends the loop (contract/tools 1, 4). Read once at the edge; a request without any of it has no `tooling`.
 */
import type { JsonObject } from './json-values.js'

/** A server tool as a request names it. */
export interface RequestedTool {
  /** The neutral name without its prefix: `web_search`, whatever spelling the request chose. */
  readonly name: string
  /** What the request says of it, checked by its schema; dates in native names and shorthands are resolved. */
  readonly parameters: JsonObject
  /** The wire type as it was sent: refusals and native blocks use the caller's own word. */
  readonly type: string
  /** Where it stands in the body, for refusals: `['tools', 2]`. */
  readonly place: readonly (string | number)[]
  /** What the request calls it, where that is another name: `code_execution`, `str_replace_based_edit_tool`. */
  readonly calledName?: string
  /** It came in the vocabulary of the third-party messages format (`web_search_20250305`). */
  readonly isNative: boolean
}

/** A plugin that is to run, from the request or from the defaults of the organization. */
export interface RequestedPlugin {
  readonly id: string
  /** Its other members, checked by its schema. */
  readonly options: JsonObject
  readonly place: readonly (string | number)[]
}

/** contract/gateway 2.9, wire names; any of them that holds ends the loop. */
export type StopCondition =
  | { readonly type: 'step_count_is'; readonly step_count: number }
  | { readonly type: 'has_tool_call'; readonly tool_name: string }
  | { readonly type: 'max_tokens_used'; readonly max_tokens: number }
  | { readonly type: 'max_cost'; readonly max_cost_in_dollars: number }
  | { readonly type: 'finish_reason_is'; readonly reason: string }

/** A file that was read for an earlier request of the conversation; the caller has handed it back (contract/tools 4.2). */
export interface ParsedFile {
  /** Of its bytes and the kind of reader. */
  readonly hash: string
  readonly name: string
  readonly text: string
}

export interface Tooling {
  readonly tools: readonly RequestedTool[]
  readonly plugins: readonly RequestedPlugin[]
  /** Plugins that the request switches off: a default of the organization does not run where that is allowed. */
  readonly disabled: readonly string[]
  /** Null where the request names none; then `maxToolCalls` counts. */
  readonly stopWhen: readonly StopCondition[] | null
  /** From 1 to 30. */
  readonly maxToolCalls: number
  /** Members of the request that say when a loop ends; where no tool is left to run here they say nothing. */
  readonly limits?: readonly string[]
  readonly parsedFiles?: readonly ParsedFile[]
}

/** Further names of `web_search`. */
export const SEARCH_SHORTHANDS = [
  'web_search',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'web_search_2025_08_26',
] as const

/** Prefixes of a tool of the gateway: the neutral one, and another gateway's (contract/decisions 1). */
const PREFIX = /^(?:service|openrouter):/

/** The name of a tool of the gateway without its prefix; null for a type that names none. */
export function serverToolName(type: string): string | null {
  if (SHORTHANDS.has(type)) return 'web_search'
  return PREFIX.test(type) ? type.replace(PREFIX, '') : null
}

const SHORTHANDS: ReadonlySet<string> = new Set(SEARCH_SHORTHANDS)

/** Calls of server tools where a request does not say how many. */
export const MOST_TOOL_CALLS = 30

/** The tooling of a request that asks for nothing itself. */
export const NO_TOOLING: Tooling = Object.freeze({
  tools: [],
  plugins: [],
  disabled: [],
  stopWhen: null,
  maxToolCalls: MOST_TOOL_CALLS,
})
