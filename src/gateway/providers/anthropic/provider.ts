/** Any server that speaks the messages format of Anthropic: messages as they are, chat by translation. */
import type { JsonObject } from '../../formats/json-values.js'
import type { MessagesAnswer, MessagesEvent } from '../../formats/messages.js'
import { chatOverMessages } from '../../translation/chat-over-messages.js'
import type { StreamFormat } from '../http/provider-exchange.js'
import { ProviderServer, type ServerOptions } from '../http/server.js'
import { UsageReader } from '../http/usage-reader.js'
import type { MessagesApi, Provider } from '../port/provider.js'
import { answerEvents, isMessageStop, MessageEventReader, parseMessage } from './message-reader.js'
import { buildCountBody, buildMessagesBody } from './request.js'

/** `baseUrl` goes up to and without `/v1/messages`. */
export type AnthropicOptions = ServerOptions

/** The version of the format; another one, and betas, are headers of the operator's. */
const VERSION = '2023-06-01'
const PATH = '/v1/messages'

const MESSAGE = { parse: parseMessage, missing: 'a body that is no message' }

const MESSAGE_EVENTS: StreamFormat<MessagesEvent, MessagesAnswer> = {
  createReader: (_, emit) => new MessageEventReader(emit),
  isTerminator: isMessageStop,
  document: MESSAGE,
  eventsOf: answerEvents,
}

/** contract/gateway 5.9 */
const TOKEN_COUNT = {
  parse: (body: JsonObject): number | null => new UsageReader().tokens(body.input_tokens) ?? null,
  missing: 'a body without input_tokens',
}

/** A provider that serves every model of one server. Throws a RangeError for a header it must not send. */
export function anthropicProvider(options: AnthropicOptions): Provider {
  const credential: [string, string][] = options.apiKey === null ? [] : [['x-api-key', options.apiKey]]
  const server = new ProviderServer(options, [['anthropic-version', VERSION], ...credential])
  const stream = server.streamOperation(PATH, MESSAGE_EVENTS)
  const complete = server.documentOperation(PATH, MESSAGE)
  const count = server.documentOperation(`${PATH}/count_tokens`, TOKEN_COUNT)
  const messages: MessagesApi = {
    stream: (call, receiver) => stream(buildMessagesBody(call, true), call, receiver),
    complete: (call, receiver) => complete(buildMessagesBody(call, false), call, receiver),
  }
  return {
    ...chatOverMessages(messages),
    messages,
    countMessages: (call) =>
      new Promise((resolve) => {
        count(buildCountBody(call), call, { onEnd: resolve, onFailure: ({ fault }) => resolve(fault) })
      }),
  }
}
