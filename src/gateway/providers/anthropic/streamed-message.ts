/** A call that streams: events in, events out, and an end only with `message_stop`. */
import type { BoundedTextBody } from '../../../upstream/body-text.js'
import { EventStreamParser } from '../../../upstream/event-stream-parser.js'
import { asObject, parseJson } from '../../formats/json-values.js'
import type { MessagesEvent } from '../../formats/messages.js'
import { isJsonType, mediaTypeOf, ProviderExchange } from '../http/provider-exchange.js'
import { answerText } from '../http/whole-body.js'
import { errorInAnswer, type FailureSource, type ResponseHeaders } from '../port/failure.js'
import type { ProviderFailure, StreamReceiver } from '../port/provider.js'
import { answerEvents } from './answer.js'
import { MessageEventReader } from './message-reader.js'
import { readAnswer } from './whole-message.js'

export class StreamedMessage extends ProviderExchange {
  private readonly events: EventStreamParser
  private readonly reader: MessageEventReader
  /** The body of a server that answers with a document although it was asked for a stream. */
  private whole: BoundedTextBody | null = null
  private told = false

  constructor(
    source: FailureSource,
    private readonly receiver: StreamReceiver<MessagesEvent>,
    /** The body that went to the provider, for a caller that asked to see it (contract/gateway 4.5). */
    private readonly echo: unknown,
  ) {
    super(source)
    this.events = new EventStreamParser((data) => this.read(data))
    this.reader = new MessageEventReader((event) => this.pass(event))
  }

  override cancel(): void {
    this.events.stop()
    super.cancel()
  }

  private pass(event: MessagesEvent): void {
    if (this.over) return
    this.told = true
    this.receiver.onEvent(event)
  }

  protected onSuccessHead(headers: ResponseHeaders): void {
    const type = mediaTypeOf(headers)
    if (isJsonType(type)) this.whole = answerText(headers)
    else if (type !== 'text/event-stream') this.failMalformed('an answer that is neither a stream nor JSON')
    if (this.echo !== undefined && !this.over) this.receiver.onRequestSent?.(this.echo)
  }

  protected onSuccessBody(chunk: Uint8Array): void {
    if (this.whole === null) this.pieceOfStream(chunk)
    else if (!this.whole.push(chunk)) this.failMalformed('an answer over 64 MiB')
  }

  private pieceOfStream(chunk: Uint8Array): void {
    if (!this.events.push(chunk)) this.failMalformed('an event over 16 MiB')
    else if (this.told && !this.over) this.receiver.onFlush()
    this.told = false
  }

  private read(data: string): void {
    // Some servers end with a word of another format; `message_stop` is what counts.
    if (this.over || data === '' || data === '[DONE]') return
    const members = asObject(parseJson(data))
    if (members === null) this.failMalformed('an event that is no JSON object')
    else if (members.type === 'message_stop') this.terminated()
    else if (members.type === 'error' || (members.type === undefined && members.error)) {
      this.fail(errorInAnswer(members.error ?? members, this.source, this.status))
    } else {
      const wrong = this.reader.read(members, data)
      if (wrong !== null) this.failMalformed(wrong)
    }
  }

  private terminated(): void {
    this.events.stop()
    const missing = this.reader.close()
    if (missing === null) this.end()
    else this.failMalformed(missing)
  }

  protected onSuccessEnd(): void {
    if (this.over) return
    if (this.whole !== null) this.document(this.whole.text())
    else if (asObject(parseJson(this.events.unfinished()))?.type === 'message_stop') this.terminated()
    else this.failMalformed('a stream without its terminator')
  }

  private document(text: string): void {
    const read = readAnswer(text, this.source, this.status)
    if ('failure' in read) {
      this.fail(read.failure)
      return
    }
    for (const event of answerEvents(read.answer)) this.pass(event)
    this.end()
  }

  /** The receiver may have cancelled while it took the last events. */
  private end(): void {
    if (this.over) return
    this.finish()
    this.receiver.onEnd()
  }

  /** What the provider has counted is told first: it may well bill it. */
  protected reportFailure(failure: ProviderFailure): void {
    this.events.stop()
    const counted = this.reader.usageBeforeFailure()
    if (counted !== null) this.receiver.onEvent(counted)
    this.receiver.onFailure(failure)
  }
}
