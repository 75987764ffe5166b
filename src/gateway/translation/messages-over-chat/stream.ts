/** A streamed chat answer as events of the messages format (contract/gateway 4 and 5.8). */
import type { ChatDelta, ChatEvent, Usage } from '../../formats/canonical.js'
import type { ContentBlockEvent, MessagesEvent } from '../../formats/messages.js'
import type {
  CallHandle,
  ConnectionWaits,
  ProviderFailure,
  StreamReceiver,
} from '../../providers/port/provider.js'
import type { Translation } from '../translation.js'
import {
  type ChatFinish,
  dropUnsupportedMembers,
  findDefect,
  malformedChatAnswer,
  servedTierUsage,
  toStopInfo,
} from './answer.js'
import { BlockWriter } from './block-writer.js'

export class ChatToMessagesStream implements StreamReceiver<ChatEvent>, CallHandle {
  readonly #receiver: StreamReceiver<MessagesEvent>
  readonly #provider: string
  readonly #translation: Translation
  readonly #blocks: BlockWriter
  #flow: CallHandle | null = null
  #over = false
  #started = false
  #finish: ChatFinish = { reason: 'stop', native: null }
  #usage: Usage | null = null
  #tier: string | null = null
  #refusal = ''

  /** `provider` is its display name, for failures; `silent`: thinking is not to be shown. */
  constructor(
    receiver: StreamReceiver<MessagesEvent>,
    provider: string,
    translation: Translation,
    silent: boolean,
  ) {
    this.#receiver = receiver
    this.#provider = provider
    this.#translation = translation
    this.#blocks = new BlockWriter(
      (event) => this.#tell({ type: 'block', data: blockEventJson(event), event }),
      silent,
    )
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

  onEvent(event: ChatEvent): void {
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
    if (!this.#over) this.#receiver.onEvent(event)
  }

  #delta(delta: ChatDelta): void {
    if (!this.#started) {
      this.#started = true
      this.#tell({ type: 'start', usage: null })
    }
    if (delta.refusal !== undefined) this.#refusal += delta.refusal
    dropUnsupportedMembers(delta, this.#translation)
    this.#blocks.add(delta)
  }

  onFlush(): void {
    this.#receiver.onFlush()
  }

  onEnd(): void {
    this.#blocks.close()
    const wrong = findDefect(this.#finish, this.#blocks)
    if (wrong !== null) {
      this.onFailure(malformedChatAnswer(wrong, this.#provider))
      return
    }
    const stop = toStopInfo(this.#finish, this.#refusal, this.#blocks.callCount > 0)
    this.#tell({ type: 'stop', stop })
    this.#tellUsage()
    if (!this.#over) this.#receiver.onEnd()
  }

  /** Figures are content here, and may only be told of an answer that has begun. */
  onFailure(failure: ProviderFailure): void {
    if (this.#blocks.blockCount > 0) this.#tellUsage()
    this.#receiver.onFailure(failure)
  }

  #tellUsage(): void {
    if (this.#usage === null) return
    this.#tell({ type: 'usage', usage: this.#usage, wire: servedTierUsage(this.#tier, this.#translation) })
  }
}

/** The commonest event by far, a piece of text, costs one string to be escaped. */
function blockEventJson(event: ContentBlockEvent): string {
  if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') return JSON.stringify(event)
  const text = JSON.stringify(event.delta.text)
  return `{"type":"content_block_delta","index":${event.index},"delta":{"type":"text_delta","text":${text}}}`
}
