/** A call that does not stream, and a body that did not although it was asked to. */
import type { BodyText } from '../../../upstream/body-text.js'
import type { Completion } from '../../formats/canonical.js'
import { objectOf, parsed } from '../../formats/shape.js'
import { Exchange, isJson, mediaType } from '../http/exchange.js'
import { answerText } from '../http/whole-body.js'
import { brokenAnswer, errorWithin, type Headers, type Source } from '../port/failure.js'
import type { CompletionReceiver, ProviderFailure } from '../port/provider.js'
import { completionOf } from './completion.js'

/** The completion a body holds, or why it holds none. A success with an error in its body is a failure. */
export function readCompletion(
  text: string,
  generationId: string,
  source: Source,
  status: number,
): { readonly completion: Completion } | { readonly failure: ProviderFailure } {
  const body = objectOf(parsed(text))
  if (body === null) return { failure: brokenAnswer('a body that is no JSON object', source, status) }
  if (body.error) return { failure: errorWithin(body.error, source, status) }
  const completion = completionOf(body, generationId)
  return completion === null
    ? { failure: brokenAnswer('a body without choices', source, status) }
    : { completion }
}

export class WholeAnswer extends Exchange {
  private body: BodyText | null = null

  constructor(
    source: Source,
    private readonly generationId: string,
    private readonly receiver: CompletionReceiver,
  ) {
    super(source)
  }

  /** A call that does not stream has nothing to pause. */
  override pause(): void {}
  override resume(): void {}

  protected accepted(headers: Headers): void {
    const type = mediaType(headers)
    if (type === '' || isJson(type)) this.body = answerText(headers)
    else this.failBroken('an answer that is no JSON')
  }

  protected piece(chunk: Uint8Array): void {
    if (this.body?.push(chunk) === false) this.failBroken('an answer over 64 MiB')
  }

  protected complete(): void {
    const read = readCompletion(this.body?.text() ?? '', this.generationId, this.source, this.status)
    if ('failure' in read) {
      this.fail(read.failure)
      return
    }
    this.finish()
    this.receiver.ended(read.completion)
  }

  protected tell(failure: ProviderFailure): void {
    this.receiver.failed(failure)
  }
}
