/** Transcription by an OpenAI-compatible server (contract/gateway 6). */
import { BodyText, declaredLength } from '../../../upstream/body-text.js'
import type { Transcript } from '../../formats/audio.js'
import { objectOf, parsed } from '../../formats/shape.js'
import { Exchange, isJson, mediaType } from '../http/exchange.js'
import { brokenAnswer, errorWithin, type Headers, type Source } from '../port/failure.js'
import type { CompletionReceiver, ProviderFailure } from '../port/provider.js'
import { transcriptOf } from './transcript.js'

const MAX_ANSWER_BYTES = 64 * 1024 * 1024

export class Transcription extends Exchange {
  private body: BodyText | null = null

  constructor(
    source: Source,
    private readonly receiver: CompletionReceiver<Transcript>,
  ) {
    super(source)
  }

  protected accepted(headers: Headers): void {
    const type = mediaType(headers)
    if (type === '' || isJson(type)) this.body = new BodyText(MAX_ANSWER_BYTES, declaredLength(headers))
    else this.failBroken('an answer that is no JSON')
  }

  protected piece(chunk: Uint8Array): void {
    if (this.body?.push(chunk) === false) this.failBroken('an answer over 64 MiB')
  }

  protected complete(): void {
    const body = objectOf(parsed(this.body?.text() ?? ''))
    if (body?.error) {
      this.fail(errorWithin(body.error, this.source, this.status))
      return
    }
    const transcript = body === null ? null : transcriptOf(body)
    if (transcript === null) {
      this.fail(brokenAnswer('a body without a text', this.source, this.status))
      return
    }
    this.finish()
    this.receiver.ended(transcript)
  }

  protected tell(failure: ProviderFailure): void {
    this.receiver.failed(failure)
  }
}
