/**
 * One call of a provider over HTTP: one upstream call, refusals with their reason, one end. Its answer is a JSON
 * document or a stream of events.
 */
import { Fault } from '../../../base/fault.js'
import { BoundedTextBody, contentLengthOf } from '../../../upstream/body-text.js'
import { ContentDecoder, canDecode, type DecodedReceiver } from '../../../upstream/content-decoder.js'
import type { UpstreamCall, UpstreamFailure, UpstreamReceiver } from '../../../upstream/port.js'
import { asObject, type JsonObject, parseJsonAnswer } from '../../formats/json-values.js'
import {
  errorInAnswer,
  type FailureSource,
  malformedAnswer,
  type ResponseHeaders,
  refusedCall,
  transportFailure,
} from '../port/failure.js'
import {
  CallAdapter,
  type CompletionReceiver,
  type FailureReceiver,
  type ProviderFailure,
  type StreamReceiver,
} from '../port/provider.js'
import { AnswerEvents } from './answer-events.js'
import type { DocumentFormat, StreamDefect, StreamFormat, StreamReader } from './answer-format.js'
import { contentCodingOf, isJsonType, mediaTypeOf } from './content-headers.js'

/** As much of a refusal's body as is read. */
const MAX_ERROR_BYTES = 64 * 1024
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024

/** Is the receiver of its upstream call and the handle of its caller: one object per call. */
export abstract class ProviderExchange<T extends FailureReceiver, A>
  extends CallAdapter<UpstreamCall>
  implements UpstreamReceiver, DecodedReceiver
{
  /** Nothing is told any more. */
  protected over = false
  protected readonly receiver: T
  readonly #source: FailureSource
  readonly #document: DocumentFormat<A> | null
  readonly #generationId: string
  #status = 0
  #headers: ResponseHeaders = {}
  /** A body that is read as a whole: that of a refusal, or a document. */
  #whole: BoundedTextBody | null = null
  /** Of a body in a content coding, which comes although none was asked for (contract/decisions 43). */
  #decoder: ContentDecoder | null = null

  /** `document`: how an answer in a document is read; null where none may come. */
  constructor(source: FailureSource, receiver: T, document: DocumentFormat<A> | null, generationId: string) {
    super()
    this.#source = source
    this.receiver = receiver
    this.#document = document
    this.#generationId = generationId
  }

  /** The head of a success has come. `type` is that of its body: a media type without parameters, or `''`. */
  protected abstract onSuccessHead(type: string): void
  /** A document is complete, and this is what it says. */
  protected onAnswer(_answer: A): void {}
  /** A piece of a success that is no document; borrowed. */
  protected onPiece(_chunk: Uint8Array): void {}
  /** As of an `UpstreamReceiver`, of the decoded pieces. */
  onReadEnd?(): void
  /** The body of a success that is no document is complete. */
  protected onLastPiece(): void {}

  override cancel(): void {
    if (this.over) return
    this.over = true
    this.#decoder?.stop()
    super.cancel()
  }

  override pause(): void {
    if (this.#decoder === null) super.pause()
    else this.#decoder.pause()
  }

  override resume(): void {
    if (this.#decoder === null) super.resume()
    else this.#decoder.resume()
  }

  get #isRefused(): boolean {
    return this.#status >= 300
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.#status = status
    const coding = contentCodingOf(headers)
    const isDecoded = coding !== '' && canDecode(coding)
    // The length is that of the coded body.
    this.#headers = isDecoded ? { ...headers, 'content-length': undefined } : headers
    if (isDecoded) this.#decoder = new ContentDecoder(coding, this, this.call!)
    if (this.#isRefused) this.#readWhole(MAX_ERROR_BYTES)
    else if (coding === '' || isDecoded) this.onSuccessHead(mediaTypeOf(headers))
    else this.failMalformed('an answer in a content coding that nobody here knows')
  }

  /** The body is a document. */
  protected readDocument(): void {
    this.#readWhole(MAX_DOCUMENT_BYTES)
  }

  #readWhole(limit: number): void {
    this.#whole = new BoundedTextBody(limit, contentLengthOf(this.#headers))
  }

  onData(chunk: Uint8Array): void {
    if (this.#decoder === null) this.onDecoded(chunk)
    else this.#decoder.push(chunk)
  }

  onEnd(): void {
    if (this.#decoder === null) this.onDecodedEnd()
    else this.#decoder.end()
  }

  onUndecodable(detail: string): void {
    if (this.#isRefused) this.#refuse()
    else this.failMalformed(detail)
  }

  onDecoded(chunk: Uint8Array): void {
    if (this.#whole === null) {
      this.onPiece(chunk)
      // What is decoded comes in turns of its own.
      if (this.#decoder !== null) this.onReadEnd?.()
    } else if (this.#whole.push(chunk)) return
    else if (this.#isRefused) this.#refuse()
    else this.failMalformed('an answer over 64 MiB')
  }

  onDecodedEnd(): void {
    if (this.over) return
    if (this.#isRefused) this.#refuse()
    else if (this.#whole === null) this.onLastPiece()
    else this.#parseDocument(this.#whole.text())
  }

  /** A refusal whose body does not come stays the refusal that its head was. */
  onFailure(failure: UpstreamFailure): void {
    if (this.#isRefused) this.#refuse()
    else this.#fail(transportFailure(failure, this.#source, this.#status))
  }

  #refuse(): void {
    const body = this.#whole?.text() ?? ''
    this.#fail(refusedCall(this.#status, this.#headers, body, this.#source, Date.now()))
  }

  /** The answer is none that can be read; `detail` says why, in words for the log. */
  protected failMalformed(detail: string): void {
    this.#fail(malformedAnswer(detail, this.#source, this.#status))
  }

  /** The provider has put an error into an answer that began as a success. */
  protected failWithError(error: unknown): void {
    this.#fail(errorInAnswer(error, this.#source, this.#status))
  }

  /** The provider has put this fault, which has been read already, into an answer that began as a success. */
  protected failWith(fault: Fault): void {
    this.#fail({ fault, class: 'maybe-processed', status: this.#status })
  }

  /** Once; the upstream call is ended, and later bytes of the provider are dropped. */
  #fail(failure: ProviderFailure): void {
    if (this.over) return
    this.over = true
    this.#decoder?.stop()
    this.call?.cancel()
    this.beforeFailure()
    this.receiver.onFailure(failure)
  }

  /** The receiver, which must not, has thrown at the end: who waits is told of it, and the log as well. */
  protected failDefective(cause: unknown): never {
    const fault = new Fault('internal', { cause })
    this.receiver.onFailure({ fault, class: 'maybe-processed', status: this.#status })
    throw cause
  }

  /** What is left to do or to tell before the receiver hears of a failure. */
  protected beforeFailure(): void {}

  /** The answer is whole; later bytes are dropped, and the connection may serve again. */
  protected finish(): void {
    this.over = true
    this.#decoder?.stop()
    this.call?.release()
  }

  #parseDocument(text: string): void {
    const body = asObject(parseJsonAnswer(text))
    const error = body !== null && (this.#document!.errorIn ?? errorMember)(body)
    if (body === null) this.failMalformed('a body that is no JSON object, or holds too much')
    else if (error) this.failWithError(error)
    else {
      const faultOf = (error: unknown): Fault => errorInAnswer(error, this.#source, this.#status).fault
      const answer = this.#document!.parse(body, this.#generationId, faultOf)
      if (answer === null) this.failMalformed(this.#document!.missing)
      else if (answer instanceof Fault) this.failWith(answer)
      else this.onAnswer(answer)
    }
  }
}

const errorMember = ({ error }: JsonObject): unknown => error

// ── Documents ───────────────────────────────────────────────────────────────

/** A call whose answer is one JSON document. */
export class DocumentExchange<A> extends ProviderExchange<CompletionReceiver<A>, A> {
  /** A call that does not stream has nothing to pause. */
  override pause(): void {}
  override resume(): void {}

  protected onSuccessHead(type: string): void {
    if (type === '' || isJsonType(type)) this.readDocument()
    else this.failMalformed('an answer that is no JSON')
  }

  protected override onAnswer(answer: A): void {
    this.finish()
    try {
      this.receiver.onEnd(answer)
    } catch (error) {
      this.failDefective(error)
    }
  }
}

// ── Streams ─────────────────────────────────────────────────────────────────

/** A call whose answer is a stream of events: it is complete only with its terminator. */
export class StreamExchange<E, A> extends ProviderExchange<StreamReceiver<E>, A> {
  readonly #format: StreamFormat<E, A>
  /** The body that went to the provider, for a caller that asked to see it (contract/gateway 4.5). */
  readonly #echo: unknown
  readonly #events: AnswerEvents<E>
  readonly #reader: StreamReader<E>
  #mustFlush = false

  constructor(
    source: FailureSource,
    receiver: StreamReceiver<E>,
    format: StreamFormat<E, A>,
    generationId: string,
    echo: unknown,
  ) {
    super(source, receiver, format.document, generationId)
    this.#format = format
    this.#echo = echo
    this.#reader = format.createReader(generationId, (event) => this.#emit(event))
    this.#events = new AnswerEvents(this.#reader, (result) => this.#onResult(result))
  }

  override cancel(): void {
    this.#events.stop()
    super.cancel()
  }

  protected onSuccessHead(type: string): void {
    if (isJsonType(type)) this.readDocument()
    else if (type !== 'text/event-stream') this.failMalformed('an answer that is neither a stream nor JSON')
    if (this.#echo !== undefined && !this.over) this.receiver.onRequestSent?.(this.#echo)
  }

  protected override onPiece(chunk: Uint8Array): void {
    if (!this.#events.push(chunk)) this.failMalformed('an event over 16 MiB')
  }

  override onReadEnd(): void {
    if (this.#mustFlush && !this.over) this.receiver.onFlush()
    this.#mustFlush = false
  }

  #emit(event: E): void {
    if (this.over) return
    this.#mustFlush = true
    this.receiver.onEvent(event)
  }

  #onResult(result: StreamDefect | 'end'): void {
    if (this.over) return
    if (result === 'end') this.#close()
    else if ('malformed' in result) this.failMalformed(result.malformed)
    else this.failWithError(result.error)
  }

  protected override onLastPiece(): void {
    if (this.#format.isTerminator(this.#events.unfinished())) this.#close()
    else this.failMalformed('a stream without its terminator')
  }

  #close(): void {
    this.#events.stop()
    const missing = this.#reader.close()
    if (missing === null) this.#end()
    else this.failMalformed(missing)
  }

  protected override onAnswer(answer: A): void {
    for (const event of this.#format.eventsOf(answer)) this.#emit(event)
    const fault = this.#format.brokenBy?.(answer) ?? null
    if (fault === null) this.#end()
    else this.failWith(fault)
  }

  /** The receiver may have cancelled while it took the last events. */
  #end(): void {
    if (this.over) return
    this.finish()
    try {
      this.receiver.onEnd()
    } catch (error) {
      this.failDefective(error)
    }
  }

  protected override beforeFailure(): void {
    this.#events.stop()
    const usage = this.#reader.usageBeforeFailure()
    if (usage !== null) this.receiver.onEvent(usage)
  }
}
