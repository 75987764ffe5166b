/** Blocks of an answer, whole and as a stream tells them. */
import type { ToolCall } from '../../gateway/formats/canonical.js'
import type { ContentBlock, ContentBlockEvent } from '../../gateway/formats/messages.js'

const DIRECT = { type: 'direct' } as const
const EMPTY_TEXT: ContentBlock = { type: 'text', text: '', citations: [] }
const EMPTY_THINKING: ContentBlock = { type: 'thinking', thinking: '', signature: '' }

export { EMPTY_TEXT, EMPTY_THINKING }

const PLANNED_PREFIX = 'call_'

/** A call as it begins; both formats have their own prefix of ids. */
export function toEmptyToolUseBlock(id: string, name: string): ContentBlock {
  return { type: 'tool_use', id: `toolu_${id.slice(PLANNED_PREFIX.length)}`, name, input: {}, caller: DIRECT }
}

export function toToolUseBlock({ id, function: { name, arguments: given } }: ToolCall): ContentBlock {
  return { ...toEmptyToolUseBlock(id, name), input: parseToolInput(given) }
}

/** Arguments that the token limit has broken off say nothing, as with real models. */
function parseToolInput(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** The deltas by which a stream tells a whole block, and the block it begins with. */
export function toBlockDeltas(block: ContentBlock): {
  readonly start: ContentBlock
  readonly deltas: readonly ContentBlock[]
} {
  switch (block.type) {
    case 'server_tool_use':
      return {
        start: { ...block, input: {} },
        deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }],
      }
    case 'thinking':
      return { start: EMPTY_THINKING, deltas: [{ type: 'signature_delta', signature: block.signature }] }
    case 'compaction':
      return {
        start: { ...block, content: null },
        deltas: [{ type: 'compaction_delta', content: block.content }],
      }
    default:
      return { start: block, deltas: [] }
  }
}

export function blockStartEvent(index: number, content_block: ContentBlock): ContentBlockEvent {
  return { type: 'content_block_start', index, content_block }
}

export function blockDeltaEvent(index: number, delta: ContentBlock): ContentBlockEvent {
  return { type: 'content_block_delta', index, delta }
}

export function blockStopEvent(index: number): ContentBlockEvent {
  return { type: 'content_block_stop', index }
}
