/** A streamed answer as chunks (contract/gateway 4). */
import type { Fault } from '../../base/fault.js'
import type { ChatDelta, ChatEvent, Logprobs } from '../../gateway/formats/canonical.js'
import type { Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'
import { gatewayErrorOf } from '../../http/dialects/gateway.js'
import type { StreamEncoder } from '../../inference-http/stream-reply.js'
import { hidesReasoning, usageJson } from './encode.js'

const DONE = 'data: [DONE]\n\n'
const ROLE = '{"role":"assistant","content":""}'

/**
 * Turns events into chunks. What is the same in every chunk of a stream is serialised once, and the commonest
 * event, a piece of text, costs one string to be escaped.
 */
export class ChunkEncoder implements StreamEncoder<ChatEvent> {
  readonly #generation: Generation
  readonly #hidden: boolean
  /** Choices that have said their role. */
  readonly #begun = new Set<number>()
  #head = ''

  constructor(generation: Generation) {
    this.#generation = generation
    this.#hidden = hidesReasoning(generation)
  }

  /** First chunk of a stream that echoes the upstream body (contract/gateway 4.5). */
  echo(body: unknown): string {
    return `${this.#start()}],"debug":${JSON.stringify({ echo_upstream_body: body })}}\n\n`
  }

  /** The chunks of one event; `''` when it says nothing the caller may hear. */
  event(event: ChatEvent): string {
    // What the gateway keeps to itself does not come here.
    if (event.type !== 'delta' && event.type !== 'finish') return ''
    const role = this.#begun.has(event.choice) ? '' : this.#role(event.choice)
    if (event.type === 'delta') return role + this.#delta(event.choice, event.delta, event.logprobs)
    const native = JSON.stringify(event.native)
    return `${role}${this.#start()}{"index":${event.choice},"delta":{},"finish_reason":"${event.reason}","native_finish_reason":${native}}]}\n\n`
  }

  /** The last chunk, with what the answer consumed, and the terminator. */
  end(metadata: ServiceMetadata | null): string {
    const { serviceTier } = this.#generation
    const usage = usageJson(this.#generation.consumption!)
    const tier = serviceTier === null ? '' : `,"service_tier":${JSON.stringify(serviceTier)}`
    return `${this.#start()}]${tier},"usage":${usage}${metadataMember(metadata)}}\n\n${DONE}`
  }

  /** The chunk that tells a failure, and the terminator: without it clients wait (contract/gateway 4.4). */
  failure(fault: Fault, metadata: ServiceMetadata | null): string {
    const error = JSON.stringify(gatewayErrorOf(fault))
    const choice = '{"index":0,"delta":{"content":""},"finish_reason":"error"}'
    return `${this.#start()}${choice}],"error":${error}${metadataMember(metadata)}}\n\n${DONE}`
  }

  #role(choice: number): string {
    this.#begun.add(choice)
    return `${this.#start()}{"index":${choice},"delta":${ROLE},"finish_reason":null}]}\n\n`
  }

  #delta(choice: number, delta: ChatDelta, logprobs: Logprobs | undefined): string {
    const { content } = delta
    if (content !== undefined && logprobs === undefined && isOnlyContent(delta)) {
      return `${this.#start()}{"index":${choice},"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]}\n\n`
    }
    const shown = this.#hidden ? withoutReasoning(delta) : delta
    if (this.#hidden && Object.keys(shown).length === 0) return ''
    const chances = logprobs === undefined ? '' : `,"logprobs":${JSON.stringify(logprobs)}`
    return `${this.#start()}{"index":${choice},"delta":${JSON.stringify(shown)},"finish_reason":null${chances}}]}\n\n`
  }

  /** Up to and including the bracket that opens the choices. Made late: only then is it known who serves. */
  #start(): string {
    if (this.#head !== '') return this.#head
    const { id, created, model, providerName, served } = this.#generation
    const head = { id, object: 'chat.completion.chunk', created, model, provider: providerName }
    const text = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`
    if (served !== null) this.#head = text
    return text
  }
}

function isOnlyContent(delta: ChatDelta): boolean {
  for (const member in delta) if (member !== 'content') return false
  return true
}

function withoutReasoning({ reasoning: _, reasoning_details: __, ...rest }: ChatDelta): ChatDelta {
  return rest
}

function metadataMember(metadata: ServiceMetadata | null): string {
  return metadata === null ? '' : `,"service_metadata":${JSON.stringify(metadata)}`
}
