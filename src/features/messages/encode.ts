/** Answers as the wire has them (contract/gateway 5.6, 5.7): completed so that the strictest client takes them. */

import type {
  ContentBlock,
  MessagesAnswer,
  MessagesRequest,
  StopInfo,
} from '../../gateway/formats/messages.js'
import type { Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'
import { usageJson } from './encode-usage.js'

/** The body of a whole answer. */
export function encodeAnswer(
  generation: Generation<MessagesRequest>,
  { content, stop, wireUsage }: MessagesAnswer,
  metadata: ServiceMetadata | null,
): string {
  const routing = metadata === null ? '' : `,"service_metadata":${JSON.stringify(metadata)}`
  return (
    `${messageHeadJson(generation)},"content":[${blocksJson(content)}],${stopJson(stop)},` +
    `"usage":${usageJson(generation.consumption!, wireUsage)}${contextEditsJson(stop)},` +
    `"provider":${JSON.stringify(generation.providerName)}${routing}}`
  )
}

/** A message up to its content, without the closing brace. */
export function messageHeadJson({ id, model }: Generation<MessagesRequest>): string {
  return `{"id":"${id}","type":"message","role":"assistant","model":${JSON.stringify(model)}`
}

/** The members that tell why an answer ended, in a message and in `message_delta`. */
export function stopJson({ stop_reason, stop_sequence, stop_details, container }: StopInfo): string {
  return (
    `"stop_reason":${nullableJson(stop_reason)},"stop_sequence":${nullableJson(stop_sequence)},` +
    `"stop_details":${nullableJson(stop_details)},"container":${nullableJson(container)}`
  )
}

/** The member that tells what was done to the context, after a comma; `''` when nothing is said of it. */
export function contextEditsJson({ context_management: edits }: StopInfo): string {
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
export function completeBlock(block: ContentBlock): ContentBlock {
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
