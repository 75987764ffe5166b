/** A call that streams: events in, events out, and an end only with its terminator. */
import type { BoundedTextBody } from '../../../upstream/body-text.js'
import { EventStreamParser } from '../../../upstream/event-stream-parser.js'
import type { Usage } from '../../formats/canonical.js'
import { asObject, type Members, parseJson } from '../../formats/json-values.js'
import { isJsonType, mediaTypeOf, ProviderExchange } from '../http/provider-exchange.js'
import { answerText } from '../http/whole-body.js'
import { errorInAnswer, type FailureSource, type ResponseHeaders } from '../port/failure.js'
import type { ProviderFailure, StreamReceiver } from '../port/provider.js'
import { ChunkReader } from './chunk-reader.js'
import { completionEvents } from './completion.js'
import { readCompletion } from './whole-answer.js'

const TERMINATOR = '[DONE]'

export class StreamedAnswer extends ProviderExchange {
  private readonly events: EventStreamParser
  private readonly reader: ChunkReader
  /** The body of a server that answers with a document although it was asked for a stream. */
  private whole: BoundedTextBody | null = null
  private told = false

  constructor(
    source: FailureSource,
    private readonly generationId: string,
    private readonly receiver: StreamReceiver,
    /** The body that went to the provider, for a caller that asked to see it (contract/gateway 4.5). */
    private readonly echo: unknown,
  ) {
    super(source)
    this.events = new EventStreamParser((data, event) => this.read(data, event))
    this.reader = new ChunkReader(generationId, (event) => {
      if (this.over) return
      this.told = true
      this.receiver.onEvent(event)
    })
  }

  override cancel(): void {
    this.events.stop()
    super.cancel()
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

  private read(data: string, event: string): void {
    if (data.charCodeAt(0) === TERMINATOR.charCodeAt(0) && data.trim() === TERMINATOR) this.terminated()
    else if (data !== '') this.readChunk(asObject(parseJson(data)), event)
  }

  private readChunk(chunk: Members | null, event: string): void {
    if (chunk === null) this.failMalformed('an event that is no JSON object')
    else if (chunk.error || event === 'error') {
      this.fail(errorInAnswer(chunk.error ?? chunk, this.source, this.status))
    } else this.reader.read(chunk)
  }

  private terminated(): void {
    this.events.stop()
    const missing = this.reader.close()
    if (missing === null) this.end(this.reader.usage)
    else this.failMalformed(missing)
  }

  protected onSuccessEnd(): void {
    if (this.over) return
    if (this.whole !== null) this.document(this.whole.text())
    else if (this.events.unfinished().trim() === TERMINATOR) this.terminated()
    else this.failMalformed('a stream without its terminator')
  }

  private document(text: string): void {
    const read = readCompletion(text, this.generationId, this.source, this.status)
    if ('failure' in read) {
      this.fail(read.failure)
      return
    }
    for (const event of completionEvents(read.completion)) if (!this.over) this.receiver.onEvent(event)
    this.end(null)
  }

  /** The receiver may have cancelled while it took the last events. */
  private end(usage: Usage | null): void {
    if (this.over) return
    if (usage !== null) this.receiver.onEvent({ type: 'usage', usage })
    if (this.over) return
    this.finish()
    this.receiver.onEnd()
  }

  /** What the provider has counted so far is told first: it may well bill it. */
  protected reportFailure(failure: ProviderFailure): void {
    this.events.stop()
    if (this.reader.usage !== null) this.receiver.onEvent({ type: 'usage', usage: this.reader.usage })
    this.receiver.onFailure(failure)
  }
}
