/** One turn of a messages conversation as it is streamed: what of it the caller sees, and what it comes to. */
import { asObject, nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock, ContentBlockEvent, MessagesEvent, StopInfo } from '../../formats/messages.js'
import type { TurnCall, TurnEnd } from '../turn-format.js'
import { BlockAssembly } from './block-assembly.js'
import type { ShownBlocks } from './shown-blocks.js'

interface TurnView {
  /** Names of the tools that the caller runs itself. */
  readonly callerTools: ReadonlySet<string>
  /** No call may be shown: tools are off. */
  readonly hidesCalls: boolean
  readonly shown: ShownBlocks
}

/** `waiting`: a text that has said nothing yet; an empty one beside a call is refused by the next turn's server. */
type BlockState = 'hidden' | 'waiting' | 'shown'

/** Why a turn ended that has not finished what it said. */
const BROKEN: ReadonlySet<string> = new Set(['max_tokens', 'refusal', 'model_context_window_exceeded'])

export class MessagesTurn {
  readonly #view: TurnView
  readonly #said = new BlockAssembly()
  readonly #calls: TurnCall[] = []
  readonly #callerCalls: string[] = []
  #state: BlockState = 'shown'
  #beginning: ContentBlock | null = null
  stop: StopInfo | null = null

  constructor(view: TurnView) {
    this.#view = view
  }

  take(event: MessagesEvent): void {
    if (event.type === 'stop') this.stop = event.stop
    if (event.type !== 'block') return
    this.#said.add(event.event)
    this.#show(event.event, event.data)
  }

  #show(event: ContentBlockEvent, data: string): void {
    const { shown } = this.#view
    if (event.type === 'content_block_start') {
      this.#begin(event.content_block)
      return
    }
    if (event.type === 'content_block_delta' && this.#state === 'waiting' && saysSomething(event.delta)) {
      this.#state = 'shown'
      shown.start(this.#beginning!)
    }
    if (this.#state === 'shown') {
      if (event.type === 'content_block_delta') shown.delta(event.delta, data, event.index)
      else shown.stop()
    }
    if (event.type === 'content_block_stop') this.#noteCall()
  }

  #begin(block: ContentBlock): void {
    const { callerTools, hidesCalls, shown } = this.#view
    this.#beginning = block
    const isCall = block.type === 'tool_use'
    if (isCall && (hidesCalls || !callerTools.has(nameOf(block)))) this.#state = 'hidden'
    else if (block.type === 'text' && (nonEmptyText(block.text) ?? '') === '') this.#state = 'waiting'
    else {
      this.#state = 'shown'
      shown.start(block)
    }
  }

  #noteCall(): void {
    const block = this.#beginning
    if (block?.type !== 'tool_use') return
    const name = nameOf(block)
    if (this.#view.callerTools.has(name)) this.#callerCalls.push(name)
    else
      this.#calls.push({ id: nonEmptyText(block.id) ?? '', name, arguments: this.#said.latestInput || '{}' })
  }

  end(): TurnEnd {
    const finish = this.stop?.stop_reason ?? 'end_turn'
    return { finish, isBroken: BROKEN.has(finish), calls: this.#calls, callerCalls: this.#callerCalls }
  }

  /** For the turns that follow. A server of this format takes no text that says nothing. */
  message(): ContentBlock[] {
    return this.#said
      .blocks()
      .filter(({ type, text }) => type !== 'text' || (nonEmptyText(text) ?? '').trim() !== '')
  }
}

/** `''` where a provider says none. */
function nameOf({ name }: ContentBlock): string {
  return nonEmptyText(name) ?? ''
}

function saysSomething({ type, text, citation }: ContentBlock): boolean {
  return type === 'text_delta' ? nonEmptyText(text) !== undefined : asObject(citation) !== null
}
