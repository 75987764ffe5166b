/** A streamed chat answer as events of the messages format (contract/gateway 4 and 5.8). */
import type { ChatDelta, ChatEvent, Usage } from '../../formats/canonical.js'
import type { ContentBlockEvent, MessagesEvent } from '../../formats/messages.js'
import type { ProviderFailure, StreamReceiver } from '../../providers/port/provider.js'
import { StreamAdapter } from '../../providers/port/stream-adapter.js'
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

export class ChatToMessagesStream extends StreamAdapter<ChatEvent, MessagesEvent> {
  readonly #provider: string
  readonly #translation: Translation
  readonly #blocks: BlockWriter
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
    super(receiver)
    this.#provider = provider
    this.#translation = translation
    this.#blocks = new BlockWriter(
      (event) => this.emit({ type: 'block', data: blockEventJson(event), event }),
      silent,
    )
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

  #delta(delta: ChatDelta): void {
    if (!this.#started) {
      this.#started = true
      this.emit({ type: 'start', usage: null })
    }
    if (delta.refusal !== undefined) this.#refusal += delta.refusal
    dropUnsupportedMembers(delta, this.#translation)
    this.#blocks.add(delta)
  }

  override onEnd(): void {
    this.#blocks.close()
    const wrong = findDefect(this.#finish, this.#blocks)
    if (wrong !== null) {
      this.onFailure(malformedChatAnswer(wrong, this.#provider))
      return
    }
    const stop = toStopInfo(this.#finish, this.#refusal, this.#blocks.callCount > 0)
    this.emit({ type: 'stop', stop })
    this.#tellUsage()
    if (!this.cancelled) this.receiver.onEnd()
  }

  /** Figures are content here, and may only be told of an answer that has begun. */
  override onFailure(failure: ProviderFailure): void {
    if (this.#blocks.blockCount > 0) this.#tellUsage()
    this.receiver.onFailure(failure)
  }

  #tellUsage(): void {
    if (this.#usage === null) return
    this.emit({ type: 'usage', usage: this.#usage, wire: servedTierUsage(this.#tier, this.#translation) })
  }
}

/** The commonest event by far, a piece of text, costs one string to be escaped. */
function blockEventJson(event: ContentBlockEvent): string {
  if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') return JSON.stringify(event)
  const text = JSON.stringify(event.delta.text)
  return `{"type":"content_block_delta","index":${event.index},"delta":{"type":"text_delta","text":${text}}}`
}
