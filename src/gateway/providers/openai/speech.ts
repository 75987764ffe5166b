/** Speech of an OpenAI-compatible server: raw bytes, passed on as they come (contract/gateway 7). */
import type { SpeechEvent, SpeechRequest } from '../../formats/audio.js'
import { Exchange, isJson, mediaType } from '../http/exchange.js'
import type { Headers, Source } from '../port/failure.js'
import type { ProviderCall, ProviderFailure, StreamReceiver } from '../port/provider.js'

/** The body of a call. `speed` goes only to models that have it; others would refuse it. */
export function speechBody(call: ProviderCall<SpeechRequest>): Record<string, unknown> {
  const { input, voice, response_format, speed, instructions } = call.request
  const { upstreamModel, supportedParameters } = call.endpoint
  return {
    model: upstreamModel,
    input,
    voice,
    response_format,
    ...(speed !== undefined && supportedParameters.has('speed') && { speed }),
    ...(instructions !== undefined && { instructions }),
  }
}

export class Speech extends Exchange {
  constructor(
    source: Source,
    private readonly receiver: StreamReceiver<SpeechEvent>,
  ) {
    super(source)
  }

  protected accepted(headers: Headers): void {
    const type = mediaType(headers)
    if (isJson(type) || type.startsWith('text/')) this.failBroken('an answer that is no audio')
  }

  protected piece(chunk: Uint8Array): void {
    this.receiver.event({ type: 'audio', bytes: Uint8Array.from(chunk) })
    if (!this.over) this.receiver.flush()
  }

  protected complete(): void {
    this.finish()
    this.receiver.ended()
  }

  protected tell(failure: ProviderFailure): void {
    this.receiver.failed(failure)
  }
}
