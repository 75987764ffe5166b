/**
 * `usage` of an answer and of the beginning of a stream (contract/gateway 5.6, 5.8), written by hand: the shape hardly
 * varies, and every answer has one.
 */
import { nanosToDollars } from '../../base/money.js'
import type { MessagesUsage } from '../../gateway/formats/messages.js'
import type { Consumption } from '../../gateway/run/generation.js'

/** What stands in a member about which the provider says nothing, as JSON. */
interface UsageDefaults {
  readonly input: number
  readonly output: number
  readonly cacheWrite: number | null
  readonly cacheRead: number | null
  readonly thinking: number | null
}

const NOTHING_YET: UsageDefaults = { input: 0, output: 0, cacheWrite: null, cacheRead: null, thinking: null }

/**
 * `usage` with every required member: the provider's own figures where it sent some, otherwise the canonical ones
 * by this format's rule, by which `input_tokens` are those neither read from a cache nor written to one.
 */
export function usageJson({ usage, cost }: Consumption, wire: MessagesUsage | null): string {
  const ours = {
    input: usage.prompt - usage.cached - usage.cacheWrite,
    output: usage.completion,
    cacheWrite: usage.cacheWrite,
    cacheRead: usage.cached,
    thinking: usage.reasoning,
  }
  return (
    `${figuresJson(ours, wire)},"cost":${nanosToDollars(cost.total)},` +
    `"cost_details":{"upstream_inference_cost":${nanosToDollars(cost.total)},` +
    `"upstream_inference_prompt_cost":${nanosToDollars(cost.prompt)},` +
    `"upstream_inference_completions_cost":${nanosToDollars(cost.completion)}},"is_byok":false}`
  )
}

/** `usage` at the beginning of a stream: what the provider says of the input by then. */
export function initialUsageJson(wire: MessagesUsage | null): string {
  return `${figuresJson(NOTHING_YET, wire)}}`
}

/** Our figures, and those of the provider over them; its null says nothing. Without the closing brace. */
function figuresJson(
  { input, output, cacheWrite, cacheRead, thinking }: UsageDefaults,
  wire: MessagesUsage | null,
): string {
  const details = thinking === null ? 'null' : `{"thinking_tokens":${thinking}}`
  if (wire === null) {
    return (
      `{"input_tokens":${input},"output_tokens":${output},"cache_creation_input_tokens":${cacheWrite},` +
      `"cache_read_input_tokens":${cacheRead},"cache_creation":null,"output_tokens_details":${details},` +
      '"server_tool_use":null,"inference_geo":null,"service_tier":null'
    )
  }
  return (
    `{"input_tokens":${countOr(wire.input_tokens, input)},"output_tokens":${countOr(wire.output_tokens, output)},` +
    `"cache_creation_input_tokens":${countOr(wire.cache_creation_input_tokens, cacheWrite)},` +
    `"cache_read_input_tokens":${countOr(wire.cache_read_input_tokens, cacheRead)},` +
    `"cache_creation":${jsonOr(wire.cache_creation, 'null')},` +
    `"output_tokens_details":${jsonOr(wire.output_tokens_details, details)},` +
    `"server_tool_use":${jsonOr(wire.server_tool_use, 'null')},` +
    `"inference_geo":${jsonOr(wire.inference_geo, 'null')},` +
    `"service_tier":${jsonOr(wire.service_tier, 'null')}${otherMembersJson(wire)}`
  )
}

/** A count that is none is not passed on: clients add these up. */
function countOr(said: unknown, ours: number | null): number | null {
  return Number.isSafeInteger(said) && (said as number) >= 0 ? (said as number) : ours
}

function jsonOr(said: unknown, ours: string): string {
  return said === null || said === undefined ? ours : JSON.stringify(said)
}

/** Members that are written above, or whose value is ours to tell. */
const WRITTEN: ReadonlySet<string> = new Set([
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'cache_creation',
  'output_tokens_details',
  'server_tool_use',
  'inference_geo',
  'service_tier',
  'cost',
  'cost_details',
  'is_byok',
])

function otherMembersJson(wire: MessagesUsage): string {
  let text = ''
  for (const name in wire) {
    const value = wire[name]
    if (value !== undefined && !WRITTEN.has(name)) text += `,${JSON.stringify(name)}:${JSON.stringify(value)}`
  }
  return text
}
