/** Puts the blocks of a streamed message together from their events (contract/gateway 5.7, 5.8). */
import { asObject, nonEmptyText, parseJson } from '../../formats/json-values.js'
import type { ContentBlock, ContentBlockEvent } from '../../formats/messages.js'

interface GrowingBlock {
  members: Record<string, unknown>
  /** Input of a call, as far as it has come; null where it came with the beginning. */
  json: string | null
}

export class BlockAssembly {
  readonly #blocks: GrowingBlock[] = []

  /** Events in the order of the format; indexes are not looked at. */
  add(event: ContentBlockEvent): void {
    if (event.type === 'content_block_start') {
      this.#blocks.push({ members: { ...event.content_block }, json: null })
      return
    }
    const block = this.#blocks.at(-1)
    if (block !== undefined && event.type === 'content_block_delta') addDelta(block, event.delta)
  }

  /** Of the block begun last, and no other. */
  get latest(): ContentBlock | undefined {
    const block = this.#blocks.at(-1)
    return block === undefined ? undefined : toBlock(block)
  }

  /** What the input of the block begun last says so far, as JSON. */
  get latestInput(): string {
    const block = this.#blocks.at(-1)
    if (block === undefined) return '{}'
    return block.json ?? JSON.stringify(block.members.input ?? {})
  }

  blocks(): ContentBlock[] {
    return this.#blocks.map(toBlock)
  }

  /** Of all text blocks. */
  get text(): string {
    return this.#blocks.map(({ members }) => textOf(members)).join('')
  }
}

function textOf({ type, text }: Readonly<Record<string, unknown>>): string {
  return type === 'text' ? (nonEmptyText(text) ?? '') : ''
}

/** An input that is no JSON object was cut short, or never was one. */
function toBlock({ members, json }: GrowingBlock): ContentBlock {
  const input = json === null ? members.input : (asObject(parseJson(json === '' ? '{}' : json)) ?? {})
  return (json === null ? members : { ...members, input }) as unknown as ContentBlock
}

/** Which member a delta makes longer. */
const GROWS: ReadonlyMap<string, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'signature'],
])

function addDelta(block: GrowingBlock, delta: ContentBlock): void {
  const { members } = block
  const grows = GROWS.get(delta.type)
  if (grows !== undefined)
    members[grows] = (nonEmptyText(members[grows]) ?? '') + (nonEmptyText(delta[grows]) ?? '')
  else if (delta.type === 'input_json_delta')
    block.json = (block.json ?? '') + (nonEmptyText(delta.partial_json) ?? '')
  else if (delta.type === 'citations_delta') {
    const before = Array.isArray(members.citations) ? (members.citations as readonly unknown[]) : []
    members.citations = [...before, delta.citation]
  } else {
    const { type: _, ...rest } = delta
    Object.assign(members, rest)
  }
}
