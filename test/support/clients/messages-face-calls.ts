/** Calls of a provider's messages face, as a test sees them. */
import type {
  ContentBlock,
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
import { assembled } from './messages-calls.js'
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

/** The answer that the events of a stream add up to. */
export function assembledMessage(events: readonly MessagesEvent[]): MessagesAnswer {
  const wire: object[] = []
  let stop: StopInfo | null = null
  let usage: MessagesAnswer['usage'] = null
  let wireUsage: MessagesUsage | null = null
  for (const event of events) {
    if (event.type === 'block') wire.push(event.event)
    else if (event.type === 'stop') stop = event.stop
    else if (event.type === 'usage') {
      usage = event.usage
      wireUsage = event.wire
    }
  }
  if (stop === null) throw new Error('a stream without its stop')
  const start = { type: 'message_start', message: {} }
  const { content } = assembled([start, ...wire, { type: 'message_delta' }, { type: 'message_stop' }])
  return { content, stop, usage, wireUsage }
}

/** Every block event of a stream, as it goes on the wire. */
export function wireBlocks(events: readonly MessagesEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'block' ? [event.data] : []))
}

export const textBlock = (text: string): ContentBlock => ({ type: 'text', text, citations: [] })
