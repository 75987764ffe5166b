/** A streamed answer in the messages format: turns the steps of the one script into events of blocks. */
import type { ChatEvent, ToolCallDelta, Usage } from '../../gateway/formats/canonical.js'
import type {
  ContentBlock,
  ContentBlockEvent,
  MessagesAnswer,
  MessagesEvent,
} from '../../gateway/formats/messages.js'
import type { CompletionReceiver, StreamReceiver } from '../../gateway/providers/port/provider.js'
import { StreamAdapter } from '../../gateway/providers/port/stream-adapter.js'
import type { AnswerGenerator } from '../answer/answer-generator.js'
import { toContainerUploads } from '../generated-file.js'
import {
  blockDeltaEvent,
  blockStartEvent,
  blockStopEvent,
  EMPTY_TEXT,
  EMPTY_THINKING,
  toBlockDeltas,
  toEmptyToolUseBlock,
  toToolUseBlock,
} from './messages-blocks.js'
import type { MessagesPlan } from './messages-plan.js'

/** The kind of the block under way. */
type OpenBlockKind = 'nothing' | 'thinking' | 'text' | 'tool_use'

/** Order: thinking, what stands between, text, calls. Steps and times are those of the script. */
export class MessagesStreamWriter extends StreamAdapter<ChatEvent, MessagesEvent> {
  readonly #plan: MessagesPlan
  #started = false
  #wroteBlocksBeforeText = false
  #openBlock: OpenBlockKind = 'nothing'
  #index = -1

  constructor(receiver: StreamReceiver<MessagesEvent>, plan: MessagesPlan) {
    super(receiver)
    this.#plan = plan
  }

  onEvent(event: ChatEvent): void {
    if (!this.#started) this.#start()
    switch (event.type) {
      case 'delta':
        if (event.delta.content !== undefined) this.#writeText(event.delta.content)
        else if (event.delta.reasoning !== undefined) this.#writeReasoning(event.delta.reasoning)
        else if (event.delta.annotations !== undefined)
          this.#writeUploads(toContainerUploads(event.delta.annotations))
        else for (const call of event.delta.tool_calls ?? []) this.#writeToolCall(call)
        break
      case 'finish':
        this.#writeStop()
        break
      case 'usage':
        this.#writeUsage(event.usage)
        break
      case 'tier':
        break
    }
  }

  #start(): void {
    this.#started = true
    this.emit({ type: 'start', usage: this.#plan.usageAtStart, container: null })
  }

  #writeReasoning(text: string): void {
    if (this.#openBlock !== 'thinking') this.#open('thinking', EMPTY_THINKING)
    this.#writeDelta(`{"type":"thinking_delta","thinking":${JSON.stringify(text)}}`, {
      type: 'thinking_delta',
      thinking: text,
    })
  }

  #writeText(text: string): void {
    if (this.#openBlock !== 'text') {
      this.#writeBlocksBeforeText()
      this.#open('text', EMPTY_TEXT)
    }
    this.#writeDelta(`{"type":"text_delta","text":${JSON.stringify(text)}}`, { type: 'text_delta', text })
  }

  #writeToolCall({ id, function: { name, arguments: given } }: ToolCallDelta): void {
    if (id !== undefined) {
      this.#writeBlocksBeforeText()
      this.#open('tool_use', toEmptyToolUseBlock(id, name ?? ''))
    }
    if (given === undefined || given === '') return
    const delta = { type: 'input_json_delta', partial_json: given }
    this.#writeDelta(JSON.stringify(delta), delta)
  }

  #writeStop(): void {
    this.#writeBlocksBeforeText()
    this.#close()
    this.emit({ type: 'stop', stop: this.#plan.stop })
  }

  #writeUsage(usage: Usage): void {
    this.emit({ type: 'usage', usage, wire: this.#plan.usageAtEnd })
  }

  /** Whole blocks, once, where the thinking is over. */
  #writeBlocksBeforeText(): void {
    if (this.#wroteBlocksBeforeText) return
    this.#wroteBlocksBeforeText = true
    if (this.#plan.blocksBeforeText.length === 0) return
    this.#close()
    for (const block of this.#plan.blocksBeforeText) this.#writeWholeBlock(block)
  }

  #writeUploads(blocks: readonly ContentBlock[]): void {
    this.#writeBlocksBeforeText()
    this.#close()
    for (const block of blocks) this.#writeWholeBlock(block)
  }

  #writeWholeBlock(block: ContentBlock): void {
    const { start, deltas } = toBlockDeltas(block)
    this.#index++
    this.#writeBlockEvent(blockStartEvent(this.#index, start))
    for (const delta of deltas) this.#writeBlockEvent(blockDeltaEvent(this.#index, delta))
    this.#writeBlockEvent(blockStopEvent(this.#index))
  }

  #open(under: OpenBlockKind, block: ContentBlock): void {
    this.#close()
    this.#openBlock = under
    this.#index++
    this.#writeBlockEvent(blockStartEvent(this.#index, block))
  }

  #close(): void {
    const { signature, citations } = this.#plan
    if (this.#openBlock === 'nothing') return
    if (this.#openBlock === 'thinking')
      this.#writeBlockEvent(blockDeltaEvent(this.#index, { type: 'signature_delta', signature }))
    if (this.#openBlock === 'text') {
      for (const citation of citations) {
        this.#writeBlockEvent(blockDeltaEvent(this.#index, { type: 'citations_delta', citation }))
      }
    }
    this.#openBlock = 'nothing'
    this.#writeBlockEvent(blockStopEvent(this.#index))
  }

  /** The commonest event, a piece of the block under way, is written by hand. */
  #writeDelta(text: string, delta: ContentBlock): void {
    const data = `{"type":"content_block_delta","index":${this.#index},"delta":${text}}`
    this.emit({ type: 'block', data, event: blockDeltaEvent(this.#index, delta) })
  }

  #writeBlockEvent(event: ContentBlockEvent): void {
    this.emit({ type: 'block', data: JSON.stringify(event), event })
  }
}

/** Takes a whole answer and hands it on in the messages format. */
export function messagesCompletionReceiver(
  receiver: CompletionReceiver<MessagesAnswer>,
  plan: MessagesPlan,
  script: AnswerGenerator,
): CompletionReceiver {
  return {
    onEnd: ({ choices, usage }) => {
      const { reasoning, content: text, tool_calls: calls = [], annotations } = choices[0]!.message
      const { signature, blocksBeforeText: between, citations, stop, usageAtEnd: after } = plan
      const content: ContentBlock[] = [
        ...(reasoning ? [{ type: 'thinking', thinking: reasoning, signature }] : []),
        ...between,
        ...(text !== null && script.answer.textTokens > 0 ? [{ type: 'text', text, citations }] : []),
        ...calls.map(toToolUseBlock),
        ...toContainerUploads(annotations),
      ]
      receiver.onEnd({ content, stop, usage, wireUsage: after })
    },
    onFailure: (failure) => receiver.onFailure(failure),
  }
}
