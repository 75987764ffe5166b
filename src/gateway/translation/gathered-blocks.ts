/** The blocks that the events of a stream add up to. */
import type { Block, BlockEvent } from '../formats/messages.js'
import { objectOf, parsed } from '../formats/shape.js'

type Growing = Record<string, unknown> & { type: string }

export class GatheredBlocks {
  readonly #blocks: Growing[] = []
  #json = ''

  take(event: BlockEvent): void {
    if (event.type === 'content_block_start') {
      this.#blocks.push({ ...event.content_block })
      this.#json = ''
    } else if (event.type === 'content_block_delta') this.#grow(event.delta)
    else this.#fill()
  }

  /** In order; all of them are closed by now. */
  blocks(): readonly Block[] {
    return this.#blocks
  }

  #grow({ type, ...told }: Block): void {
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
  #fill(): void {
    const block = this.#blocks.at(-1)
    if (block !== undefined && this.#json.trim() !== '')
      block.input = objectOf(parsed(this.#json)) ?? block.input
  }
}
