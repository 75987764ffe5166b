/** One streamed chat answer: holds the reply until it is known what it begins with, then feeds the event stream. */
import { Fault } from '../../base/fault.js'
import type { ChatRequest, InferenceEvent } from '../../gateway/canonical.js'
import { chatFormat } from '../../gateway/chat-format.js'
import type { Gateway, Inference, StreamListener, StreamUnderWay } from '../../gateway/complete.js'
import type { Generation } from '../../gateway/generation.js'
import { serviceMetadata } from '../../gateway/metadata.js'
import type { Call, Reply } from '../../http/endpoint.js'
import { Opening, type Openings } from '../../http/opening.js'
import { EVENT_STREAM_HEADERS, EventStream } from '../../http/sse.js'
import { ChunkEncoder } from './encode-stream.js'
import { withGeneration } from './with-generation.js'

export interface StreamWishes {
  /** Routing metadata on the last chunk, or on the error. */
  readonly metadata: boolean
  /** Comments break a silence. */
  readonly keepAlive: boolean
}

/**
 * Starts the inference. The reply comes with the first event, or when the silence has lasted so long that a proxy
 * might cut it; it rejects when the inference fails before. Throws when the plan is impossible.
 */
export function streamReply(
  gateway: Gateway,
  inference: Inference<ChatRequest>,
  wishes: StreamWishes,
  call: Call,
  openings: Openings,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    new StreamReply(wishes, openings, resolve, reject).begin(gateway, inference, call)
  })
}

class StreamReply implements StreamListener<ChatRequest, InferenceEvent> {
  readonly #wishes: StreamWishes
  readonly #openings: Openings
  readonly #opening = new Opening(() => this.#openSilent())
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (fault: Fault) => void
  #stream!: EventStream
  #encoder!: ChunkEncoder
  #underWay!: StreamUnderWay<ChatRequest>
  /** The head of the answer is decided. */
  #open = false
  #echo: unknown

  constructor(
    wishes: StreamWishes,
    openings: Openings,
    resolve: (reply: Reply) => void,
    reject: (fault: Fault) => void,
  ) {
    this.#wishes = wishes
    this.#openings = openings
    this.#resolve = resolve
    this.#reject = reject
  }

  begin(gateway: Gateway, inference: Inference<ChatRequest>, call: Call): void {
    this.#underWay = gateway.stream(chatFormat, inference, call, this)
    const { flow, generation } = this.#underWay
    this.#encoder = new ChunkEncoder(generation)
    this.#stream = new EventStream(
      {
        pause: () => flow.pause(),
        resume: () => flow.resume(),
        cancel: () => this.#leave(),
        lastWords: () => this.#lastWords(),
      },
      this.#wishes.keepAlive,
    )
    call.whenGone(() => this.#leave())
    if (this.#wishes.keepAlive) this.#openings.wait(this.#opening)
  }

  echo(body: unknown): void {
    this.#echo = body
  }

  event(event: InferenceEvent & { readonly type: 'delta' | 'finish' }): void {
    if (!this.#open) this.#begun()
    if (this.#echo !== undefined) this.#echoed()
    const chunks = this.#encoder.event(event)
    if (chunks !== '') this.#stream.push(chunks)
  }

  flush(): void {
    this.#stream.flush()
  }

  ended(generation: Generation, serviceTier: string | null): void {
    this.#stream.push(this.#encoder.end(serviceTier, this.#metadata(generation)))
    this.#stream.end()
  }

  failed(fault: Fault, generation: Generation): void {
    const metadata = this.#metadata(generation)
    if (!this.#open) {
      this.#openings.settled(this.#opening)
      this.#reject(withGeneration(fault, generation, metadata))
      return
    }
    this.#stream.push(this.#encoder.failure(fault, metadata))
    this.#stream.end()
  }

  /** The first event has come, and with it the endpoint that serves. */
  #begun(): void {
    this.#openings.settled(this.#opening)
    this.#start()
  }

  /** Before the first event, whatever has opened the stream. */
  #echoed(): void {
    this.#stream.push(this.#encoder.echo(this.#echo))
    this.#echo = undefined
  }

  #openSilent(): void {
    if (this.#open) return
    this.#stream.push(this.#stream.filler)
    this.#start()
  }

  #start(): void {
    this.#open = true
    const { id } = this.#underWay.generation
    this.#resolve({
      status: 200,
      headers: [...EVENT_STREAM_HEADERS, ['X-Generation-Id', id]],
      body: this.#stream,
    })
  }

  #leave(): void {
    this.#openings.settled(this.#opening)
    this.#underWay.flow.cancel()
  }

  /** The server is being stopped. The total time of a call is the gateway's own business. */
  #lastWords(): string {
    const { generation } = this.#underWay
    generation.failed = true
    return this.#encoder.failure(CUT, this.#metadata(generation))
  }

  #metadata(generation: Generation): ReturnType<typeof serviceMetadata> | null {
    return this.#wishes.metadata ? serviceMetadata(generation, performance.now()) : null
  }
}

const CUT = new Fault('unavailable', { metadata: { error_type: 'server' } })
