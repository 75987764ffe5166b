/** A call that does not stream, and a body that did not although it was asked to. */
import type { BoundedTextBody } from '../../../upstream/body-text.js'
import type { Completion } from '../../formats/canonical.js'
import { asObject, parseJson } from '../../formats/json-values.js'
import { isJsonType, mediaTypeOf, ProviderExchange } from '../http/provider-exchange.js'
import { answerText } from '../http/whole-body.js'
import { errorInAnswer, type FailureSource, malformedAnswer, type ResponseHeaders } from '../port/failure.js'
import type { CompletionReceiver, ProviderFailure } from '../port/provider.js'
import { parseCompletion } from './completion.js'

/** The completion a body holds, or why it holds none. A success with an error in its body is a failure. */
export function readCompletion(
  text: string,
  generationId: string,
  source: FailureSource,
  status: number,
): { readonly completion: Completion } | { readonly failure: ProviderFailure } {
  const body = asObject(parseJson(text))
  if (body === null) return { failure: malformedAnswer('a body that is no JSON object', source, status) }
  if (body.error) return { failure: errorInAnswer(body.error, source, status) }
  const completion = parseCompletion(body, generationId)
  return completion === null
    ? { failure: malformedAnswer('a body without choices', source, status) }
    : { completion }
}

export class WholeAnswer extends ProviderExchange {
  private body: BoundedTextBody | null = null

  constructor(
    source: FailureSource,
    private readonly generationId: string,
    private readonly receiver: CompletionReceiver,
  ) {
    super(source)
  }

  /** A call that does not stream has nothing to pause. */
  override pause(): void {}
  override resume(): void {}

  protected onSuccessHead(headers: ResponseHeaders): void {
    const type = mediaTypeOf(headers)
    if (type === '' || isJsonType(type)) this.body = answerText(headers)
    else this.failMalformed('an answer that is no JSON')
  }

  protected onSuccessBody(chunk: Uint8Array): void {
    if (this.body?.push(chunk) === false) this.failMalformed('an answer over 64 MiB')
  }

  protected onSuccessEnd(): void {
    const read = readCompletion(this.body?.text() ?? '', this.generationId, this.source, this.status)
    if ('failure' in read) {
      this.fail(read.failure)
      return
    }
    this.finish()
    this.receiver.onEnd(read.completion)
  }

  protected reportFailure(failure: ProviderFailure): void {
    this.receiver.onFailure(failure)
  }
}
