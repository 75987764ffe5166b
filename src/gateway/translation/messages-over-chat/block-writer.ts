/**
 * Deltas of chat as blocks: one after the other, each closed before the next begins, with indexes that count from 0
 * (contract/gateway 5.8). Chat may mix what this format keeps apart, so what comes out of turn waits for its own.
 */
import type { Delta, ReasoningDetail, ToolCallDelta } from '../../formats/canonical.js'
import type { Block, BlockEvent } from '../../formats/messages.js'
import { continued, isText, redacted, signatureOf, type Thought, textIn, UNTOLD } from './thoughts.js'
import { inputOf } from './tool-input.js'

type Open =
  | { readonly kind: 'text' }
  | { readonly kind: 'thinking'; thought: Thought }
  | { readonly kind: 'call'; readonly call: Call }

/** A call of the answer, by the number chat gives it. */
interface Call {
  readonly number: number
  readonly id: string
  readonly name: string
  json: string
  /** Its block has been closed. */
  closed: boolean
}

/** Content that came while a call was still incomplete. */
type Waiting = { readonly kind: 'text'; text: string } | { readonly kind: 'call'; readonly call: Call }

export class BlockWriter {
  readonly #tell: (event: BlockEvent) => void
  readonly #silent: boolean
  readonly #calls = new Map<number, Call>()
  readonly #waiting: Waiting[] = []
  #index = -1
  #open: Open | null = null
  #broken = false
  /** What the open thinking block does not say. */
  #unsaid = ''

  /** `silent`: thinking is not to be shown, whether or not the provider shows it; its text is sealed. */
  constructor(tell: (event: BlockEvent) => void, silent: boolean) {
    this.#tell = tell
    this.#silent = silent
  }

  /** Blocks begun. */
  get count(): number {
    return this.#index + 1
  }

  get calls(): number {
    return this.#calls.size
  }

  /** A call whose arguments are no object, or that went on after its end. */
  get broken(): boolean {
    return this.#broken
  }

  take(delta: Delta): void {
    if (delta.reasoning_details !== undefined || delta.reasoning !== undefined) this.#reason(delta)
    if (delta.content !== undefined && delta.content !== '') this.#say(delta.content)
    if (delta.tool_calls !== undefined) for (const fragment of delta.tool_calls) this.#call(fragment)
  }

  /** The answer is complete: closes what is open, and brings what waits. */
  close(): void {
    this.#closeOpen()
    while (this.#waiting.length > 0) {
      this.#bring(this.#waiting.shift()!)
      this.#closeOpen()
    }
  }

  // ── Thinking ──────────────────────────────────────────────────────────────

  /** Servers tell the same text in both members; the details say more. */
  #reason({ reasoning = '', reasoning_details: details = [] }: Delta): void {
    if (reasoning !== '' && !details.some((detail) => textIn(detail) !== '')) this.#think(reasoning, null)
    for (const detail of details) {
      if (isText(detail)) this.#think(textIn(detail), detail)
      else this.#whole(redacted(detail))
    }
  }

  #think(text: string, detail: ReasoningDetail | null): void {
    const before = this.#open?.kind === 'thinking' ? this.#open.thought : null
    const goesOn = before === null ? null : detail === null ? before : continued(before, detail)
    if (goesOn === null) {
      const thought = detail === null ? UNTOLD : continued(UNTOLD, detail)!
      this.#begin({ kind: 'thinking', thought }, { type: 'thinking', thinking: '', signature: '' })
    } else if (this.#open?.kind === 'thinking') this.#open.thought = goesOn
    if (this.#silent) this.#unsaid += text
    else if (text !== '') this.#grow({ type: 'thinking_delta', thinking: text })
  }

  #whole(block: Block): void {
    this.#begin(null, block)
    this.#tell({ type: 'content_block_stop', index: this.#index })
  }

  // ── Text and calls ────────────────────────────────────────────────────────

  #say(text: string): void {
    if (this.#mustWait()) {
      const last = this.#waiting.at(-1)
      if (last?.kind === 'text') last.text += text
      else this.#waiting.push({ kind: 'text', text })
      return
    }
    if (this.#open?.kind !== 'text') this.#begin({ kind: 'text' }, { type: 'text', text: '', citations: [] })
    this.#grow({ type: 'text_delta', text })
  }

  #call({ index: number, id, function: { name, arguments: json = '' } }: ToolCallDelta): void {
    const known = this.#calls.get(number)
    if (known !== undefined) {
      this.#argue(known, json)
      return
    }
    const call = { number, id: id ?? `call_${number}`, name: name ?? '', json: '', closed: false }
    this.#calls.set(number, call)
    if (this.#mustWait()) this.#waiting.push({ kind: 'call', call })
    else this.#beginCall(call)
    this.#argue(call, json)
  }

  #argue(call: Call, json: string): void {
    // Another way in which servers say that there are no arguments.
    if (json === '' || (json === 'null' && call.json === '')) return
    if (call.closed) {
      if (json.trim() !== '') this.#broken = true
      return
    }
    call.json += json
    if (this.#open?.kind !== 'call' || this.#open.call !== call) return
    this.#grow({ type: 'input_json_delta', partial_json: json })
    this.#bringReady()
  }

  #beginCall(call: Call): void {
    const block = { type: 'tool_use', id: call.id, name: call.name, input: {}, caller: { type: 'direct' } }
    this.#begin({ kind: 'call', call }, block)
  }

  // ── Turns ─────────────────────────────────────────────────────────────────

  /** A call may only be closed when nothing more of it can come. */
  #mustWait(): boolean {
    return this.#waiting.length > 0 || (this.#open?.kind === 'call' && !isComplete(this.#open.call))
  }

  #bringReady(): void {
    while (this.#waiting.length > 0 && !(this.#open?.kind === 'call' && !isComplete(this.#open.call))) {
      this.#bring(this.#waiting.shift()!)
    }
  }

  #bring(waiting: Waiting): void {
    if (waiting.kind === 'text') {
      this.#begin({ kind: 'text' }, { type: 'text', text: '', citations: [] })
      this.#grow({ type: 'text_delta', text: waiting.text })
      return
    }
    const { call } = waiting
    this.#beginCall(call)
    if (call.json !== '') this.#grow({ type: 'input_json_delta', partial_json: call.json })
  }

  #begin(open: Open | null, block: Block): void {
    this.#closeOpen()
    this.#open = open
    this.#tell({ type: 'content_block_start', index: ++this.#index, content_block: block })
  }

  #grow(delta: Block): void {
    this.#tell({ type: 'content_block_delta', index: this.#index, delta })
  }

  #closeOpen(): void {
    const open = this.#open
    if (open === null) return
    this.#open = null
    if (open.kind === 'thinking') {
      const signature = signatureOf(open.thought, this.#unsaid)
      this.#unsaid = ''
      if (signature !== '') this.#grow({ type: 'signature_delta', signature })
    } else if (open.kind === 'call') {
      open.call.closed = true
      if (inputOf(open.call.json) === null) this.#broken = true
    }
    this.#tell({ type: 'content_block_stop', index: this.#index })
  }
}

function isComplete({ json }: Call): boolean {
  return json.trim() !== '' && inputOf(json) !== null
}
