/** An answer in the messages format: the steps of the chat answer as events of blocks, or the whole one as blocks. */
import type { ChatEvent, ToolCall, ToolCallDelta } from '../../gateway/formats/canonical.js'
import { parseJson } from '../../gateway/formats/json-values.js'
import {
  blockEventJson,
  type ContentBlock,
  type ContentBlockEvent,
  type MessagesAnswer,
  type MessagesEvent,
} from '../../gateway/formats/messages.js'
import type { CompletionReceiver, StreamReceiver } from '../../gateway/providers/port/provider.js'
import { StreamAdapter } from '../../gateway/providers/port/provider.js'
import { toContainerUploads } from '../generated-file.js'
import type { MessagesPlan } from './messages-plan.js'

const EMPTY_TEXT: ContentBlock = { type: 'text', text: '', citations: [] }
const EMPTY_THINKING: ContentBlock = { type: 'thinking', thinking: '', signature: '' }

/** Order: thinking, the planned blocks, text, calls. Steps and times are those of the chat answer. */
export class MessagesStreamWriter extends StreamAdapter<ChatEvent, MessagesEvent> {
  readonly #plan: MessagesPlan
  #started = false
  /** Whole blocks that come where the thinking is over. */
  #blocksBeforeText: readonly ContentBlock[]
  #openBlock: 'thinking' | 'text' | 'tool_use' | null = null
  #index = -1

  constructor(receiver: StreamReceiver<MessagesEvent>, plan: MessagesPlan) {
    super(receiver)
    this.#plan = plan
    this.#blocksBeforeText = plan.blocksBeforeText
  }

  onEvent(event: ChatEvent): void {
    if (!this.#started) this.#start()
    switch (event.type) {
      case 'delta': {
        const { content, reasoning, annotations, tool_calls: calls } = event.delta
        if (content !== undefined) this.#writeText(content)
        else if (reasoning !== undefined) this.#writeReasoning(reasoning)
        else if (annotations !== undefined) this.#writeWholeBlocks(toContainerUploads(annotations))
        else for (const call of calls ?? []) this.#writeToolCall(call)
        break
      }
      case 'finish':
        this.#writeWholeBlocks()
        this.#close()
        this.emit({ type: 'stop', stop: this.#plan.stop })
        break
      case 'usage':
        this.emit({ type: 'usage', usage: event.usage, wire: this.#plan.usageAtEnd })
        break
      case 'tier':
        break
    }
  }

  #start(): void {
    this.#started = true
    this.emit({ type: 'start', usage: this.#plan.usageAtStart, container: null })
  }

  #writeReasoning(thinking: string): void {
    if (this.#openBlock !== 'thinking') this.#open('thinking', EMPTY_THINKING)
    this.#writeDelta({ type: 'thinking_delta', thinking })
  }

  #writeText(text: string): void {
    if (this.#openBlock !== 'text') {
      this.#writeWholeBlocks()
      this.#open('text', EMPTY_TEXT)
    }
    this.#writeDelta({ type: 'text_delta', text })
  }

  #writeToolCall({ id, function: { name, arguments: given } }: ToolCallDelta): void {
    if (id !== undefined) {
      this.#writeWholeBlocks()
      this.#open('tool_use', emptyToolUse(id, name ?? ''))
    }
    if (given) this.#writeDelta({ type: 'input_json_delta', partial_json: given })
  }

  #writeWholeBlocks(more: readonly ContentBlock[] = []): void {
    const blocks = [...this.#blocksBeforeText, ...more]
    this.#blocksBeforeText = []
    if (blocks.length > 0) this.#close()
    for (const block of blocks) {
      const [start, delta] = splitBlock(block)
      this.#writeStart(start)
      if (delta !== null) this.#writeDelta(delta)
      this.#writeBlockEvent({ type: 'content_block_stop', index: this.#index })
    }
  }

  #open(kind: 'thinking' | 'text' | 'tool_use', block: ContentBlock): void {
    this.#close()
    this.#openBlock = kind
    this.#writeStart(block)
  }

  #close(): void {
    const { signature, citations } = this.#plan
    if (this.#openBlock === null) return
    if (this.#openBlock === 'thinking') this.#writeDelta({ type: 'signature_delta', signature })
    if (this.#openBlock === 'text') {
      for (const citation of citations) this.#writeDelta({ type: 'citations_delta', citation })
    }
    this.#openBlock = null
    this.#writeBlockEvent({ type: 'content_block_stop', index: this.#index })
  }

  #writeStart(content_block: ContentBlock): void {
    this.#index++
    this.#writeBlockEvent({ type: 'content_block_start', index: this.#index, content_block })
  }

  #writeDelta(delta: ContentBlock): void {
    this.#writeBlockEvent({ type: 'content_block_delta', index: this.#index, delta })
  }

  #writeBlockEvent(event: ContentBlockEvent): void {
    this.emit({ type: 'block', data: blockEventJson(event), event })
  }
}

/** What a whole block begins with in a stream, and the delta that completes it. */
function splitBlock(block: ContentBlock): readonly [start: ContentBlock, delta: ContentBlock | null] {
  switch (block.type) {
    case 'server_tool_use':
      return [
        { ...block, input: {} },
        { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
      ]
    case 'thinking':
      return [EMPTY_THINKING, { type: 'signature_delta', signature: block.signature }]
    case 'compaction':
      return [
        { ...block, content: null },
        { type: 'compaction_delta', content: block.content },
      ]
    default:
      return [block, null]
  }
}

const CHAT_ID_PREFIX = 'call_'

/** A call as it begins; both formats have their own prefix of ids. */
function emptyToolUse(id: string, name: string): ContentBlock {
  const caller = { type: 'direct' }
  return { type: 'tool_use', id: `toolu_${id.slice(CHAT_ID_PREFIX.length)}`, name, input: {}, caller }
}

/** Arguments that the token limit has broken off say nothing, as with real models. */
function toToolUse({ id, function: { name, arguments: given } }: ToolCall): ContentBlock {
  return { ...emptyToolUse(id, name), input: parseJson(given) ?? {} }
}

/** Takes a whole chat answer and hands it on in the messages format. */
export function messagesCompletionReceiver(
  receiver: CompletionReceiver<MessagesAnswer>,
  { signature, blocksBeforeText, citations, stop, usageAtEnd }: MessagesPlan,
): CompletionReceiver {
  return {
    onEnd: ({ choices, usage }) => {
      const { reasoning, content: text, tool_calls: calls = [], annotations } = choices[0]!.message
      const content: ContentBlock[] = [
        ...(reasoning ? [{ type: 'thinking', thinking: reasoning, signature }] : []),
        ...blocksBeforeText,
        ...(text ? [{ type: 'text', text, citations }] : []),
        ...calls.map(toToolUse),
        ...toContainerUploads(annotations),
      ]
      receiver.onEnd({ content, stop, usage, wireUsage: usageAtEnd })
    },
    onFailure: (failure) => receiver.onFailure(failure),
  }
}
