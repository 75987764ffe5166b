/** A call that streams: events in, events out, and an end only with its terminator. */
import type { BodyText } from '../../../upstream/body-text.js'
import { EventStream } from '../../../upstream/event-stream.js'
import type { Usage } from '../../formats/canonical.js'
import { type Members, objectOf, parsed } from '../../formats/shape.js'
import { Exchange, isJson, mediaType } from '../http/exchange.js'
import { answerText } from '../http/whole-body.js'
import { errorWithin, type Headers, type Source } from '../port/failure.js'
import type { ProviderFailure, StreamReceiver } from '../port/provider.js'
import { eventsOf } from './completion.js'
import { ChunkReader } from './delta.js'
import { readCompletion } from './whole-answer.js'

const TERMINATOR = '[DONE]'

export class StreamedAnswer extends Exchange {
  private readonly events: EventStream
  private readonly reader: ChunkReader
  /** The body of a server that answers with a document although it was asked for a stream. */
  private whole: BodyText | null = null
  private told = false

  constructor(
    source: Source,
    private readonly generationId: string,
    private readonly receiver: StreamReceiver,
    /** The body that went to the provider, for a caller that asked to see it (contract/gateway 4.5). */
    private readonly echo: unknown,
  ) {
    super(source)
    this.events = new EventStream((data, event) => this.read(data, event))
    this.reader = new ChunkReader(generationId, (event) => {
      if (this.over) return
      this.told = true
      this.receiver.event(event)
    })
  }

  override cancel(): void {
    this.events.stop()
    super.cancel()
  }

  protected accepted(headers: Headers): void {
    const type = mediaType(headers)
    if (isJson(type)) this.whole = answerText(headers)
    else if (type !== 'text/event-stream') this.failBroken('an answer that is neither a stream nor JSON')
    if (this.echo !== undefined && !this.over) this.receiver.sent?.(this.echo)
  }

  protected piece(chunk: Uint8Array): void {
    if (this.whole === null) this.pieceOfStream(chunk)
    else if (!this.whole.push(chunk)) this.failBroken('an answer over 64 MiB')
  }

  private pieceOfStream(chunk: Uint8Array): void {
    if (!this.events.push(chunk)) this.failBroken('an event over 16 MiB')
    else if (this.told && !this.over) this.receiver.flush()
    this.told = false
  }

  private read(data: string, event: string): void {
    if (data.charCodeAt(0) === TERMINATOR.charCodeAt(0) && data.trim() === TERMINATOR) this.terminated()
    else if (data !== '') this.readChunk(objectOf(parsed(data)), event)
  }

  private readChunk(chunk: Members | null, event: string): void {
    if (chunk === null) this.failBroken('an event that is no JSON object')
    else if (chunk.error || event === 'error') {
      this.fail(errorWithin(chunk.error ?? chunk, this.source, this.status))
    } else this.reader.read(chunk)
  }

  private terminated(): void {
    this.events.stop()
    const missing = this.reader.close()
    if (missing === null) this.end(this.reader.usage)
    else this.failBroken(missing)
  }

  protected complete(): void {
    if (this.over) return
    if (this.whole !== null) this.document(this.whole.text())
    else if (this.events.unfinished().trim() === TERMINATOR) this.terminated()
    else this.failBroken('a stream without its terminator')
  }

  private document(text: string): void {
    const read = readCompletion(text, this.generationId, this.source, this.status)
    if ('failure' in read) {
      this.fail(read.failure)
      return
    }
    for (const event of eventsOf(read.completion)) if (!this.over) this.receiver.event(event)
    this.end(null)
  }

  /** The receiver may have cancelled while it took the last events. */
  private end(usage: Usage | null): void {
    if (this.over) return
    if (usage !== null) this.receiver.event({ type: 'usage', usage })
    if (this.over) return
    this.finish()
    this.receiver.ended()
  }

  /** What the provider has counted so far is told first: it may well bill it. */
  protected tell(failure: ProviderFailure): void {
    this.events.stop()
    if (this.reader.usage !== null) this.receiver.event({ type: 'usage', usage: this.reader.usage })
    this.receiver.failed(failure)
  }
}
