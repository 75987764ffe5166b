/** A whole answer of a messages server, and the same as the events of a stream (contract/gateway 5.6 to 5.8). */

import { asObject, type Members, nonEmptyText } from '../../formats/json-values.js'
import type {
  ContentBlock,
  ContentBlockEvent,
  MessagesAnswer,
  MessagesEvent,
  StopInfo,
} from '../../formats/messages.js'
import { parseMessagesUsage, plausibleFigures } from './usage.js'

/** Null when the body is no message. Blocks are kept as they came, those of unknown kinds included. */
export function parseMessage(body: Members): MessagesAnswer | null {
  if (body.role !== 'assistant' || !Array.isArray(body.content)) return null
  const content: ContentBlock[] = []
  for (const sent of body.content as readonly unknown[]) {
    const block = parseBlock(sent)
    if (block === null) return null
    content.push(block)
  }
  const told = asObject(body.usage)
  return {
    content,
    stop: parseStopInfo(body, body),
    usage: parseMessagesUsage(told),
    wireUsage: plausibleFigures(told),
  }
}

/** Null for what is no block. */
export function parseBlock(value: unknown): ContentBlock | null {
  const block = asObject(value)
  return block === null || nonEmptyText(block.type) === undefined ? null : (block as ContentBlock)
}

/** Why an answer ended. `around` is what `delta` stands in: it tells what was done to the context. */
export function parseStopInfo(delta: Members, around: Members): StopInfo {
  const managed = asObject(around.context_management)
  return {
    stop_reason: nonEmptyText(delta.stop_reason) ?? null,
    stop_sequence: typeof delta.stop_sequence === 'string' ? delta.stop_sequence : null,
    stop_details: asObject(delta.stop_details),
    container: asObject(delta.container),
    ...(managed === null ? {} : { context_management: managed }),
  }
}

// ── As events ───────────────────────────────────────────────────────────────

/** A whole answer as the events of a stream, for a server that does not stream when asked to. */
export function answerEvents(answer: MessagesAnswer): readonly MessagesEvent[] {
  const events: MessagesEvent[] = [{ type: 'start', usage: answer.wireUsage }]
  answer.content.forEach((block, index) => {
    for (const event of blockEvents(block, index)) {
      events.push({ type: 'block', data: JSON.stringify(event), event })
    }
  })
  events.push({ type: 'stop', stop: answer.stop })
  if (answer.usage !== null) events.push({ type: 'usage', usage: answer.usage, wire: answer.wireUsage })
  return events
}

/** A block begins empty and is filled by deltas; one of another kind begins as it is. */
function blockEvents(block: ContentBlock, index: number): readonly ContentBlockEvent[] {
  const { empty, deltas } = splitIntoDeltas(block)
  return [
    { type: 'content_block_start', index, content_block: empty },
    ...deltas.map((delta): ContentBlockEvent => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function splitIntoDeltas(block: ContentBlock): {
  readonly empty: ContentBlock
  readonly deltas: readonly ContentBlock[]
} {
  const { text, thinking, signature, citations, input } = block
  if (block.type === 'text' && typeof text === 'string') {
    const cited = (Array.isArray(citations) ? citations : []).map((citation) => ({
      type: 'citations_delta',
      citation,
    }))
    return {
      empty: { ...block, text: '', ...(Array.isArray(citations) ? { citations: [] } : {}) },
      deltas: [{ type: 'text_delta', text }, ...cited],
    }
  }
  if (block.type === 'thinking' && typeof thinking === 'string') {
    const signed = typeof signature === 'string' ? [{ type: 'signature_delta', signature }] : []
    const deltas = [{ type: 'thinking_delta', thinking }, ...signed]
    return { empty: { ...block, thinking: '', signature: '' }, deltas }
  }
  if (block.type === 'tool_use' || block.type === 'server_tool_use') {
    const json = JSON.stringify(input ?? {})
    return { empty: { ...block, input: {} }, deltas: [{ type: 'input_json_delta', partial_json: json }] }
  }
  return { empty: block, deltas: [] }
}
