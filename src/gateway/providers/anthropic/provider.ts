/** Any server that speaks the messages format of Anthropic: messages as they are, chat by translation. */
import type { Fault } from '../../../base/fault.js'
import type { JsonObject } from '../../formats/json-values.js'
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from '../../formats/messages.js'
import { chatOverMessages } from '../../translation/chat-over-messages.js'
import type { StreamFormat } from '../http/provider-exchange.js'
import { ProviderServer, type ServerOptions } from '../http/server.js'
import { UsageReader } from '../http/usage-reader.js'
import type { MessagesApi, Provider, ProviderCall } from '../port/provider.js'
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
  const streamed = server.template(PATH, 'text/event-stream')
  const whole = server.template(PATH, 'application/json')
  const counting = server.template(`${PATH}/count_tokens`, 'application/json')
  const messages: MessagesApi = {
    stream: (call, receiver) =>
      server.stream(MESSAGE_EVENTS, streamed, buildMessagesBody(call, true), call, receiver),
    complete: (call, receiver) =>
      server.complete(MESSAGE, whole, buildMessagesBody(call, false), call, receiver),
  }
  return {
    ...chatOverMessages(messages),
    messages,
    countMessages: (call: ProviderCall<MessagesRequest>): Promise<number | Fault> =>
      new Promise((resolve) => {
        server.complete(TOKEN_COUNT, counting, buildCountBody(call), call, {
          onEnd: resolve,
          onFailure: ({ fault }) => resolve(fault),
        })
      }),
  }
}
