/** Both formats of providers over HTTP, for what they have in common: one bench, and answers in the words of each. */
import type { Test } from 'tap'
import type { RoutedRequest } from '../../../src/gateway/formats/canonical.js'
import type { MessagesEvent } from '../../../src/gateway/formats/messages.js'
import type { ServerOptions } from '../../../src/gateway/providers/http/server.js'
import type {
  ProviderApi,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../../../src/gateway/providers/port/provider.js'
import type { UpstreamClient } from '../../../src/upstream/port.js'
import { messagesCall } from '../clients/messages-face-calls.js'
import {
  API_KEY,
  answer,
  Completed,
  chunk,
  openAiBench,
  providerCall,
  Streamed,
} from '../clients/openai-calls.js'
import { anthropicBench, frame, type WireEvent, wireEvents, wireMessage } from './mock-anthropic.js'
import type { MockUpstream, Script } from './mock-upstream.js'

/** An event of either format. */
type AnyEvent = { readonly type: string }
export type AnyStreamed = Streamed<AnyEvent>

/** A provider of one format before a mock that does what a script says. */
interface FormatBench {
  readonly mock: MockUpstream
  readonly client: UpstreamClient
  stream(receiver?: AnyStreamed): AnyStreamed
  complete(): Completed<unknown>
  /** The failure of a call that must fail, by either way of calling. */
  failure(how: 'stream' | 'complete'): Promise<ProviderFailure>
}

export interface ProviderFormat {
  readonly name: string
  bench(t: Test, script: Script, options?: Partial<ServerOptions>): Promise<FormatBench>
  /** Frames of a streamed answer: its begin, one per text, and its end, of which the last frame is the terminator. */
  frames(texts: readonly string[]): Record<'head' | 'pieces' | 'tail', readonly string[]>
  /** What is told of the begin and one text. */
  readonly begun: readonly string[]
  /** The body of a whole answer. */
  document(text: string): object
  /** The body of an error, and the frame of an error event. */
  errorDocument(error: object): object
  errorFrame(error: object): string
  /** The texts that events add up to, one per event that says one. */
  textsOf(events: readonly AnyEvent[]): string[]
}

function benchOf<R extends RoutedRequest, E, A>(
  mock: MockUpstream,
  client: UpstreamClient,
  api: ProviderApi<R, E, A>,
  call: () => ProviderCall<R>,
): FormatBench {
  const stream = (receiver: AnyStreamed = new Streamed<AnyEvent>()): AnyStreamed => {
    receiver.flow = api.stream(call(), receiver as StreamReceiver<unknown>)
    return receiver
  }
  const complete = (): Completed<unknown> => {
    const receiver = new Completed<unknown>()
    receiver.flow = api.complete(call(), receiver)
    return receiver
  }
  const failure = async (how: 'stream' | 'complete'): Promise<ProviderFailure> => {
    const end = await (how === 'stream' ? stream().end.opened : complete().end.opened)
    if (typeof end === 'object' && end !== null && 'fault' in end) return end as ProviderFailure
    throw new Error('the call did not fail')
  }
  return { mock, client, stream, complete, failure }
}

const dataFrame = (value: unknown): string =>
  `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`

export const OPENAI: ProviderFormat = {
  name: 'openai',
  async bench(t, script, options) {
    const { mock, client, provider } = await openAiBench(t, script, options)
    return benchOf(mock, client, provider, providerCall)
  },
  frames: (texts) => ({
    head: [dataFrame(chunk({ role: 'assistant', content: '' }))],
    pieces: texts.map((content) => dataFrame(chunk({ content }))),
    tail: [dataFrame(chunk({}, 'stop')), dataFrame('[DONE]')],
  }),
  begun: ['delta'],
  document: (text) => answer({ content: text }),
  errorDocument: (error) => ({ error }),
  errorFrame: (error) => dataFrame({ error }),
  textsOf: (events) =>
    events.flatMap((event) => (event as { delta?: { content?: string } }).delta?.content ?? []),
}

export const ANTHROPIC: ProviderFormat = {
  name: 'anthropic',
  async bench(t, script, options) {
    const { mock, client, provider } = await anthropicBench(t, script, { apiKey: API_KEY, ...options })
    return benchOf(mock, client, provider.messages, messagesCall)
  },
  frames: (texts) => {
    const frames = wireEvents({ content: [{ type: 'text', text: '' }] }).map(frame)
    const pieces = texts.map((text) =>
      frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    )
    return { head: frames.slice(0, 3), pieces, tail: frames.slice(3) }
  },
  begun: ['start', 'block', 'block'],
  document: (text) => wireMessage({ content: [{ type: 'text', text }] }),
  errorDocument: (error) => ({ type: 'error', error }),
  errorFrame: (error) => frame({ type: 'error', error } as WireEvent),
  textsOf: (events) =>
    (events as readonly MessagesEvent[]).flatMap((event) =>
      event.type === 'block' && event.event.type === 'content_block_delta'
        ? [String(event.event.delta.text)]
        : [],
    ),
}

export const PROVIDER_FORMATS: readonly ProviderFormat[] = [OPENAI, ANTHROPIC]
