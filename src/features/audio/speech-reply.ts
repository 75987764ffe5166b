/** One spoken text: the reply comes with its first bytes, and the bytes pass through as they come. */
import type { Fault } from '../../base/fault.js'
import type { NoSpeechAnswer, SpeechEvent, SpeechRequest } from '../../gateway/formats/audio.js'
import type { Gateway, Inference, StartedStream, StreamListener } from '../../gateway/gateway.js'
import { speechFormat } from '../../gateway/metering/audio-formats.js'
import type { Generation } from '../../gateway/run/generation.js'
import { serviceMetadata } from '../../gateway/run/metadata.js'
import type { HttpCall, Reply, ResponseSink, StreamResponseBody } from '../../http/endpoint.js'
import { generationHeaders } from '../../inference-http/generation-headers.js'
import { wantsMetadata } from '../../inference-http/inference-headers.js'
import { attachGeneration } from '../../inference-http/with-generation.js'

/** Samples per second of `pcm` (contract/decisions 30). */
const SAMPLE_RATE = '24000'

/** Rejects when the inference fails before the first byte. Throws when the plan is impossible. */
export function speechReply(
  gateway: Gateway,
  inference: Inference<SpeechRequest>,
  call: HttpCall,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    new SpeechReply(inference.request, call, resolve, reject).begin(gateway, inference)
  })
}

class SpeechReply implements StreamListener<SpeechRequest, SpeechEvent>, StreamResponseBody {
  /** Nothing may stand between two pieces of audio. */
  readonly heartbeat = ''
  readonly noHeartbeat = true
  readonly closingFrame = ''
  readonly #request: SpeechRequest
  readonly #call: HttpCall
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (fault: Fault) => void
  #underWay!: StartedStream<SpeechRequest>
  #sink: ResponseSink | null = null
  /** What came before the transport took the body. */
  #waiting: Uint8Array[] = []
  #open = false
  #ended = false

  constructor(
    request: SpeechRequest,
    call: HttpCall,
    resolve: (reply: Reply) => void,
    reject: (fault: Fault) => void,
  ) {
    this.#request = request
    this.#call = call
    this.#resolve = resolve
    this.#reject = reject
  }

  begin(gateway: Gateway, inference: Inference<SpeechRequest>): void {
    this.#underWay = gateway.stream<SpeechRequest, SpeechEvent, NoSpeechAnswer>(
      speechFormat,
      inference,
      this.#call,
      this,
    )
    this.#call.onAbort(() => this.#underWay.flow.cancel())
  }

  // ── The gateway ─────────────────────────────────────────────────────────

  onRequestSent(): void {}

  onEvent(event: SpeechEvent): void {
    if (event.type !== 'audio') return
    this.#write(event.bytes)
    if (this.#open) return
    this.#open = true
    this.#resolve({ status: 200, headers: this.#headers(), body: this })
  }

  onFlush(): void {}

  onEnd(): void {
    this.#ended = true
    this.#sink?.end()
  }

  onFailure(fault: Fault, generation: Generation<SpeechRequest>): void {
    if (this.#open) {
      // Audio has no word for a failure. A body without its end is one: no client takes it for complete.
      this.#call.disconnect?.()
      return
    }
    const wanted = wantsMetadata((name) => this.#call.header(name))
    const metadata = wanted ? serviceMetadata(generation, performance.now()) : null
    this.#reject(attachGeneration(fault, generation, metadata))
  }

  #headers(): (readonly [string, string])[] {
    const type = this.#request.response_format === 'mp3' ? 'audio/mpeg' : 'audio/pcm'
    const headers: (readonly [string, string])[] = [
      ['Content-Type', type],
      ...generationHeaders(this.#underWay.generation, this.#call),
    ]
    if (this.#request.response_format === 'pcm') headers.push(['X-Audio-Sample-Rate', SAMPLE_RATE])
    return headers
  }

  // ── The transport ───────────────────────────────────────────────────────

  start(sink: ResponseSink): void {
    this.#sink = sink
    sink.onAbort(() => this.#underWay.flow.cancel())
    sink.onDrain(() => this.#underWay.flow.resume())
    const waiting = this.#waiting
    this.#waiting = []
    for (const bytes of waiting) this.#write(bytes)
    if (this.#ended) sink.end()
  }

  #write(bytes: Uint8Array): void {
    if (this.#sink === null) this.#waiting.push(bytes)
    else if (!this.#sink.write(bytes)) this.#underWay.flow.pause()
  }
}
