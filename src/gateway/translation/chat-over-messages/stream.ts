/** A streamed answer of the messages format as chat events (contract/gateway 5.8 and 4). */
import type { Delta, InferenceEvent } from '../../formats/canonical.js'
import type { Block, BlockEvent, MessagesEvent, StopFacts } from '../../formats/messages.js'
import { textOf } from '../../formats/shape.js'
import type { Flow, ProviderFailure, StreamReceiver, Waits } from '../../providers/port/provider.js'
import type { Crossing } from '../crossing.js'
import { tierServed } from '../service-tiers.js'
import { finishOfStop } from '../stop-reasons.js'
import { loseBlock, loseCitations, refusalIn } from './answer.js'
import { encryptedDetail, textDetail } from './reasoning.js'

export class StreamAsChat implements StreamReceiver<MessagesEvent>, Flow {
  readonly #receiver: StreamReceiver<InferenceEvent>
  readonly #crossing: Crossing
  #flow: Flow | null = null
  #over = false
  #reasonings = 0
  #calls = 0
  /** The call under way has told arguments. */
  #argued = false
  #block: Block | null = null

  constructor(receiver: StreamReceiver<InferenceEvent>, crossing: Crossing) {
    this.#receiver = receiver
    this.#crossing = crossing
  }

  /** The call of the provider whose answer comes here. */
  begin(flow: Flow): this {
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

  waits(): Waits | null {
    return this.#flow?.waits?.() ?? null
  }

  sent(body: unknown): void {
    this.#receiver.sent?.(body)
  }

  event(event: MessagesEvent): void {
    switch (event.type) {
      case 'block':
        this.#blockEvent(event.event)
        break
      case 'stop':
        this.#stop(event.stop)
        break
      case 'usage': {
        const tier = textOf(event.wire?.service_tier)
        if (tier !== undefined) this.#tell({ type: 'tier', serviceTier: tierServed(tier) })
        this.#tell({ type: 'usage', usage: event.usage })
        break
      }
      case 'start':
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

  #tell(event: InferenceEvent): void {
    if (!this.#over) this.#receiver.event(event)
  }

  #add(delta: Delta): void {
    this.#tell({ type: 'delta', choice: 0, delta })
  }

  #blockEvent(event: BlockEvent): void {
    if (event.type === 'content_block_delta') this.#delta(event.delta)
    else if (event.type === 'content_block_start') this.#begin(event.content_block)
    else this.#end()
  }

  #begin(block: Block): void {
    this.#block = block
    switch (block.type) {
      case 'text':
        if (textOf(block.text) !== undefined) this.#add({ content: block.text as string })
        break
      case 'thinking':
        this.#reasonings++
        if (textOf(block.thinking) !== undefined) this.#thought(block.thinking as string)
        break
      case 'redacted_thinking':
        this.#add({ reasoning_details: [encryptedDetail(this.#reasonings++, String(block.data ?? ''))] })
        break
      case 'tool_use':
        this.#argued = false
        this.#call(block)
        break
      default:
        loseBlock(block, this.#crossing)
    }
  }

  #call({ id, name }: Block): void {
    const called = { name: String(name), arguments: '' }
    this.#add({ tool_calls: [{ index: this.#calls++, id: String(id), type: 'function', function: called }] })
  }

  #delta(delta: Block): void {
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
        loseCitations([delta.citation], this.#crossing)
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

  #stop(stop: StopFacts): void {
    const refusal = refusalIn(stop)
    if (refusal !== null) this.#add({ refusal })
    const native = stop.stop_reason
    this.#tell({ type: 'finish', choice: 0, reason: finishOfStop(native), native })
  }
}
