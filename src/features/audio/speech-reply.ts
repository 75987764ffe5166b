/** One spoken text: the reply comes with its first bytes, and the bytes pass through as they come. */
import type { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { SpeechEvent, SpeechRequest } from '../../gateway/formats/audio.js'
import type { Gateway, StreamListener } from '../../gateway/gateway.js'
import { speechFormat } from '../../gateway/metering/audio-formats.js'
import { CallAdapter } from '../../gateway/providers/port/provider.js'
import type { Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'
import type { HttpCall, Reply, ResponseSink, StreamResponseBody } from '../../http/endpoint.js'
import { generationHeaders, requestedMetadata } from '../../inference-http/generation-told.js'
import { prepareGeneration } from '../../inference-http/inference-reply.js'

/** Samples per second of `pcm` (contract/decisions 30). */
const SAMPLE_RATE = '24000'

/** Rejects when the plan is impossible, and when the inference fails before the first byte. */
export async function speechReply(
  gateway: Gateway,
  request: SpeechRequest,
  caller: Principal,
  call: HttpCall,
): Promise<Reply> {
  const generation = await prepareGeneration(gateway, speechFormat, request, caller, call)
  return new Promise((resolve, reject) => {
    const reply = new SpeechReply(generation, call, resolve, reject)
    reply.attach(gateway.stream(speechFormat, generation, reply))
    call.onAbort(() => reply.cancel())
  })
}

/** Characters of the header that names what was left out. */
const LONGEST_LIST = 2_000

/** Sound has no place for the routing metadata, so what was left out stands in a header: a list in JSON, in ASCII. */
function untranslatedHeader(metadata: ServiceMetadata | null): (readonly [string, string])[] {
  let names = metadata?.untranslated ?? []
  if (names.length === 0) return []
  while (names.length > 1 && asciiJson(names).length > LONGEST_LIST) names = names.slice(0, -1)
  return [['X-Service-Untranslated', asciiJson(names)]]
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^ -~]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

class SpeechReply
  extends CallAdapter
  implements StreamListener<SpeechRequest, SpeechEvent>, StreamResponseBody
{
  /** Nothing may stand between two pieces of audio. */
  readonly heartbeat = ''
  readonly padding = ''
  readonly closingFrame = ''
  readonly #generation: Generation<SpeechRequest>
  readonly #call: HttpCall
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (fault: Fault) => void
  #sink: ResponseSink | null = null
  /** What came before the transport took the body. */
  #buffered: Uint8Array[] = []
  #opened = false
  #ended = false

  constructor(
    generation: Generation<SpeechRequest>,
    call: HttpCall,
    resolve: (reply: Reply) => void,
    reject: (fault: Fault) => void,
  ) {
    super()
    this.#generation = generation
    this.#call = call
    this.#resolve = resolve
    this.#reject = reject
  }

  // ── The gateway ─────────────────────────────────────────────────────────

  onEvent(event: SpeechEvent): void {
    if (event.type !== 'audio') return
    this.#write(event.bytes)
    if (this.#opened) return
    this.#opened = true
    this.#resolve({ status: 200, headers: this.#headers(), body: this })
  }

  onFlush(): void {}

  onEnd(): void {
    this.#ended = true
    this.#sink?.end()
  }

  onFailure(fault: Fault): void {
    // Audio has no word for a failure. A body without its end is one: no client takes it for complete.
    if (this.#opened) this.#call.disconnect?.()
    else {
      const metadata = requestedMetadata(this.#generation, this.#call)
      this.#reject(fault.withGeneration({ id: this.#generation.id, serviceMetadata: metadata }))
    }
  }

  #headers(): (readonly [string, string])[] {
    const isPcm = this.#generation.request.response_format === 'pcm'
    return [
      ['Content-Type', isPcm ? 'audio/pcm' : 'audio/mpeg'],
      ...generationHeaders(this.#generation, this.#call),
      ...untranslatedHeader(requestedMetadata(this.#generation, this.#call)),
      ...(isPcm ? [['X-Audio-Sample-Rate', SAMPLE_RATE] as const] : []),
    ]
  }

  // ── The transport ───────────────────────────────────────────────────────

  start(sink: ResponseSink): void {
    this.#sink = sink
    sink.onAbort(() => this.cancel())
    sink.onDrain(() => this.resume())
    const buffered = this.#buffered
    this.#buffered = []
    for (const bytes of buffered) this.#write(bytes)
    if (this.#ended) sink.end()
  }

  #write(bytes: Uint8Array): void {
    if (this.#sink === null) this.#buffered.push(bytes)
    else if (!this.#sink.write(bytes)) this.pause()
  }
}
