/** A streamed chat answer as events of the messages format (contract/gateway 4 and 5.8). */
import type { Delta, InferenceEvent, Usage } from '../../formats/canonical.js'
import type { BlockEvent, MessagesEvent } from '../../formats/messages.js'
import type { Flow, ProviderFailure, StreamReceiver, Waits } from '../../providers/port/provider.js'
import type { Crossing } from '../crossing.js'
import { broken, type Finish, loseMembers, stopFacts, tierFigures, whatIsWrong } from './answer.js'
import { BlockWriter } from './block-writer.js'

export class StreamAsMessages implements StreamReceiver<InferenceEvent>, Flow {
  readonly #receiver: StreamReceiver<MessagesEvent>
  readonly #provider: string
  readonly #crossing: Crossing
  readonly #blocks: BlockWriter
  #flow: Flow | null = null
  #over = false
  #started = false
  #finish: Finish = { reason: 'stop', native: null }
  #usage: Usage | null = null
  #tier: string | null = null
  #refusal = ''

  /** `provider` is its display name, for failures; `silent`: thinking is not to be shown. */
  constructor(
    receiver: StreamReceiver<MessagesEvent>,
    provider: string,
    crossing: Crossing,
    silent: boolean,
  ) {
    this.#receiver = receiver
    this.#provider = provider
    this.#crossing = crossing
    this.#blocks = new BlockWriter(
      (event) => this.#tell({ type: 'block', data: dataOf(event), event }),
      silent,
    )
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

  event(event: InferenceEvent): void {
    switch (event.type) {
      case 'delta':
        if (event.choice === 0) this.#delta(event.delta)
        break
      case 'finish':
        if (event.choice === 0) this.#finish = { reason: event.reason, native: event.native }
        break
      case 'usage':
        this.#usage = event.usage
        break
      case 'tier':
        this.#tier = event.serviceTier
        break
    }
  }

  #tell(event: MessagesEvent): void {
    if (!this.#over) this.#receiver.event(event)
  }

  #delta(delta: Delta): void {
    if (!this.#started) {
      this.#started = true
      this.#tell({ type: 'start', usage: null })
    }
    if (delta.refusal !== undefined) this.#refusal += delta.refusal
    loseMembers(delta, this.#crossing)
    this.#blocks.take(delta)
  }

  flush(): void {
    this.#receiver.flush()
  }

  ended(): void {
    this.#blocks.close()
    const wrong = whatIsWrong(this.#finish, this.#blocks)
    if (wrong !== null) {
      this.failed(broken(wrong, this.#provider))
      return
    }
    const stop = stopFacts(this.#finish, this.#refusal, this.#blocks.calls > 0)
    this.#tell({ type: 'stop', stop })
    this.#tellUsage()
    if (!this.#over) this.#receiver.ended()
  }

  /** Figures are content here, and may only be told of an answer that has begun. */
  failed(failure: ProviderFailure): void {
    if (this.#blocks.count > 0) this.#tellUsage()
    this.#receiver.failed(failure)
  }

  #tellUsage(): void {
    if (this.#usage === null) return
    this.#tell({ type: 'usage', usage: this.#usage, wire: tierFigures(this.#tier, this.#crossing) })
  }
}

/** The commonest event by far, a piece of text, costs one string to be escaped. */
function dataOf(event: BlockEvent): string {
  if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') return JSON.stringify(event)
  const text = JSON.stringify(event.delta.text)
  return `{"type":"content_block_delta","index":${event.index},"delta":{"type":"text_delta","text":${text}}}`
}
