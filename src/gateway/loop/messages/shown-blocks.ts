/**
 * What the caller sees of a loop: the blocks of all turns, numbered from 0 without gaps (contract/tools 1.5). A text stays
 * open until something follows it, so that it can still be cited from and added to.
 */
import { nonEmptyText } from '../../formats/json-values.js'
import {
  blockEventJson,
  type ContentBlock,
  type ContentBlockEvent,
  type MessagesEvent,
} from '../../formats/messages.js'
import { BlockAssembly } from './block-assembly.js'

export class ShownBlocks {
  readonly #emit: (event: MessagesEvent) => void
  /** Citations of a text that is about to end. */
  readonly #cite: (text: string) => readonly ContentBlock[]
  #assembly = new BlockAssembly()
  #begun = 0
  #hasOpenText = false

  constructor(emit: (event: MessagesEvent) => void, cite: (text: string) => readonly ContentBlock[]) {
    this.#emit = emit
    this.#cite = cite
  }

  get text(): string {
    return this.#assembly.text
  }

  blocks(): ContentBlock[] {
    return this.#assembly.blocks()
  }

  start(block: ContentBlock): void {
    this.closeText()
    this.#begun++
    this.#tell({ type: 'content_block_start', index: this.#begun - 1, content_block: block })
  }

  /** `data`: the JSON of the event with this delta as it came at `index`. */
  delta(delta: ContentBlock, data?: string, index?: number): void {
    const event = { type: 'content_block_delta' as const, index: this.#begun - 1, delta }
    this.#tell(event, index === event.index ? data : undefined)
  }

  stop(): void {
    if (this.#assembly.latest?.type === 'text') this.#hasOpenText = true
    else this.#tell({ type: 'content_block_stop', index: this.#begun - 1 })
  }

  closeText(): void {
    if (!this.#hasOpenText) return
    this.#hasOpenText = false
    for (const citation of this.#cite(nonEmptyText(this.#assembly.latest?.text) ?? ''))
      this.citation(citation)
    this.#tell({ type: 'content_block_stop', index: this.#begun - 1 })
  }

  /** Only while a text is open. */
  citation(citation: ContentBlock): void {
    this.delta({ type: 'citations_delta', citation })
  }

  get hasOpenText(): boolean {
    return this.#hasOpenText
  }

  /** A last piece of the text that is open, or a text of its own. */
  append(text: string): void {
    if (!this.#hasOpenText) this.start({ type: 'text', text: '', citations: [] })
    this.#hasOpenText = true
    this.delta({ type: 'text_delta', text })
  }

  /**
   * A block that comes at once. The input of a call of a server's tool comes as a delta, as the format has it; for calls
   * of MCP tools some clients add none up, and all of them keep what the beginning says.
   */
  whole(block: ContentBlock): void {
    const isCall = block.type === 'server_tool_use'
    this.start(isCall ? { ...block, input: {} } : block)
    if (isCall) this.delta({ type: 'input_json_delta', partial_json: JSON.stringify(block.input ?? {}) })
    this.stop()
  }

  /** All of it anew, with one text in the place of the last; `alone`: that text and nothing else. */
  restate(text: string, alone: boolean): void {
    const blocks = alone ? [] : this.blocks()
    const last = blocks.findLastIndex(({ type }) => type === 'text')
    this.#assembly = new BlockAssembly()
    this.#begun = 0
    this.#hasOpenText = false
    blocks.forEach((block, at) => {
      if (block.type !== 'text') this.whole(block)
      else if (at === last) this.append(text)
    })
    if (last < 0) this.append(text)
  }

  #tell(event: ContentBlockEvent, data = blockEventJson(event)): void {
    this.#assembly.add(event)
    this.#emit({ type: 'block', data, event })
  }
}
