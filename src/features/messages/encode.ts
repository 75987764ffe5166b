/** Answers as the wire has them (contract/gateway 5.6, 5.7): completed so that the strictest client takes them. */
import { dollars } from '../../base/money.js'
import type { Consumption, Generation } from '../../gateway/generation.js'
import type { Block, MessagesAnswer, MessagesRequest, MessagesUsage } from '../../gateway/messages.js'
import type { ServiceMetadata } from '../../gateway/metadata.js'

/** The body of a whole answer. */
export function encodeAnswer(
  generation: Generation<MessagesRequest>,
  { content, stop, wireUsage }: MessagesAnswer,
  metadata: ServiceMetadata | null,
): string {
  const { context_management: edits } = stop
  const members = {
    stop_reason: stop.stop_reason,
    stop_sequence: stop.stop_sequence,
    stop_details: stop.stop_details,
    container: stop.container,
    usage: usageOf(generation.consumption!, wireUsage),
    ...(edits !== undefined && { context_management: edits }),
    provider: generation.providerName,
    ...(metadata !== null && { service_metadata: metadata }),
  }
  const blocks = JSON.stringify(content.map(completed))
  return `${headOf(generation)},"content":${blocks},${JSON.stringify(members).slice(1)}`
}

/** A message up to its content, without the closing brace. */
export function headOf({ id, model }: Generation<MessagesRequest>): string {
  return `{"id":"${id}","type":"message","role":"assistant","model":${JSON.stringify(model)}`
}

/** Members that the strictest readers want, and some providers leave out or say null for. */
export function completed(block: Block): Block {
  if (block.type === 'text') return Array.isArray(block.citations) ? block : { ...block, citations: [] }
  if (block.type === 'tool_use' && block.caller === undefined) return { ...block, caller: DIRECT }
  return block
}

const DIRECT = { type: 'direct' } as const

type Figures = Record<string, unknown>

/**
 * `usage` with every required member: the provider's own figures where it sent some, otherwise the canonical ones
 * by this format's rule, by which `input_tokens` are those neither read from a cache nor written to one.
 */
export function usageOf({ usage, cost }: Consumption, wire: MessagesUsage | null): Figures {
  return {
    ...said(
      {
        input_tokens: usage.prompt - usage.cached - usage.cacheWrite,
        output_tokens: usage.completion,
        cache_creation_input_tokens: usage.cacheWrite,
        cache_read_input_tokens: usage.cached,
        cache_creation: null,
        output_tokens_details: { thinking_tokens: usage.reasoning },
        server_tool_use: null,
        inference_geo: null,
        service_tier: null,
      },
      wire,
    ),
    cost: dollars(cost.total),
    cost_details: {
      upstream_inference_cost: dollars(cost.total),
      upstream_inference_prompt_cost: dollars(cost.prompt),
      upstream_inference_completions_cost: dollars(cost.completion),
    },
    is_byok: false,
  }
}

/** `usage` at the beginning of a stream: what the provider says of the input by then. */
export function firstUsage(wire: MessagesUsage | null): Figures {
  return said(
    {
      input_tokens: 0,
      output_tokens: 0,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      cache_creation: null,
      output_tokens_details: null,
      server_tool_use: null,
      inference_geo: null,
      service_tier: null,
    },
    wire,
  )
}

/** Our figures, and those of the provider over them; its null says nothing. */
function said(ours: Figures, wire: MessagesUsage | null): Figures {
  if (wire === null) return ours
  const all: Figures = { ...ours }
  for (const name in wire) {
    const value = wire[name]
    if (value !== undefined && (value !== null || !(name in all))) all[name] = value
  }
  return all
}
