/** Any server that speaks the messages format of Anthropic. */
import { Fault } from '../../../base/fault.js'
import type { ChatEvent, Completion } from '../../formats/canonical.js'
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from '../../formats/messages.js'
import { chatOverMessages } from '../../translation/chat-over-messages.js'
import { refuseAccountReference } from '../http/account-references.js'
import { type RequestTemplate, requestTemplate, type ServerOptions, secretsIn } from '../http/server.js'
import type { FailureSource } from '../port/failure.js'
import type {
  CallHandle,
  ChatApi,
  CompletionReceiver,
  MessagesApi,
  Provider,
  ProviderCall,
  StreamReceiver,
} from '../port/provider.js'
import { rejectCall } from '../port/rejected-call.js'
import { buildCountBody, buildMessagesBody, type WireObject } from './request.js'
import { StreamedMessage } from './streamed-message.js'
import { readAnswer, readCount, WholeDocument } from './whole-message.js'

/** `baseUrl` goes up to and without `/v1/messages`. */
export type AnthropicOptions = ServerOptions

/** The version of the format; another one, and betas, are headers of the operator's. */
const VERSION = '2023-06-01'
const MESSAGES = '/v1/messages'
const COUNT = '/v1/messages/count_tokens'

/**
 * A provider that serves every model of one server: messages as they are, chat by translation. Throws a RangeError
 * for a header it must not send.
 */
export function anthropicProvider(options: AnthropicOptions): Provider {
  return new AnthropicProvider(options)
}

class AnthropicProvider implements Provider {
  readonly messages: MessagesApi
  readonly #server: AnthropicMessagesApi
  readonly #chat: ChatApi

  constructor(options: AnthropicOptions) {
    this.#server = new AnthropicMessagesApi(options)
    this.messages = this.#server
    this.#chat = chatOverMessages(this.#server)
  }

  stream(call: ProviderCall, receiver: StreamReceiver<ChatEvent>): CallHandle {
    return this.#chat.stream(call, receiver)
  }

  complete(call: ProviderCall, receiver: CompletionReceiver<Completion>): CallHandle {
    return this.#chat.complete(call, receiver)
  }

  countMessages(call: ProviderCall<MessagesRequest>): Promise<number | Fault> {
    return this.#server.count(call)
  }
}

class AnthropicMessagesApi implements MessagesApi {
  readonly #options: AnthropicOptions
  readonly #secrets: readonly string[]
  readonly #streaming: RequestTemplate
  readonly #whole: RequestTemplate
  readonly #counting: RequestTemplate

  constructor(options: AnthropicOptions) {
    const credential: [string, string][] = options.apiKey === null ? [] : [['x-api-key', options.apiKey]]
    const own: [string, string][] = [['anthropic-version', VERSION], ...credential]
    this.#options = options
    this.#secrets = secretsIn(options)
    this.#streaming = requestTemplate(options, MESSAGES, 'text/event-stream', own)
    this.#whole = requestTemplate(options, MESSAGES, 'application/json', own)
    this.#counting = requestTemplate(options, COUNT, 'application/json', own)
  }

  stream(call: ProviderCall<MessagesRequest>, receiver: StreamReceiver<MessagesEvent>): CallHandle {
    const body = serializeBody(buildMessagesBody(call, true))
    if (body instanceof Fault) return rejectCall(body, receiver)
    const exchange = new StreamedMessage(
      this.#source(call),
      receiver,
      wantsEcho(call) ? body.sent : undefined,
    )
    return this.#begin(exchange, this.#streaming, body.text, call)
  }

  complete(call: ProviderCall<MessagesRequest>, receiver: CompletionReceiver<MessagesAnswer>): CallHandle {
    const body = serializeBody(buildMessagesBody(call, false))
    if (body instanceof Fault) return rejectCall(body, receiver)
    const exchange = new WholeDocument(this.#source(call), readAnswer, receiver)
    return this.#begin(exchange, this.#whole, body.text, call)
  }

  count(call: ProviderCall<MessagesRequest>): Promise<number | Fault> {
    const body = serializeBody(buildCountBody(call))
    if (body instanceof Fault) return Promise.resolve(body)
    return new Promise((resolve) => {
      const receiver: CompletionReceiver<number> = {
        onEnd: (count) => resolve(count),
        onFailure: ({ fault }) => resolve(fault),
      }
      const exchange = new WholeDocument(this.#source(call), readCount, receiver)
      this.#begin(exchange, this.#counting, body.text, call)
    })
  }

  #begin(
    exchange: StreamedMessage | WholeDocument<MessagesAnswer> | WholeDocument<number>,
    request: RequestTemplate,
    body: string,
    { deadlineAt }: ProviderCall<MessagesRequest>,
  ): CallHandle {
    return exchange.begin(this.#options.upstream, { ...request, body, deadlineAt })
  }

  #source(call: ProviderCall<MessagesRequest>): FailureSource {
    return { name: call.endpoint.provider.name, secrets: this.#secrets }
  }
}

/**
 * The body with its text; a fault when it names what lies in the account at the provider, or cannot be written, which
 * validation should have seen.
 */
function serializeBody(
  body: WireObject | Fault,
): { readonly sent: WireObject; readonly text: string } | Fault {
  if (body instanceof Fault) return body
  try {
    return refuseAccountReference(body) ?? { sent: body, text: JSON.stringify(body) }
  } catch (cause) {
    return new Fault('internal', { detail: 'a request that cannot be written', cause })
  }
}

/** Only a chat caller can ask for it (contract/gateway 4.5); the translation hands the wish on. */
function wantsEcho({ request }: ProviderCall<MessagesRequest>): boolean {
  return (
    (request as { readonly debug?: { readonly echo_upstream_body?: boolean } }).debug?.echo_upstream_body ===
    true
  )
}
