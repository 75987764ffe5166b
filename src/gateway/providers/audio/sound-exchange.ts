/** Speech as raw bytes, passed on as they come. */
import type { SpeechEvent } from '../../formats/audio.js'
import { isJsonType } from '../http/content-headers.js'
import { ProviderExchange } from '../http/provider-exchange.js'
import type { StreamReceiver } from '../port/provider.js'

export class SoundExchange extends ProviderExchange<StreamReceiver<SpeechEvent>, never> {
  protected onSuccessHead(type: string): void {
    if (isJsonType(type) || type.startsWith('text/')) this.failMalformed('an answer that is no audio')
  }

  protected override onPiece(chunk: Uint8Array): void {
    this.receiver.onEvent({ type: 'audio', bytes: Uint8Array.from(chunk) })
    if (!this.over) this.receiver.onFlush()
  }

  protected override onLastPiece(): void {
    this.finish()
    this.receiver.onEnd()
  }
}
