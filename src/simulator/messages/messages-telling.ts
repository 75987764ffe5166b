/** A streamed answer in the messages format: turns the steps of the one script into events of blocks. */
import type { InferenceEvent, ToolCallDelta, Usage } from '../../gateway/formats/canonical.js'
import type { Block, BlockEvent, MessagesAnswer, MessagesEvent } from '../../gateway/formats/messages.js'
import type {
  CompletionReceiver,
  Flow,
  ProviderFailure,
  StreamReceiver,
} from '../../gateway/providers/port/provider.js'
import type { Script } from '../answer/script.js'
import { uploadsOf } from '../made-file.js'
import {
  deltaOf,
  EMPTY_TEXT,
  EMPTY_THINKING,
  emptyToolUse,
  endOf,
  startOf,
  toldOf,
  toolUse,
} from './messages-blocks.js'
import type { MessagesPlan } from './messages-plan.js'

/** The kind of the block under way. */
type Under = 'nothing' | 'thinking' | 'text' | 'tool_use'

/** Order: thinking, what stands between, text, calls. Steps and times are those of the script. */
export class MessagesTelling implements StreamReceiver<InferenceEvent>, Flow {
  readonly #receiver: StreamReceiver<MessagesEvent>
  readonly #plan: MessagesPlan
  #run: Flow | null = null
  #gone = false
  #begun = false
  #between = false
  #under: Under = 'nothing'
  #index = -1

  constructor(receiver: StreamReceiver<MessagesEvent>, plan: MessagesPlan) {
    this.#receiver = receiver
    this.#plan = plan
  }

  /** What makes the steps; it wakes in a later turn. */
  drivenBy(run: Flow): this {
    this.#run = run
    return this
  }

  pause(): void {
    this.#run?.pause()
  }

  resume(): void {
    this.#run?.resume()
  }

  cancel(): void {
    this.#gone = true
    this.#run?.cancel()
  }

  event(event: InferenceEvent): void {
    if (!this.#begun) this.#begin()
    switch (event.type) {
      case 'delta':
        if (event.delta.content !== undefined) this.#word(event.delta.content)
        else if (event.delta.reasoning !== undefined) this.#thought(event.delta.reasoning)
        else if (event.delta.annotations !== undefined) this.#uploads(uploadsOf(event.delta.annotations))
        else for (const call of event.delta.tool_calls ?? []) this.#fragment(call)
        break
      case 'finish':
        this.#finish()
        break
      case 'usage':
        this.#figures(event.usage)
        break
      case 'tier':
        break
    }
  }

  flush(): void {
    this.#receiver.flush()
  }

  ended(): void {
    this.#receiver.ended()
  }

  failed(failure: ProviderFailure): void {
    this.#receiver.failed(failure)
  }

  #begin(): void {
    this.#begun = true
    this.#tell({ type: 'start', usage: this.#plan.before, container: null })
  }

  #thought(text: string): void {
    if (this.#under !== 'thinking') this.#open('thinking', EMPTY_THINKING)
    this.#say(`{"type":"thinking_delta","thinking":${JSON.stringify(text)}}`, {
      type: 'thinking_delta',
      thinking: text,
    })
  }

  #word(text: string): void {
    if (this.#under !== 'text') {
      this.#tellBetween()
      this.#open('text', EMPTY_TEXT)
    }
    this.#say(`{"type":"text_delta","text":${JSON.stringify(text)}}`, { type: 'text_delta', text })
  }

  #fragment({ id, function: { name, arguments: given } }: ToolCallDelta): void {
    if (id !== undefined) {
      this.#tellBetween()
      this.#open('tool_use', emptyToolUse(id, name ?? ''))
    }
    if (given === undefined || given === '') return
    const delta = { type: 'input_json_delta', partial_json: given }
    this.#say(JSON.stringify(delta), delta)
  }

  #finish(): void {
    this.#tellBetween()
    this.#close()
    this.#tell({ type: 'stop', stop: this.#plan.stop })
  }

  #figures(usage: Usage): void {
    this.#tell({ type: 'usage', usage, wire: this.#plan.after })
  }

  /** Whole blocks, once, where the thinking is over. */
  #tellBetween(): void {
    if (this.#between) return
    this.#between = true
    if (this.#plan.between.length === 0) return
    this.#close()
    for (const block of this.#plan.between) this.#tellWhole(block)
  }

  #uploads(blocks: readonly Block[]): void {
    this.#tellBetween()
    this.#close()
    for (const block of blocks) this.#tellWhole(block)
  }

  #tellWhole(block: Block): void {
    const { start, deltas } = toldOf(block)
    this.#index++
    this.#tellBlock(startOf(this.#index, start))
    for (const delta of deltas) this.#tellBlock(deltaOf(this.#index, delta))
    this.#tellBlock(endOf(this.#index))
  }

  #open(under: Under, block: Block): void {
    this.#close()
    this.#under = under
    this.#index++
    this.#tellBlock(startOf(this.#index, block))
  }

  #close(): void {
    const { signature, citations } = this.#plan
    if (this.#under === 'nothing') return
    if (this.#under === 'thinking')
      this.#tellBlock(deltaOf(this.#index, { type: 'signature_delta', signature }))
    if (this.#under === 'text') {
      for (const citation of citations) {
        this.#tellBlock(deltaOf(this.#index, { type: 'citations_delta', citation }))
      }
    }
    this.#under = 'nothing'
    this.#tellBlock(endOf(this.#index))
  }

  /** The commonest event, a piece of the block under way, is written by hand. */
  #say(text: string, delta: Block): void {
    const data = `{"type":"content_block_delta","index":${this.#index},"delta":${text}}`
    this.#tell({ type: 'block', data, event: deltaOf(this.#index, delta) })
  }

  #tellBlock(event: BlockEvent): void {
    this.#tell({ type: 'block', data: JSON.stringify(event), event })
  }

  /** The receiver may cancel at any of several events of one step. */
  #tell(event: MessagesEvent): void {
    if (!this.#gone) this.#receiver.event(event)
  }
}

/** Takes a whole answer and hands it on in the messages format. */
export function wholeTelling(
  receiver: CompletionReceiver<MessagesAnswer>,
  plan: MessagesPlan,
  script: Script,
): CompletionReceiver {
  return {
    ended: ({ choices, usage }) => {
      const { reasoning, content: text, tool_calls: calls = [], annotations } = choices[0]!.message
      const { signature, between, citations, stop, after } = plan
      const content: Block[] = [
        ...(reasoning ? [{ type: 'thinking', thinking: reasoning, signature }] : []),
        ...between,
        ...(text !== null && script.answer.words > 0 ? [{ type: 'text', text, citations }] : []),
        ...calls.map(toolUse),
        ...uploadsOf(annotations),
      ]
      receiver.ended({ content, stop, usage, wireUsage: after })
    },
    failed: (failure) => receiver.failed(failure),
  }
}
