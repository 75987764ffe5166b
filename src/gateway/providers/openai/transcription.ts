/** Transcription by an OpenAI-compatible server (contract/gateway 6). */
import { BoundedTextBody, contentLengthOf } from '../../../upstream/body-text.js'
import type { Transcript } from '../../formats/audio.js'
import { asObject, parseJson } from '../../formats/json-values.js'
import { isJsonType, mediaTypeOf, ProviderExchange } from '../http/provider-exchange.js'
import { errorInAnswer, type FailureSource, malformedAnswer, type ResponseHeaders } from '../port/failure.js'
import type { CompletionReceiver, ProviderFailure } from '../port/provider.js'
import { parseTranscript } from './transcript.js'

const MAX_ANSWER_BYTES = 64 * 1024 * 1024

export class Transcription extends ProviderExchange {
  private body: BoundedTextBody | null = null

  constructor(
    source: FailureSource,
    private readonly receiver: CompletionReceiver<Transcript>,
  ) {
    super(source)
  }

  protected onSuccessHead(headers: ResponseHeaders): void {
    const type = mediaTypeOf(headers)
    if (type === '' || isJsonType(type))
      this.body = new BoundedTextBody(MAX_ANSWER_BYTES, contentLengthOf(headers))
    else this.failMalformed('an answer that is no JSON')
  }

  protected onSuccessBody(chunk: Uint8Array): void {
    if (this.body?.push(chunk) === false) this.failMalformed('an answer over 64 MiB')
  }

  protected onSuccessEnd(): void {
    const body = asObject(parseJson(this.body?.text() ?? ''))
    if (body?.error) {
      this.fail(errorInAnswer(body.error, this.source, this.status))
      return
    }
    const transcript = body === null ? null : parseTranscript(body)
    if (transcript === null) {
      this.fail(malformedAnswer('a body without a text', this.source, this.status))
      return
    }
    this.finish()
    this.receiver.onEnd(transcript)
  }

  protected reportFailure(failure: ProviderFailure): void {
    this.receiver.onFailure(failure)
  }
}
