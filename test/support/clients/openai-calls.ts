/** Calls of the `openai` provider against a mock upstream, as a test sees them. */

import type { Test } from 'tap'
import { ANONYMOUS } from '../../../src/base/principal.js'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type {
  ChatEvent,
  ChatRequest,
  Completion,
  RoutedRequest,
} from '../../../src/gateway/formats/canonical.js'
import type { ServerOptions } from '../../../src/gateway/providers/http/server.js'
import { openAiProvider } from '../../../src/gateway/providers/openai/provider.js'
import type {
  CallHandle,
  CompletionReceiver,
  Provider,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../../../src/gateway/providers/port/provider.js'
import type { UpstreamClient } from '../../../src/upstream/port.js'
import { type MockUpstream, mockUpstream, type Script } from '../providers/mock-upstream.js'
import { type Gate, gate } from '../timing/gate.js'
import { LIMITS, PATIENT, testClient } from './upstream-calls.js'

export const API_KEY = 'sk-canary-0123456789abcdef'
export const GENERATION = 'gen-0123456789abcdefghjkmnpqrs'

interface Bench {
  readonly mock: MockUpstream
  readonly client: UpstreamClient
  readonly provider: Provider
}

/** A provider before a mock upstream that does what the script says. */
export async function openAiBench(
  t: Test,
  script: Script,
  options: Partial<ServerOptions> & { readonly path?: string } = {},
): Promise<Bench> {
  const mock = await mockUpstream(t, script)
  const client = testClient(t)
  const provider = openAiProvider({
    baseUrl: `${mock.origin}${options.path ?? '/v1'}`,
    apiKey: API_KEY,
    headers: {},
    timeouts: PATIENT,
    limits: LIMITS,
    upstream: client,
    version: '0.0.0',
    ...options,
  })
  return { mock, client, provider }
}

/** A call of any format; `extra` changes it. */
export function callOf<Request extends RoutedRequest>(
  request: Request,
  extra: Partial<ProviderCall<Request>> = {},
): ProviderCall<Request> {
  return {
    request,
    endpoint: {
      upstreamModel: 'their-name',
      model: { id: 'their-name' },
      provider: { name: 'Their Display' },
      supportedParameters: new Set(['reasoning']),
    } as unknown as ModelEndpoint,
    generationId: GENERATION,
    caller: ANONYMOUS,
    endUser: 'hashed-user',
    serviceTier: undefined,
    simulate: '',
    deadlineAt: Infinity,
    repeatable: true,
    droppedFields: [],
    ...extra,
  }
}

export const providerCall = (
  request: Partial<ChatRequest> = {},
  extra: Partial<ProviderCall> = {},
): ProviderCall =>
  callOf({ model: 'vendor/name', messages: [{ role: 'user', content: 'hi' }], ...request }, extra)

export class Streamed<Event extends { readonly type: string } = ChatEvent> implements StreamReceiver<Event> {
  flow!: CallHandle
  readonly events: Event[] = []
  readonly told: string[] = []
  body: unknown
  flushes = 0
  readonly first: Gate<void> = gate()
  readonly end: Gate<'ended' | ProviderFailure> = gate()

  onRequestSent(body: unknown): void {
    this.told.push('sent')
    this.body = body
  }

  onEvent(event: Event): void {
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

export function streamed(provider: Provider, call = providerCall(), receiver = new Streamed()): Streamed {
  receiver.flow = provider.stream(call, receiver)
  return receiver
}

export class Completed<Answer = Completion> implements CompletionReceiver<Answer> {
  flow!: CallHandle
  readonly end: Gate<Answer | ProviderFailure> = gate()
  /** How often an end was told. */
  ends = 0

  onEnd(answer: Answer): void {
    this.ends++
    this.end.open(answer)
  }

  onFailure(failure: ProviderFailure): void {
    this.ends++
    this.end.open(failure)
  }
}

export function completed(provider: Provider, call = providerCall()): Completed {
  const receiver = new Completed()
  receiver.flow = provider.complete(call, receiver)
  return receiver
}

/** The completion of a call that must succeed. */
export async function completion(provider: Provider, call = providerCall()): Promise<Completion> {
  const end = await completed(provider, call).end.opened
  if ('fault' in end) throw end.fault
  return end
}

export { answer, chunk } from '../data/chat-answers.js'
