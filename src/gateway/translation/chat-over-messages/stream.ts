/** A streamed answer of the messages format as chat events (contract/gateway 5.8 and 4). */
import type { ChatDelta, ChatEvent } from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock, ContentBlockEvent, MessagesEvent, StopInfo } from '../../formats/messages.js'
import type {
  CallHandle,
  ConnectionWaits,
  ProviderFailure,
  StreamReceiver,
} from '../../providers/port/provider.js'
import { servedTierForChat } from '../service-tiers.js'
import { finishReasonFor } from '../stop-reasons.js'
import type { Translation } from '../translation.js'
import { dropBlock, dropCitations, refusalText } from './answer.js'
import { encryptedDetail, textDetail } from './reasoning.js'

export class MessagesToChatStream implements StreamReceiver<MessagesEvent>, CallHandle {
  readonly #receiver: StreamReceiver<ChatEvent>
  readonly #translation: Translation
  #flow: CallHandle | null = null
  #over = false
  #reasonings = 0
  #calls = 0
  /** The call under way has told arguments. */
  #argued = false
  #block: ContentBlock | null = null

  constructor(receiver: StreamReceiver<ChatEvent>, translation: Translation) {
    this.#receiver = receiver
    this.#translation = translation
  }

  /** The call of the provider whose answer comes here. */
  begin(flow: CallHandle): this {
    this.#flow = flow
    return this
  }

  pause(): void {
    this.#flow?.pause()
  }

  resume(): void {
    this.#flow?.resume()
  }

  /** The rest of the event at hand is not told any more. */
  cancel(): void {
    this.#over = true
    this.#flow?.cancel()
  }

  waits(): ConnectionWaits | null {
    return this.#flow?.waits?.() ?? null
  }

  onRequestSent(body: unknown): void {
    this.#receiver.onRequestSent?.(body)
  }

  onEvent(event: MessagesEvent): void {
    switch (event.type) {
      case 'block':
        this.#blockEvent(event.event)
        break
      case 'stop':
        this.#stop(event.stop)
        break
      case 'usage': {
        const tier = nonEmptyText(event.wire?.service_tier)
        if (tier !== undefined) this.#tell({ type: 'tier', serviceTier: servedTierForChat(tier) })
        this.#tell({ type: 'usage', usage: event.usage })
        break
      }
      case 'start':
        break
    }
  }

  onFlush(): void {
    this.#receiver.onFlush()
  }

  onEnd(): void {
    this.#receiver.onEnd()
  }

  onFailure(failure: ProviderFailure): void {
    this.#receiver.onFailure(failure)
  }

  #tell(event: ChatEvent): void {
    if (!this.#over) this.#receiver.onEvent(event)
  }

  #add(delta: ChatDelta): void {
    this.#tell({ type: 'delta', choice: 0, delta })
  }

  #blockEvent(event: ContentBlockEvent): void {
    if (event.type === 'content_block_delta') this.#delta(event.delta)
    else if (event.type === 'content_block_start') this.#begin(event.content_block)
    else this.#end()
  }

  #begin(block: ContentBlock): void {
    this.#block = block
    switch (block.type) {
      case 'text':
        if (nonEmptyText(block.text) !== undefined) this.#add({ content: block.text as string })
        break
      case 'thinking':
        this.#reasonings++
        if (nonEmptyText(block.thinking) !== undefined) this.#thought(block.thinking as string)
        break
      case 'redacted_thinking':
        this.#add({ reasoning_details: [encryptedDetail(this.#reasonings++, String(block.data ?? ''))] })
        break
      case 'tool_use':
        this.#argued = false
        this.#call(block)
        break
      default:
        dropBlock(block, this.#translation)
    }
  }

  #call({ id, name }: ContentBlock): void {
    const called = { name: String(name), arguments: '' }
    this.#add({ tool_calls: [{ index: this.#calls++, id: String(id), type: 'function', function: called }] })
  }

  #delta(delta: ContentBlock): void {
    switch (delta.type) {
      case 'text_delta':
        if (delta.text !== '') this.#add({ content: String(delta.text) })
        break
      case 'input_json_delta':
        this.#argue(String(delta.partial_json ?? ''))
        break
      case 'thinking_delta':
        if (delta.thinking !== '') this.#thought(String(delta.thinking))
        break
      case 'signature_delta': {
        const signature = String(delta.signature ?? '')
        this.#add({ reasoning_details: [textDetail(this.#reasonings - 1, { signature })] })
        break
      }
      case 'citations_delta':
        dropCitations([delta.citation], this.#translation)
        break
    }
  }

  #thought(text: string): void {
    this.#add({ reasoning: text, reasoning_details: [textDetail(this.#reasonings - 1, { text })] })
  }

  /** Arguments of tools that the server runs itself are nobody's business here. */
  #argue(json: string): void {
    if (json === '' || this.#block?.type !== 'tool_use') return
    this.#argued = true
    this.#add({ tool_calls: [{ index: this.#calls - 1, function: { arguments: json } }] })
  }

  /** A call without arguments streams none, and chat wants the empty object all the same. */
  #end(): void {
    const block = this.#block
    if (block?.type === 'tool_use' && !this.#argued) this.#argue(JSON.stringify(block.input ?? {}))
    this.#block = null
  }

  #stop(stop: StopInfo): void {
    const refusal = refusalText(stop)
    if (refusal !== null) this.#add({ refusal })
    const native = stop.stop_reason
    this.#tell({ type: 'finish', choice: 0, reason: finishReasonFor(native), native })
  }
}
