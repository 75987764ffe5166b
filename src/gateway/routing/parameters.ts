/** Which members of a request an endpoint takes, and what becomes of the others (contract/decisions 46 and 62). */
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { InferenceOperation, RoutedRequest } from '../formats/canonical.js'
import { isNeverPassed } from '../formats/extra-members.js'
import type { JsonObject } from '../formats/json-values.js'

/** Members of every request that say something to the gateway and nothing to the model. */
const COMMON_GATEWAY_MEMBERS = [
  'model',
  'models',
  'provider',
  'route',
  'stream',
  'plugins',
  'session_id',
  'user',
  'account',
  'trace',
  'metadata',
  'service_tier',
  'tooling',
  'idle',
] as const

/** These, and what is no parameter of sampling: it goes to every endpoint, or its translation decides. */
const TEXT_GATEWAY_MEMBERS: ReadonlySet<string> = new Set([
  ...COMMON_GATEWAY_MEMBERS,
  'messages',
  'system',
  'files',
  'stream_options',
  'debug',
  'stop_server_tools_when',
  'max_tool_calls',
  'cache_control',
  'prompt_cache_options',
  'prompt_cache_key',
  'modalities',
  'audio',
  'image_config',
  'speed',
  'context_management',
  'compaction',
  'container',
  'inference_geo',
  'safeguards',
])

/** Of requests that are spoken, heard or embedded: what they are about, and how the answer is written down. */
const OTHER_GATEWAY_MEMBERS: ReadonlySet<string> = new Set([
  ...COMMON_GATEWAY_MEMBERS,
  'input',
  'voice',
  'audio',
  'language',
  'response_format',
  'timestamp_granularities',
  'is_session_loose',
  'encoding_format',
])

// ── What a member asks for ────────────────────────────────────────────────────

const REASONING = ['reasoning', 'reasoning_effort'] as const
const TOKEN_LIMITS = ['max_tokens', 'max_completion_tokens'] as const

/** Names under which a catalogue may list what a member asks for, where they are not its own. */
const LISTED_AS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['stop_sequences', ['stop']],
  ['thinking', REASONING],
  ['reasoning', REASONING],
  ['reasoning_effort', REASONING],
  ['max_tokens', TOKEN_LIMITS],
  ['max_completion_tokens', TOKEN_LIMITS],
])

/** Values that ask for nothing. */
const SAYS_NOTHING: ReadonlyMap<string, (value: never) => boolean> = new Map<
  string,
  (value: never) => boolean
>([
  ...['top_k', 'top_a', 'min_p', 'frequency_penalty', 'presence_penalty'].map(
    (name) => [name, (value: number) => value === 0] as const,
  ),
  ['repetition_penalty', (value: number) => value === 1],
  ...['logprobs', 'structured_outputs', 'include_reasoning'].map(
    (name) => [name, (value: boolean) => !value] as const,
  ),
  ['parallel_tool_calls', (value: boolean) => value],
  ['image_config', (value: object) => Object.keys(value).length === 0],
  ['speed', (value: unknown) => value === 'standard'],
  ['context_management', ({ edits }: { readonly edits?: readonly unknown[] }) => !edits?.length],
  ['reasoning_effort', (value: string) => value === 'none'],
  ['thinking', ({ type }: { readonly type: string }) => type === 'disabled'],
  ['tools', (value: readonly unknown[]) => value.length === 0],
  ['tool_choice', (value: unknown) => value === 'auto' || (value as JsonObject).type === 'auto'],
  ['response_format', ({ type }: { readonly type: string }) => type === 'text'],
])

function asksForNothing(name: string, value: unknown): boolean {
  if (value === undefined || value === null) return true
  return SAYS_NOTHING.get(name)?.(value as never) ?? false
}

function isListed({ supportedParameters }: ModelEndpoint, name: string): boolean {
  if (supportedParameters.has(name)) return true
  return LISTED_AS.get(name)?.some((listed) => supportedParameters.has(listed)) ?? false
}

function takesExtra({ provider: { extraMembers } }: ModelEndpoint, name: string): boolean {
  return extraMembers.has(name) || (extraMembers.has('*') && !isNeverPassed(name))
}

// ── Before an endpoint is chosen ───────────────────────────────────────────────

/** Without these an answer is of another kind than the one that was asked for. */
const DEMANDS = ['tools', 'tool_choice', 'response_format', 'logprobs', 'structured_outputs'] as const

/** Name of a demand of a chat or messages request that an endpoint cannot meet; null when there is none. */
export function unmetDemand(endpoint: ModelEndpoint, request: RoutedRequest): string | null {
  if (!('messages' in request)) return null
  const asked = request as unknown as JsonObject
  if (isPlain(asked)) return null
  for (const name of DEMANDS) {
    const value = asked[name]
    if (value !== undefined && !isListed(endpoint, name) && !asksForNothing(name, value)) return name
  }
  const output = asked.output_config as { readonly format?: unknown } | null | undefined
  return output?.format != null && !isListed(endpoint, 'response_format') ? 'response_format' : null
}

const NO_DEMANDS: readonly string[] = Object.freeze([])

/**
 * Names of the members by which `unmetDemand` decides, and, where `require_parameters` asks for all of them to be taken,
 * of all others that say something: what `requestOfDemands` makes a request of that is planned alike.
 */
export function demandsOf(request: RoutedRequest): readonly string[] {
  if (!('messages' in request)) return NO_DEMANDS
  const asked = request as unknown as JsonObject
  const isStrict = request.provider?.require_parameters === true
  if (!isStrict && isPlain(asked)) return NO_DEMANDS
  const names = isStrict
    ? Object.keys(asked).filter((name) => !TEXT_GATEWAY_MEMBERS.has(name) && name !== 'extra')
    : [...DEMANDS, 'output_config']
  return names.filter((name) => !asksForNothing(name, asked[name]))
}

/** Values that say something, where 1 would not, or would be no value of that member. */
const SAYS_SOMETHING: Readonly<Record<string, unknown>> = {
  ...{ tools: [{}], tool_choice: 'required', response_format: { type: 'json_object' } },
  ...{ output_config: { format: {} }, parallel_tool_calls: false, repetition_penalty: 2 },
  ...{ reasoning_effort: 'low', thinking: { type: 'enabled' } },
}

/** Members for a request that asks for as much of an endpoint as the one that they are of. */
export function requestOfDemands(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, SAYS_SOMETHING[name] ?? 1]))
}

/** Asks for words and nothing else, as most requests do. Names are written out: looking them up one by one costs more. */
function isPlain(asked: JsonObject): boolean {
  if (asked.tools !== undefined || asked.tool_choice !== undefined || asked.logprobs !== undefined)
    return false
  if (asked.response_format !== undefined || asked.structured_outputs !== undefined) return false
  return asked.output_config === undefined
}

/** Members of one format for which the format of a kind of provider has no word. */
const WORDLESS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['audio', 'image_config', 'prompt_cache_key'],
  openai: ['speed', 'context_management', 'compaction', 'container', 'inference_geo', 'safeguards'],
}

/** Name of the first member of a request that says something and that an endpoint does not take, or null. */
export function missingParameter(endpoint: ModelEndpoint, request: RoutedRequest): string | null {
  if ('messages' in request) {
    const asked = request as unknown as JsonObject
    const missing = WORDLESS[endpoint.provider.kind]?.find((name) => !asksForNothing(name, asked[name]))
    if (missing !== undefined) return missing
  }
  const ours = 'messages' in request ? TEXT_GATEWAY_MEMBERS : OTHER_GATEWAY_MEMBERS
  for (const [name, value] of Object.entries(request)) {
    if (ours.has(name) || asksForNothing(name, value)) continue
    if (name === 'extra') {
      const untaken = Object.keys(value as JsonObject).find((extra) => !takesExtra(endpoint, extra))
      if (untaken !== undefined) return untaken
    } else if (name === 'output_config') {
      // Effort belongs to the thinking, which has a member of its own.
      if ((value as JsonObject).format != null && !isListed(endpoint, 'response_format')) return name
    } else if (!isListed(endpoint, name)) return name
  }
  return null
}

// ── When it is asked ───────────────────────────────────────────────────────────

/**
 * The request as an endpoint takes it: itself, or a copy without parameters that are not listed and members that its
 * provider does not know, whose names come into `left`. A limit of the answer's length is never left out; it goes
 * under the name that is listed.
 */
export function fitRequest<R extends RoutedRequest>(
  request: R,
  operation: InferenceOperation,
  endpoint: ModelEndpoint,
  left: string[],
): R {
  if (operation !== 'chat' && operation !== 'messages') {
    const { extra } = request
    return extra === undefined ? request : { ...request, extra: fitExtras(extra, endpoint, left) }
  }
  for (const name in request) {
    if (TEXT_GATEWAY_MEMBERS.has(name) || endpoint.supportedParameters.has(name)) continue
    return fitMembers(request as unknown as JsonObject, operation, endpoint, left) as unknown as R
  }
  return request
}

function fitMembers(
  request: JsonObject,
  operation: InferenceOperation,
  endpoint: ModelEndpoint,
  left: string[],
): JsonObject {
  const fitted: Record<string, unknown> = {}
  for (const name in request) {
    const value = request[name]
    if (name === 'extra') fitted.extra = fitExtras(value as JsonObject, endpoint, left)
    else if (name === 'output_config') fitted.output_config = fitOutput(value as JsonObject, endpoint, left)
    else if (operation === 'chat' && isTokenLimit(name)) fitted[listedLimit(name, request, endpoint)] = value
    else if (TEXT_GATEWAY_MEMBERS.has(name) || isListed(endpoint, name) || isTokenLimit(name))
      fitted[name] = value
    else if (!asksForNothing(name, value)) left.push(name)
  }
  return fitted
}

function isTokenLimit(name: string): boolean {
  return name === 'max_tokens' || name === 'max_completion_tokens'
}

function listedLimit(
  name: string,
  { max_tokens: older, max_completion_tokens: newer }: JsonObject,
  { supportedParameters }: ModelEndpoint,
): string {
  if (supportedParameters.has(name) || (older != null && newer != null)) return name
  return TOKEN_LIMITS.find((listed) => supportedParameters.has(listed)) ?? name
}

function fitExtras(extras: JsonObject, endpoint: ModelEndpoint, left: string[]): JsonObject {
  const taken: Record<string, unknown> = {}
  for (const name in extras) {
    if (takesExtra(endpoint, name)) taken[name] = extras[name]
    else left.push(name)
  }
  return taken
}

function fitOutput(output: JsonObject, endpoint: ModelEndpoint, left: string[]): JsonObject {
  if (output?.effort == null || isListed(endpoint, 'reasoning_effort')) return output
  left.push('output_config.effort')
  const { effort: _, ...rest } = output
  return rest
}
