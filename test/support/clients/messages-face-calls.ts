/** Calls of a provider's messages face, as a test sees them. */
import { ANONYMOUS } from '../../../src/base/principal.js'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type {
  ContentBlock,
  MessagesAnswer,
  MessagesEvent,
  MessagesRequest,
  MessagesUsage,
  StopInfo,
} from '../../../src/gateway/formats/messages.js'
import type {
  CallHandle,
  CompletionReceiver,
  MessagesApi,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../../../src/gateway/providers/port/provider.js'
import { BlockAssembler } from '../../../src/gateway/translation/block-assembler.js'
import { type Gate, gate } from '../timing/gate.js'
import { GENERATION } from './openai-calls.js'

export function messagesCall(
  request: Partial<MessagesRequest> = {},
  extra: Partial<ProviderCall<MessagesRequest>> = {},
): ProviderCall<MessagesRequest> {
  return {
    request: {
      model: 'vendor/name',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hi' }],
      ...request,
    },
    endpoint: { upstreamModel: 'their-name', provider: { name: 'Their Display' } } as ModelEndpoint,
    generationId: GENERATION,
    caller: ANONYMOUS,
    endUser: 'hashed-user',
    serviceTier: request.service_tier ?? undefined,
    simulate: '',
    deadlineAt: Infinity,
    droppedFields: [],
    ...extra,
  }
}

export class StreamedMessages implements StreamReceiver<MessagesEvent> {
  flow!: CallHandle
  readonly events: MessagesEvent[] = []
  readonly told: string[] = []
  body: unknown
  flushes = 0
  readonly first: Gate<void> = gate()
  readonly end: Gate<'ended' | ProviderFailure> = gate()

  onRequestSent(body: unknown): void {
    this.told.push('sent')
    this.body = body
  }

  onEvent(event: MessagesEvent): void {
    this.told.push(event.type)
    this.events.push(event)
    this.first.open()
  }

  onFlush(): void {
    this.flushes++
  }

  onEnd(): void {
    this.told.push('ended')
    this.end.open('ended')
  }

  onFailure(failure: ProviderFailure): void {
    this.told.push('failed')
    this.end.open(failure)
  }
}

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

export function textBlock(text: string): ContentBlock {
  return { type: 'text', text, citations: [] }
}
