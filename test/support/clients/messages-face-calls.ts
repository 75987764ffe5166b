/** Calls of a provider's messages face, as a test sees them. */
import { asObject, parseJson } from '../../../src/gateway/formats/json-values.js'
import type {
  ContentBlock,
  ContentBlockEvent,
  MessagesAnswer,
  MessagesEvent,
  MessagesRequest,
  MessagesUsage,
  StopInfo,
} from '../../../src/gateway/formats/messages.js'
import type {
  CompletionReceiver,
  MessagesApi,
  ProviderCall,
  ProviderFailure,
} from '../../../src/gateway/providers/port/provider.js'
import { callOf, Streamed } from './openai-calls.js'

export const messagesCall = (
  request: Partial<MessagesRequest> = {},
  extra: Partial<ProviderCall<MessagesRequest>> = {},
): ProviderCall<MessagesRequest> =>
  callOf(
    { model: 'vendor/name', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], ...request },
    { serviceTier: request.service_tier ?? undefined, ...extra },
  )

export class StreamedMessages extends Streamed<MessagesEvent> {}

export function streamedMessages(
  face: MessagesApi,
  call = messagesCall(),
  receiver = new StreamedMessages(),
): StreamedMessages {
  receiver.flow = face.stream(call, receiver)
  return receiver
}

/** The end of a call that does not stream. */
export function wholeMessage(
  face: MessagesApi,
  call = messagesCall(),
): Promise<MessagesAnswer | ProviderFailure> {
  return new Promise((resolve) => {
    const receiver: CompletionReceiver<MessagesAnswer> = { onEnd: resolve, onFailure: resolve }
    face.complete(call, receiver)
  })
}

/** The blocks that the events of a stream add up to. */
type MutableBlock = Record<string, unknown> & { type: string }

class BlockAssembler {
  readonly #blocks: MutableBlock[] = []
  #json = ''

  add(event: ContentBlockEvent): void {
    if (event.type === 'content_block_start') {
      this.#blocks.push({ ...event.content_block })
      this.#json = ''
    } else if (event.type === 'content_block_delta') this.#applyDelta(event.delta)
    else this.#parseInput()
  }

  /** In order; all of them are closed by now. */
  blocks(): readonly ContentBlock[] {
    return this.#blocks
  }

  #applyDelta({ type, ...told }: ContentBlock): void {
    const block = this.#blocks.at(-1)
    if (block === undefined) return
    if (type === 'input_json_delta') this.#json += String(told.partial_json ?? '')
    else if (type === 'citations_delta') {
      block.citations = [...(Array.isArray(block.citations) ? block.citations : []), told.citation]
    } else {
      for (const name in told) {
        const before = block[name]
        block[name] = typeof before === 'string' ? before + String(told[name]) : told[name]
      }
    }
  }

  /** The input of a call comes as text; one that was cut off is as empty as it began. */
  #parseInput(): void {
    const block = this.#blocks.at(-1)
    if (block !== undefined && this.#json.trim() !== '')
      block.input = asObject(parseJson(this.#json)) ?? block.input
  }
}

/** The answer that the events of a stream add up to. */
export function assembledMessage(events: readonly MessagesEvent[]): MessagesAnswer {
  const gathered = new BlockAssembler()
  let stop: StopInfo | null = null
  let usage: MessagesAnswer['usage'] = null
  let wireUsage: MessagesUsage | null = null
  for (const event of events) {
    if (event.type === 'block') gathered.add(event.event)
    else if (event.type === 'stop') stop = event.stop
    else if (event.type === 'usage') {
      usage = event.usage
      wireUsage = event.wire
    }
  }
  if (stop === null) throw new Error('a stream without its stop')
  return { content: gathered.blocks(), stop, usage, wireUsage }
}

/** Every block event of a stream, as it goes on the wire. */
export function wireBlocks(events: readonly MessagesEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'block' ? [event.data] : []))
}

export const textBlock = (text: string): ContentBlock => ({ type: 'text', text, citations: [] })
