/** Speech of an OpenAI-compatible server: raw bytes, passed on as they come (contract/gateway 7). */
import type { SpeechEvent, SpeechRequest } from '../../formats/audio.js'
import { isJsonType, mediaTypeOf, ProviderExchange } from '../http/provider-exchange.js'
import type { FailureSource, ResponseHeaders } from '../port/failure.js'
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

export class Speech extends ProviderExchange {
  constructor(
    source: FailureSource,
    private readonly receiver: StreamReceiver<SpeechEvent>,
  ) {
    super(source)
  }

  protected onSuccessHead(headers: ResponseHeaders): void {
    const type = mediaTypeOf(headers)
    if (isJsonType(type) || type.startsWith('text/')) this.failMalformed('an answer that is no audio')
  }

  protected onSuccessBody(chunk: Uint8Array): void {
    this.receiver.onEvent({ type: 'audio', bytes: Uint8Array.from(chunk) })
    if (!this.over) this.receiver.onFlush()
  }

  protected onSuccessEnd(): void {
    this.finish()
    this.receiver.onEnd()
  }

  protected reportFailure(failure: ProviderFailure): void {
    this.receiver.onFailure(failure)
  }
}
