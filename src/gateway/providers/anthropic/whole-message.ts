/** A call that does not stream, and whatever else answers with one small document. */
import type { BodyText } from '../../../upstream/body-text.js'
import type { MessagesAnswer } from '../../formats/messages.js'
import { type Members, objectOf, parsed } from '../../formats/shape.js'
import { Exchange, isJson, mediaType } from '../http/exchange.js'
import { FigureReader } from '../http/figures.js'
import { answerText } from '../http/whole-body.js'
import { brokenAnswer, errorWithin, type Headers, type Source } from '../port/failure.js'
import type { CompletionReceiver, ProviderFailure } from '../port/provider.js'
import { answerOf } from './answer.js'

/** The answer a body holds, or why it holds none. A success with an error in its body is a failure. */
export function readAnswer(
  text: string,
  source: Source,
  status: number,
): { readonly answer: MessagesAnswer } | { readonly failure: ProviderFailure } {
  const body = bodyIn(text, source, status)
  if ('failure' in body) return body
  const answer = answerOf(body.members)
  return answer === null ? { failure: brokenAnswer('a body that is no message', source, status) } : { answer }
}

/** The count in a body, or why there is none (contract/gateway 5.9). */
export function readCount(
  text: string,
  source: Source,
  status: number,
): { readonly answer: number } | { readonly failure: ProviderFailure } {
  const body = bodyIn(text, source, status)
  if ('failure' in body) return body
  const count = new FigureReader().tokens(body.members.input_tokens)
  return count === undefined
    ? { failure: brokenAnswer('a body without input_tokens', source, status) }
    : { answer: count }
}

function bodyIn(
  text: string,
  source: Source,
  status: number,
): { readonly members: Members } | { readonly failure: ProviderFailure } {
  const members = objectOf(parsed(text))
  if (members === null) return { failure: brokenAnswer('a body that is no JSON object', source, status) }
  if (members.error) return { failure: errorWithin(members.error, source, status) }
  return { members }
}

type Reading<A> = (
  text: string,
  source: Source,
  status: number,
) => { readonly answer: A } | { readonly failure: ProviderFailure }

/** One document, read by `reading` when it is complete. */
export class WholeDocument<A> extends Exchange {
  private body: BodyText | null = null

  constructor(
    source: Source,
    private readonly reading: Reading<A>,
    private readonly receiver: CompletionReceiver<A>,
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
    if (this.over) return
    const read = this.reading(this.body?.text() ?? '', this.source, this.status)
    if ('failure' in read) {
      this.fail(read.failure)
      return
    }
    this.finish()
    this.receiver.ended(read.answer)
  }

  protected tell(failure: ProviderFailure): void {
    this.receiver.failed(failure)
  }
}
