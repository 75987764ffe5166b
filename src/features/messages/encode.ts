/** Answers as the wire has them (contract/gateway 5.6, 5.7): completed so that the strictest client takes them. */

import type { Fault } from '../../base/fault.js'
import type { Usage, UsageDetails } from '../../gateway/formats/canonical.js'
import { asCount } from '../../gateway/formats/json-values.js'
import type {
  ContentBlock,
  MessagesAnswer,
  MessagesEvent,
  MessagesRequest,
  MessagesUsage,
  StopInfo,
} from '../../gateway/formats/messages.js'
import type { ToolProgress } from '../../gateway/loop/ports.js'
import type { Consumption, Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'
import { errorEvent } from '../../http/dialects/anthropic.js'
import { metadataMember } from '../../inference-http/generation-told.js'
import { costMembers } from '../../inference-http/inference-reply.js'
import { progressMembers, type StreamEncoder } from '../../inference-http/stream-reply.js'

/** The body of a whole answer. */
export function encodeAnswer(
  generation: Generation<MessagesRequest>,
  { content, stop, wireUsage }: MessagesAnswer,
  metadata: ServiceMetadata | null,
): string {
  return (
    `${messageHeadJson(generation)},"content":[${blocksJson(content)}],${stopJson(stop)},` +
    `"usage":${usageJson(generation.consumption!, wireUsage)}${contextEditsJson(stop)},` +
    `"provider":${JSON.stringify(generation.providerName)}${metadataMember(metadata)}}`
  )
}

/** A message up to its content, without the closing brace. */
function messageHeadJson({ id, model }: Generation<MessagesRequest>): string {
  return `{"id":"${id}","type":"message","role":"assistant","model":${JSON.stringify(model)}`
}

/** The members that tell why an answer ended, in a message and in `message_delta`. */
function stopJson({ stop_reason, stop_sequence, stop_details, container }: StopInfo): string {
  return (
    `"stop_reason":${nullableJson(stop_reason)},"stop_sequence":${nullableJson(stop_sequence)},` +
    `"stop_details":${nullableJson(stop_details)},"container":${nullableJson(container)}`
  )
}

/** The member that tells what was done to the context, after a comma; `''` when nothing is said of it. */
function contextEditsJson({ context_management: edits }: StopInfo): string {
  return edits === undefined ? '' : `,"context_management":${nullableJson(edits)}`
}

function nullableJson(value: string | object | null): string {
  return value === null ? 'null' : JSON.stringify(value)
}

// ── Blocks ──────────────────────────────────────────────────────────────────

function blocksJson(content: readonly ContentBlock[]): string {
  if (content.length === 1) return blockJson(content[0]!)
  return content.map(blockJson).join(',')
}

/** Most blocks are a text and nothing else. */
function blockJson(block: ContentBlock): string {
  if (!isBareText(block)) return JSON.stringify(completeBlock(block))
  return `{"type":"text","text":${JSON.stringify(block.text)},"citations":[]}`
}

function isBareText(block: ContentBlock): boolean {
  if (block.type !== 'text' || typeof block.text !== 'string') return false
  for (const name in block) {
    if (name === 'type' || name === 'text') continue
    const value = block[name]
    if (name !== 'citations' || (Array.isArray(value) && value.length > 0)) return false
  }
  return true
}

/** Members that the strictest readers want, and some providers leave out or say null for. */
function completeBlock(block: ContentBlock): ContentBlock {
  if (block.type === 'text') return Array.isArray(block.citations) ? block : { ...block, citations: [] }
  if (block.type === 'thinking') {
    return typeof block.signature === 'string' ? block : { ...block, signature: '' }
  }
  if (block.type !== 'tool_use' || (isPresent(block.caller) && isPresent(block.input))) return block
  return { ...block, input: block.input ?? {}, caller: block.caller ?? DIRECT }
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

const DIRECT = { type: 'direct' } as const

// ── Usage (contract/gateway 5.6, 5.8) ──────────────────────────────────────────

/** `usage` of an answer of which nothing is known yet: the members that every client wants, in their order. */
const NO_FIGURES: MessagesUsage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: null,
  cache_read_input_tokens: null,
  cache_creation: null,
  output_tokens_details: null,
  server_tool_use: null,
  inference_geo: null,
  service_tier: null,
}
/** Clients add these up: what is no count is not passed on. */
const COUNTS: ReadonlySet<string> = new Set([
  ...['input_tokens', 'output_tokens'],
  ...['cache_creation_input_tokens', 'cache_read_input_tokens'],
])
/** A provider's word on these is not passed on. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['cost', 'cost_details', 'is_byok'])

/**
 * `usage` with every required member: the provider's own figures where it sent some, otherwise the canonical ones
 * by this format's rule, by which `input_tokens` are those neither read from a cache nor written to one.
 */
function usageJson({ usage, cost }: Consumption, wire: MessagesUsage | null): string {
  // Every answer has one: written out, so that the engine knows its shape.
  const figures = {
    input_tokens: usage.prompt - usage.cached - usage.cacheWrite,
    output_tokens: usage.completion,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cached,
    cache_creation: null,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    server_tool_use: null,
    inference_geo: null,
    service_tier: null,
  }
  if (usage.details !== undefined) Object.assign(figures, rareFigures(usage, usage.details))
  return `${figuresJson(figures, wire).slice(0, -1)},${costMembers(cost)}}`
}

function rareFigures(
  { cacheWrite }: Usage,
  { cacheWrite1h, webSearches = 0, webFetches = 0 }: UsageDetails,
): MessagesUsage {
  return {
    ...(cacheWrite1h !== undefined && {
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWrite - cacheWrite1h,
        ephemeral_1h_input_tokens: cacheWrite1h,
      },
    }),
    ...(webSearches + webFetches > 0 && {
      server_tool_use: { web_search_requests: webSearches, web_fetch_requests: webFetches },
    }),
  }
}

/** Our figures, a copy that is ours to change, and those of the provider over them; its null says nothing. */
function figuresJson(figures: Record<string, unknown>, wire: MessagesUsage | null): string {
  for (const name in wire) {
    const value = wire[name]
    if (value === undefined || (value === null && name in NO_FIGURES) || OWN_MEMBERS.has(name)) continue
    if (!COUNTS.has(name) || asCount(value) !== undefined) figures[name] = value
  }
  return JSON.stringify(figures)
}

// ── Streams (contract/gateway 5.8) ─────────────────────────────────────────────

const NO_STOP: StopInfo = { stop_reason: null, stop_sequence: null, stop_details: null, container: null }

/**
 * Writes events in the order of the format, whatever a provider leaves out: one `message_start`, blocks as they
 * come, and at the end `message_delta` with the figures and `message_stop`. A block event costs one string.
 */
export class MessagesEncoder implements StreamEncoder<MessagesEvent> {
  readonly heartbeat = 'event: ping\ndata: {"type":"ping"}\n\n'
  readonly #generation: Generation<MessagesRequest>
  #begun = false
  #stop = NO_STOP
  #usage: MessagesUsage | null = null

  constructor(generation: Generation<MessagesRequest>) {
    this.#generation = generation
  }

  event(event: MessagesEvent): string {
    switch (event.type) {
      case 'block':
        return this.#begun ? blockEventText(event) : this.#start(null, null) + blockEventText(event)
      case 'start':
        return this.#begun ? '' : this.#start(event.usage, event.container ?? null)
      case 'stop':
        this.#stop = event.stop
        return this.#begun ? '' : this.#start(null, null)
      case 'usage':
        this.#usage = event.wire
        return this.#begun ? '' : this.#start(null, null)
    }
  }

  /** An event that clients pass over which do not ask for it. */
  toolEvent(progress: ToolProgress): string {
    const told = { type: 'service_tool', service_tool: progressMembers(progress) }
    return `event: service_tool\ndata: ${JSON.stringify(told)}\n\n`
  }

  end(metadata: ServiceMetadata | null): string {
    const usage = usageJson(this.#generation.consumption!, this.#usage)
    return (
      `event: message_delta\ndata: {"type":"message_delta","delta":{${stopJson(this.#stop)}},"usage":${usage}` +
      `${contextEditsJson(this.#stop)}}\n\n` +
      `event: message_stop\ndata: {"type":"message_stop"${metadataMember(metadata)}}\n\n`
    )
  }

  /** The error is the last event of this format; a `message_stop` behind it would tell of a complete answer. */
  failure(fault: Fault, metadata: ServiceMetadata | null): string {
    return errorEvent(fault.withGeneration({ id: this.#generation.id, serviceMetadata: metadata }))
  }

  #start(usage: MessagesUsage | null, container: StopInfo['container']): string {
    this.#begun = true
    const stop = stopJson({ ...NO_STOP, container })
    const message =
      `${messageHeadJson(this.#generation)},"content":[],${stop},"usage":${figuresJson({ ...NO_FIGURES }, usage)},` +
      `"provider":${JSON.stringify(this.#generation.providerName)}}`
    return `event: message_start\ndata: {"type":"message_start","message":${message}}\n\n`
  }
}

function blockEventText({ event, data }: MessagesEvent & { readonly type: 'block' }): string {
  if (event.type !== 'content_block_start') return `event: ${event.type}\ndata: ${data}\n\n`
  const block = completeBlock(event.content_block)
  const text = block === event.content_block ? data : JSON.stringify({ ...event, content_block: block })
  return `event: content_block_start\ndata: ${text}\n\n`
}
