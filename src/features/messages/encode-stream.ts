/** A streamed answer as events (contract/gateway 5.8). */
import type { Fault } from '../../base/fault.js'
import type {
  MessagesEvent,
  MessagesRequest,
  MessagesUsage,
  StopInfo,
} from '../../gateway/formats/messages.js'
import type { Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'
import { errorEvent } from '../../http/dialects/anthropic.js'
import { attachGeneration } from '../../inference-http/inference-reply.js'
import type { StreamEncoder } from '../../inference-http/stream-reply.js'
import {
  completeBlock,
  contextEditsJson,
  initialUsageJson,
  messageHeadJson,
  stopJson,
  usageJson,
} from './encode.js'

const NO_STOP: StopInfo = { stop_reason: null, stop_sequence: null, stop_details: null, container: null }

/**
 * Writes events in the order of the format, whatever a provider leaves out: one `message_start`, blocks as they
 * come, and at the end `message_delta` with the figures and `message_stop`. A block event costs one string.
 */
export class MessagesEncoder implements StreamEncoder<MessagesEvent> {
  readonly heartbeat = 'event: ping\ndata: {"type":"ping"}\n\n'
  readonly #generation: Generation<MessagesRequest>
  #begun = false
  #stop = NO_STOP
  #usage: MessagesUsage | null = null

  constructor(generation: Generation<MessagesRequest>) {
    this.#generation = generation
  }

  event(event: MessagesEvent): string {
    switch (event.type) {
      case 'block':
        return this.#begun ? blockEventText(event) : this.#start(null, null) + blockEventText(event)
      case 'start':
        return this.#begun ? '' : this.#start(event.usage, event.container ?? null)
      case 'stop':
        this.#stop = event.stop
        return this.#begun ? '' : this.#start(null, null)
      case 'usage':
        this.#usage = event.wire
        return this.#begun ? '' : this.#start(null, null)
    }
  }

  end(metadata: ServiceMetadata | null): string {
    const usage = usageJson(this.#generation.consumption!, this.#usage)
    const routing = metadata === null ? '' : `,"service_metadata":${JSON.stringify(metadata)}`
    return (
      `event: message_delta\ndata: {"type":"message_delta","delta":{${stopJson(this.#stop)}},"usage":${usage}` +
      `${contextEditsJson(this.#stop)}}\n\n` +
      `event: message_stop\ndata: {"type":"message_stop"${routing}}\n\n`
    )
  }

  /** The error is the last event of this format; a `message_stop` behind it would tell of a complete answer. */
  failure(fault: Fault, metadata: ServiceMetadata | null): string {
    return errorEvent(attachGeneration(fault, this.#generation, metadata))
  }

  #start(usage: MessagesUsage | null, container: StopInfo['container']): string {
    this.#begun = true
    const stop = stopJson({ ...NO_STOP, container })
    const message =
      `${messageHeadJson(this.#generation)},"content":[],${stop},"usage":${initialUsageJson(usage)},` +
      `"provider":${JSON.stringify(this.#generation.providerName)}}`
    return `event: message_start\ndata: {"type":"message_start","message":${message}}\n\n`
  }
}

function blockEventText({ event, data }: MessagesEvent & { readonly type: 'block' }): string {
  if (event.type !== 'content_block_start') return `event: ${event.type}\ndata: ${data}\n\n`
  const block = completeBlock(event.content_block)
  const text = block === event.content_block ? data : JSON.stringify({ ...event, content_block: block })
  return `event: content_block_start\ndata: ${text}\n\n`
}
