/** The blocks that the events of a stream add up to. */

import { asObject, parseJson } from '../formats/json-values.js'
import type { ContentBlock, ContentBlockEvent } from '../formats/messages.js'

type MutableBlock = Record<string, unknown> & { type: string }

export class BlockAssembler {
  readonly #blocks: MutableBlock[] = []
  #json = ''

  add(event: ContentBlockEvent): void {
    if (event.type === 'content_block_start') {
      this.#blocks.push({ ...event.content_block })
      this.#json = ''
    } else if (event.type === 'content_block_delta') this.#applyDelta(event.delta)
    else this.#parseInput()
  }

  /** In order; all of them are closed by now. */
  blocks(): readonly ContentBlock[] {
    return this.#blocks
  }

  #applyDelta({ type, ...told }: ContentBlock): void {
    const block = this.#blocks.at(-1)
    if (block === undefined) return
    if (type === 'input_json_delta') this.#json += String(told.partial_json ?? '')
    else if (type === 'citations_delta') {
      block.citations = [...(Array.isArray(block.citations) ? block.citations : []), told.citation]
    } else {
      for (const name in told) {
        const before = block[name]
        block[name] = typeof before === 'string' ? before + String(told[name]) : told[name]
      }
    }
  }

  /** The input of a call comes as text; one that was cut off is as empty as it began. */
  #parseInput(): void {
    const block = this.#blocks.at(-1)
    if (block !== undefined && this.#json.trim() !== '')
      block.input = asObject(parseJson(this.#json)) ?? block.input
  }
}
