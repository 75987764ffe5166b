/**
 * Deltas of chat as blocks: one after the other, each closed before the next begins, with indexes that count from 0
 * (contract/gateway 5.8). Chat may mix what this format keeps apart, so what comes out of turn waits for its own.
 */
import type { ChatDelta, ReasoningDetail, ToolCallDelta } from '../../formats/canonical.js'
import { asObject, type JsonObject, parseJson } from '../../formats/json-values.js'
import type { ContentBlock, ContentBlockEvent } from '../../formats/messages.js'
import {
  continueThought,
  detailText,
  EMPTY_THOUGHT,
  isTextDetail,
  type ThoughtInProgress,
  thoughtSignature,
  toRedactedThinking,
} from './reasoning.js'

type OpenBlock =
  | { readonly kind: 'text' }
  | { readonly kind: 'thinking'; thought: ThoughtInProgress }
  | { readonly kind: 'call'; readonly call: PendingToolCall }

/** A call of the answer, by the number chat gives it. */
interface PendingToolCall {
  readonly number: number
  readonly id: string
  readonly name: string
  json: string
  /** Its block has been closed. */
  closed: boolean
}

/** Content that came while a call was still incomplete. */
type DeferredContent =
  | { readonly kind: 'text'; text: string }
  | { readonly kind: 'call'; readonly call: PendingToolCall }

export class BlockWriter {
  readonly #emit: (event: ContentBlockEvent) => void
  readonly #hidesThinking: boolean
  readonly #calls = new Map<number, PendingToolCall>()
  readonly #deferred: DeferredContent[] = []
  #index = -1
  #open: OpenBlock | null = null
  #malformedCall = false
  #hasText = false
  /** What the open thinking block does not say. */
  #hiddenText = ''

  /** `silent`: thinking is not to be shown, whether or not the provider shows it; its text is sealed. */
  constructor(tell: (event: ContentBlockEvent) => void, silent: boolean) {
    this.#emit = tell
    this.#hidesThinking = silent
  }

  /** Blocks begun. */
  get blockCount(): number {
    return this.#index + 1
  }

  get callCount(): number {
    return this.#calls.size
  }

  /** A text has begun. */
  get hasText(): boolean {
    return this.#hasText
  }

  /** A call whose arguments are no object, or that went on after its end. */
  get hasMalformedCall(): boolean {
    return this.#malformedCall
  }

  add(delta: ChatDelta): void {
    if (delta.reasoning_details !== undefined || delta.reasoning !== undefined) this.#addReasoning(delta)
    if (delta.content !== undefined && delta.content !== '') this.#addText(delta.content)
    if (delta.tool_calls !== undefined) for (const fragment of delta.tool_calls) this.#addToolCall(fragment)
  }

  /** Where the text under way comes from; false when there is no such text. */
  cite(citation: JsonObject): boolean {
    if (this.#open?.kind !== 'text') return false
    this.#emitDelta({ type: 'citations_delta', citation })
    return true
  }

  /** The answer is complete: closes what is open, and brings what waits. */
  close(): void {
    this.#closeOpen()
    while (this.#deferred.length > 0) {
      this.#emitDeferred(this.#deferred.shift()!)
      this.#closeOpen()
    }
  }

  // ── Thinking ──────────────────────────────────────────────────────────────

  /** Servers tell the same text in both members; the details say more. */
  #addReasoning({ reasoning = '', reasoning_details: details = [] }: ChatDelta): void {
    if (reasoning !== '' && !details.some((detail) => detailText(detail) !== ''))
      this.#addThinking(reasoning, null)
    for (const detail of details) {
      if (isTextDetail(detail)) this.#addThinking(detailText(detail), detail)
      else this.emitWhole(toRedactedThinking(detail))
    }
  }

  #addThinking(text: string, detail: ReasoningDetail | null): void {
    const before = this.#open?.kind === 'thinking' ? this.#open.thought : null
    const continued = before === null ? null : detail === null ? before : continueThought(before, detail)
    if (continued === null) {
      const thought = detail === null ? EMPTY_THOUGHT : continueThought(EMPTY_THOUGHT, detail)!
      this.#openBlock({ kind: 'thinking', thought }, { type: 'thinking', thinking: '', signature: '' })
    } else if (this.#open?.kind === 'thinking') this.#open.thought = continued
    if (this.#hidesThinking) this.#hiddenText += text
    else if (text !== '') this.#emitDelta({ type: 'thinking_delta', thinking: text })
  }

  /** A block that has no deltas. */
  emitWhole(block: ContentBlock): void {
    this.#openBlock(null, block)
    this.#emit({ type: 'content_block_stop', index: this.#index })
  }

  // ── Text and calls ────────────────────────────────────────────────────────

  #addText(text: string): void {
    if (this.#mustDefer()) {
      const last = this.#deferred.at(-1)
      if (last?.kind === 'text') last.text += text
      else this.#deferred.push({ kind: 'text', text })
      return
    }
    if (this.#open?.kind !== 'text')
      this.#openBlock({ kind: 'text' }, { type: 'text', text: '', citations: [] })
    this.#emitDelta({ type: 'text_delta', text })
  }

  #addToolCall({ index: number, id, function: { name, arguments: json = '' } }: ToolCallDelta): void {
    const known = this.#calls.get(number)
    if (known !== undefined) {
      this.#addArguments(known, json)
      return
    }
    const call = { number, id: id ?? `call_${number}`, name: name ?? '', json: '', closed: false }
    this.#calls.set(number, call)
    if (this.#mustDefer()) this.#deferred.push({ kind: 'call', call })
    else this.#beginCall(call)
    this.#addArguments(call, json)
  }

  #addArguments(call: PendingToolCall, json: string): void {
    // Another way in which servers say that there are no arguments.
    if (json === '' || (json === 'null' && call.json === '')) return
    if (call.closed) {
      if (json.trim() !== '') this.#malformedCall = true
      return
    }
    call.json += json
    if (this.#open?.kind !== 'call' || this.#open.call !== call) return
    this.#emitDelta({ type: 'input_json_delta', partial_json: json })
    this.#emitReady()
  }

  #beginCall(call: PendingToolCall): void {
    this.#openBlock({ kind: 'call', call }, toolUseBlock(call.id, call.name, {}))
  }

  // ── Turns ─────────────────────────────────────────────────────────────────

  /** A call may only be closed when nothing more of it can come. */
  #mustDefer(): boolean {
    return this.#deferred.length > 0 || (this.#open?.kind === 'call' && !isComplete(this.#open.call))
  }

  #emitReady(): void {
    while (this.#deferred.length > 0 && !(this.#open?.kind === 'call' && !isComplete(this.#open.call))) {
      this.#emitDeferred(this.#deferred.shift()!)
    }
  }

  #emitDeferred(waiting: DeferredContent): void {
    if (waiting.kind === 'text') {
      this.#openBlock({ kind: 'text' }, { type: 'text', text: '', citations: [] })
      this.#emitDelta({ type: 'text_delta', text: waiting.text })
      return
    }
    const { call } = waiting
    this.#beginCall(call)
    if (call.json !== '') this.#emitDelta({ type: 'input_json_delta', partial_json: call.json })
  }

  #openBlock(open: OpenBlock | null, block: ContentBlock): void {
    this.#closeOpen()
    if (open?.kind === 'text') this.#hasText = true
    this.#open = open
    this.#emit({ type: 'content_block_start', index: ++this.#index, content_block: block })
  }

  #emitDelta(delta: ContentBlock): void {
    this.#emit({ type: 'content_block_delta', index: this.#index, delta })
  }

  #closeOpen(): void {
    const open = this.#open
    if (open === null) return
    this.#open = null
    if (open.kind === 'thinking') {
      const signature = thoughtSignature(open.thought, this.#hiddenText)
      this.#hiddenText = ''
      if (signature !== '') this.#emitDelta({ type: 'signature_delta', signature })
    } else if (open.kind === 'call') {
      open.call.closed = true
      if (parseToolInput(open.call.json) === null) this.#malformedCall = true
    }
    this.#emit({ type: 'content_block_stop', index: this.#index })
  }
}

function isComplete({ json }: PendingToolCall): boolean {
  return json.trim() !== '' && parseToolInput(json) !== null
}

export function toolUseBlock(id: string, name: string, input: object): ContentBlock {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } }
}

/** Null when they are no object. No arguments, in either of the two ways in which servers say it, are an empty one. */
export function parseToolInput(text: string): Readonly<Record<string, unknown>> | null {
  const trimmed = text.trim()
  return trimmed === '' || trimmed === 'null' ? {} : asObject(parseJson(trimmed))
}
