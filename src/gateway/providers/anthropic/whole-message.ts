/** A call that does not stream, and whatever else answers with one small document. */
import type { BoundedTextBody } from '../../../upstream/body-text.js'
import { asObject, type Members, parseJson } from '../../formats/json-values.js'
import type { MessagesAnswer } from '../../formats/messages.js'
import { isJsonType, mediaTypeOf, ProviderExchange } from '../http/provider-exchange.js'
import { UsageReader } from '../http/usage-reader.js'
import { answerText } from '../http/whole-body.js'
import { errorInAnswer, type FailureSource, malformedAnswer, type ResponseHeaders } from '../port/failure.js'
import type { CompletionReceiver, ProviderFailure } from '../port/provider.js'
import { parseMessage } from './answer.js'

/** The answer a body holds, or why it holds none. A success with an error in its body is a failure. */
export function readAnswer(
  text: string,
  source: FailureSource,
  status: number,
): { readonly answer: MessagesAnswer } | { readonly failure: ProviderFailure } {
  const body = bodyIn(text, source, status)
  if ('failure' in body) return body
  const answer = parseMessage(body.members)
  return answer === null
    ? { failure: malformedAnswer('a body that is no message', source, status) }
    : { answer }
}

/** The count in a body, or why there is none (contract/gateway 5.9). */
export function readCount(
  text: string,
  source: FailureSource,
  status: number,
): { readonly answer: number } | { readonly failure: ProviderFailure } {
  const body = bodyIn(text, source, status)
  if ('failure' in body) return body
  const count = new UsageReader().tokens(body.members.input_tokens)
  return count === undefined
    ? { failure: malformedAnswer('a body without input_tokens', source, status) }
    : { answer: count }
}

function bodyIn(
  text: string,
  source: FailureSource,
  status: number,
): { readonly members: Members } | { readonly failure: ProviderFailure } {
  const members = asObject(parseJson(text))
  if (members === null) return { failure: malformedAnswer('a body that is no JSON object', source, status) }
  if (members.error) return { failure: errorInAnswer(members.error, source, status) }
  return { members }
}

type Reading<A> = (
  text: string,
  source: FailureSource,
  status: number,
) => { readonly answer: A } | { readonly failure: ProviderFailure }

/** One document, read by `reading` when it is complete. */
export class WholeDocument<A> extends ProviderExchange {
  private body: BoundedTextBody | null = null

  constructor(
    source: FailureSource,
    private readonly reading: Reading<A>,
    private readonly receiver: CompletionReceiver<A>,
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
    if (this.over) return
    const read = this.reading(this.body?.text() ?? '', this.source, this.status)
    if ('failure' in read) {
      this.fail(read.failure)
      return
    }
    this.finish()
    this.receiver.onEnd(read.answer)
  }

  protected reportFailure(failure: ProviderFailure): void {
    this.receiver.onFailure(failure)
  }
}
