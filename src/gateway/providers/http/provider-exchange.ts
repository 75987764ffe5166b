/**
 * One call of a provider over HTTP: one upstream call, refusals with their reason, one end. Its answer is a JSON
 * document or a stream of events.
 */
import { BoundedTextBody, contentLengthOf } from '../../../upstream/body-text.js'
import { EventStreamParser } from '../../../upstream/event-stream-parser.js'
import type {
  UpstreamCall,
  UpstreamClient,
  UpstreamFailure,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../../upstream/port.js'
import { asObject, type JsonObject, parseJson } from '../../formats/json-values.js'
import {
  errorInAnswer,
  type FailureSource,
  malformedAnswer,
  type ResponseHeaders,
  refusedCall,
  transportFailure,
} from '../port/failure.js'
import type {
  CallHandle,
  CompletionReceiver,
  ConnectionWaits,
  ProviderFailure,
  StreamReceiver,
} from '../port/provider.js'

/** As much of a refusal's body as is read. */
const MAX_ERROR_BYTES = 64 * 1024
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024

/** Is the receiver of its upstream call and the handle of its caller: one object per call. */
export abstract class ProviderExchange implements UpstreamReceiver, CallHandle {
  protected status = 0
  /** Nothing is told any more. */
  protected over = false
  readonly #source: FailureSource
  #upstream: UpstreamCall | null = null
  #refused: BoundedTextBody | null = null
  #headers: ResponseHeaders = {}

  constructor(source: FailureSource) {
    this.#source = source
  }

  /** The head of a success has come. */
  protected abstract onSuccessHead(headers: ResponseHeaders): void
  /** A piece of a success; borrowed. */
  protected abstract onSuccessBody(chunk: Uint8Array): void
  /** The body of a success is complete. */
  protected abstract onSuccessEnd(): void
  protected abstract reportFailure(failure: ProviderFailure): void

  begin(upstream: UpstreamClient, request: UpstreamRequest): this {
    this.#upstream = upstream.call(request, this)
    return this
  }

  waits(): ConnectionWaits | null {
    return this.#upstream?.waits() ?? null
  }

  pause(): void {
    this.#upstream?.pause()
  }

  resume(): void {
    this.#upstream?.resume()
  }

  cancel(): void {
    if (this.over) return
    this.over = true
    this.#upstream?.cancel()
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.status = status
    if (status < 300) {
      if (isUncompressed(headers)) this.onSuccessHead(headers)
      else this.failMalformed('an answer in a content coding that was not asked for')
      return
    }
    this.#headers = headers
    this.#refused = new BoundedTextBody(MAX_ERROR_BYTES, contentLengthOf(headers))
  }

  onData(chunk: Uint8Array): void {
    if (this.#refused === null) this.onSuccessBody(chunk)
    else if (!this.#refused.push(chunk)) this.#refuse(this.#refused)
  }

  onEnd(): void {
    if (this.#refused !== null) this.#refuse(this.#refused)
    else if (!this.over) this.onSuccessEnd()
  }

  /** A refusal whose body does not come stays the refusal that its head was. */
  onFailure(failure: UpstreamFailure): void {
    if (this.#refused === null) this.fail(transportFailure(failure, this.#source, this.status))
    else this.#refuse(this.#refused)
  }

  #refuse(body: BoundedTextBody): void {
    this.fail(refusedCall(this.status, this.#headers, body.text(), this.#source, Date.now()))
  }

  /** The answer is none that can be read; `detail` says why, in words for the log. */
  protected failMalformed(detail: string): void {
    this.fail(malformedAnswer(detail, this.#source, this.status))
  }

  /** The provider has put an error into an answer that began as a success. */
  protected failWithError(error: unknown): void {
    this.fail(errorInAnswer(error, this.#source, this.status))
  }

  /** Once; the upstream call is ended, and later bytes of the provider are dropped. */
  protected fail(failure: ProviderFailure): void {
    if (this.over) return
    this.over = true
    this.#upstream?.cancel()
    this.reportFailure(failure)
  }

  /** The answer is whole; later bytes are dropped, and the connection may serve again. */
  protected finish(): void {
    this.over = true
    this.#upstream?.release()
  }

  /** The answer in a whole body; null when it holds none, and then the call has failed. */
  protected readDocument<A>(text: string, format: DocumentFormat<A>, generationId: string): A | null {
    const body = asObject(parseJson(text))
    if (body === null) this.failMalformed('a body that is no JSON object')
    else if (body.error) this.failWithError(body.error)
    else {
      const answer = format.parse(body, generationId)
      if (answer === null) this.failMalformed(format.missing)
      return answer
    }
    return null
  }
}

// ── Documents ───────────────────────────────────────────────────────────────

/** How the JSON object of a whole answer is read. */
export interface DocumentFormat<A> {
  /** Null when the body holds no answer. */
  parse(body: JsonObject, generationId: string): A | null
  /** What such a body is, in words for the log. */
  readonly missing: string
}

/** A call whose answer is one JSON document. */
export class DocumentExchange<A> extends ProviderExchange {
  readonly #format: DocumentFormat<A>
  readonly #generationId: string
  readonly #receiver: CompletionReceiver<A>
  #body: BoundedTextBody | null = null

  constructor(
    source: FailureSource,
    format: DocumentFormat<A>,
    generationId: string,
    receiver: CompletionReceiver<A>,
  ) {
    super(source)
    this.#format = format
    this.#generationId = generationId
    this.#receiver = receiver
  }

  /** A call that does not stream has nothing to pause. */
  override pause(): void {}
  override resume(): void {}

  protected onSuccessHead(headers: ResponseHeaders): void {
    const type = mediaTypeOf(headers)
    if (type === '' || isJsonType(type)) this.#body = documentText(headers)
    else this.failMalformed('an answer that is no JSON')
  }

  protected onSuccessBody(chunk: Uint8Array): void {
    if (this.#body?.push(chunk) === false) this.failMalformed('an answer over 64 MiB')
  }

  protected onSuccessEnd(): void {
    const answer = this.readDocument(this.#body?.text() ?? '', this.#format, this.#generationId)
    if (answer === null) return
    this.finish()
    this.#receiver.onEnd(answer)
  }

  protected reportFailure(failure: ProviderFailure): void {
    this.#receiver.onFailure(failure)
  }
}

// ── Streams ─────────────────────────────────────────────────────────────────

/** How the events of a streamed answer are read. */
export interface StreamFormat<E, A> {
  createReader(generationId: string, emit: (event: E) => void): StreamReader<E>
  /** Whether the data of an event is the terminator of the answer. */
  isTerminator(data: string): boolean
  /** A server may answer with a document although it was asked for a stream. */
  readonly document: DocumentFormat<A>
  eventsOf(answer: A): readonly E[]
}

/** Reads one streamed answer and emits what its events say. */
export interface StreamReader<E> {
  /** Takes the data of one event and its name. `end` for the terminator; what is wrong with it; null otherwise. */
  read(data: string, name: string): StreamDefect | 'end' | null
  /** After the terminator: emits what is left. What is missing for a whole answer, in words for the log, or null. */
  close(): string | null
  /** The figures that came before a failure: the provider may well bill them. */
  usageBeforeFailure(): E | null
}

/** An event that is none of the format, in words for the log, or an error of the provider's. */
export type StreamDefect = { readonly malformed: string } | { readonly error: unknown }

/** A call whose answer is a stream of events: it is complete only with its terminator. */
export class StreamExchange<E, A> extends ProviderExchange {
  readonly #format: StreamFormat<E, A>
  readonly #generationId: string
  readonly #receiver: StreamReceiver<E>
  /** The body that went to the provider, for a caller that asked to see it (contract/gateway 4.5). */
  readonly #echo: unknown
  readonly #events: EventStreamParser
  readonly #reader: StreamReader<E>
  #document: BoundedTextBody | null = null
  #mustFlush = false

  constructor(
    source: FailureSource,
    format: StreamFormat<E, A>,
    generationId: string,
    receiver: StreamReceiver<E>,
    echo: unknown,
  ) {
    super(source)
    this.#format = format
    this.#generationId = generationId
    this.#receiver = receiver
    this.#echo = echo
    this.#events = new EventStreamParser((data, name) => this.#read(data, name))
    this.#reader = format.createReader(generationId, (event) => this.#emit(event))
  }

  override cancel(): void {
    this.#events.stop()
    super.cancel()
  }

  protected onSuccessHead(headers: ResponseHeaders): void {
    const type = mediaTypeOf(headers)
    if (isJsonType(type)) this.#document = documentText(headers)
    else if (type !== 'text/event-stream') this.failMalformed('an answer that is neither a stream nor JSON')
    if (this.#echo !== undefined && !this.over) this.#receiver.onRequestSent?.(this.#echo)
  }

  protected onSuccessBody(chunk: Uint8Array): void {
    if (this.#document !== null) {
      if (!this.#document.push(chunk)) this.failMalformed('an answer over 64 MiB')
      return
    }
    if (!this.#events.push(chunk)) this.failMalformed('an event over 16 MiB')
    else if (this.#mustFlush && !this.over) this.#receiver.onFlush()
    this.#mustFlush = false
  }

  #emit(event: E): void {
    if (this.over) return
    this.#mustFlush = true
    this.#receiver.onEvent(event)
  }

  #read(data: string, name: string): void {
    if (this.over || data === '') return
    const result = this.#reader.read(data, name)
    if (result === null) return
    if (result === 'end') this.#close()
    else if ('malformed' in result) this.failMalformed(result.malformed)
    else this.failWithError(result.error)
  }

  #close(): void {
    this.#events.stop()
    const missing = this.#reader.close()
    if (missing === null) this.#end()
    else this.failMalformed(missing)
  }

  protected onSuccessEnd(): void {
    if (this.#document !== null) this.#readDocument(this.#document.text())
    else if (this.#format.isTerminator(this.#events.unfinished())) this.#close()
    else this.failMalformed('a stream without its terminator')
  }

  #readDocument(text: string): void {
    const answer = this.readDocument(text, this.#format.document, this.#generationId)
    if (answer === null) return
    for (const event of this.#format.eventsOf(answer)) this.#emit(event)
    this.#end()
  }

  /** The receiver may have cancelled while it took the last events. */
  #end(): void {
    if (this.over) return
    this.finish()
    this.#receiver.onEnd()
  }

  protected reportFailure(failure: ProviderFailure): void {
    this.#events.stop()
    const usage = this.#reader.usageBeforeFailure()
    if (usage !== null) this.#receiver.onEvent(usage)
    this.#receiver.onFailure(failure)
  }
}

// ── Headers ─────────────────────────────────────────────────────────────────

function documentText(headers: ResponseHeaders): BoundedTextBody {
  return new BoundedTextBody(MAX_DOCUMENT_BYTES, contentLengthOf(headers))
}

function isUncompressed(headers: ResponseHeaders): boolean {
  const coding = headers['content-encoding']
  return coding === undefined || coding === '' || coding === 'identity'
}

/** Media type without parameters, lower case; `''` when there is none. */
export function mediaTypeOf(headers: ResponseHeaders): string {
  const header = headers['content-type']
  const text = (Array.isArray(header) ? header[0] : header) ?? ''
  return text.split(';', 1)[0]!.trim().toLowerCase()
}

export function isJsonType(type: string): boolean {
  return type === 'application/json' || (type.startsWith('application/') && type.endsWith('+json'))
}
