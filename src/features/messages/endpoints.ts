import type { MessagesRequest } from '../../gateway/formats/messages.js'
import { messagesTurns } from '../../gateway/loop/messages/messages-conversation.js'
import { messagesFormat } from '../../gateway/metering/messages-format.js'
import type { Generation } from '../../gateway/run/generation.js'
import { anthropic as dialect } from '../../http/dialects/anthropic.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { jsonReply } from '../../http/reply.js'
import { SIMULATE_HEADER } from '../../inference-http/call-headers.js'
import {
  INFERENCE_FAULTS,
  inferenceOperation,
  inferenceReply,
  type LoopingPorts,
  prepareFirstTurn,
} from '../../inference-http/inference-reply.js'
import { SESSION_HEADER } from '../../inference-http/request-members.js'
import { decodeCount, decodeMessages } from './decode.js'
import { encodeAnswer, MessagesEncoder } from './encode.js'
import { COUNT_EXAMPLES, MESSAGES_EXAMPLES } from './examples.js'
import { MessagesCount, MessagesReply, MessagesStreamEvent } from './response-schema.js'
import { countBody, messagesBody } from './schema.js'

const operation = endpointGroup({ tag: 'Messages', dialect })

const REPLY_FORMAT = {
  format: messagesFormat,
  turns: messagesTurns,
  encode: encodeAnswer,
  createEncoder: (generation: Generation<MessagesRequest>) => new MessagesEncoder(generation),
}

export const messagesEndpoints = (ports: LoopingPorts): Endpoint[] => [
  operation('messages', 'POST /api/v1/messages', {
    ...inferenceOperation(ports),
    summary: 'Create a message, streamed or whole, in the third-party messages format',
    body: messagesBody,
    remembers: 'tools',
    examples: MESSAGES_EXAMPLES,
    replies: {
      200: {
        description: 'The message; with `stream: true` an event stream that ends with `message_stop`',
        schema: MessagesReply,
        events: MessagesStreamEvent,
        headers: { 'X-Generation-Id': 'Id of the generation, also in the body.' },
      },
    },
    faults: [...INFERENCE_FAULTS, 'unprocessable'],
    handle: ({ body, caller }, call) => {
      const request = decodeMessages(body, call.header(SESSION_HEADER))
      return inferenceReply(ports, REPLY_FORMAT, request, caller, call)
    },
  }),
  operation('count_message_tokens', 'POST /api/v1/messages/count_tokens', {
    ...inferenceOperation(ports),
    summary: 'Count the input tokens of a message without creating it',
    headers: [SESSION_HEADER, SIMULATE_HEADER],
    body: countBody,
    examples: COUNT_EXAMPLES,
    replies: {
      200: {
        description: "The provider's own count where it offers one, otherwise a tokenizer's",
        schema: MessagesCount,
      },
    },
    faults: [...INFERENCE_FAULTS, 'unprocessable'],
    handle: async ({ body, caller }, call) => {
      const request = decodeCount(body, call.header(SESSION_HEADER))
      const generation = await prepareFirstTurn(ports, messagesTurns, request, caller, call)
      const tokens = await ports.gateway.countInput(generation, call)
      return jsonReply(200, { input_tokens: tokens })
    },
  }),
]
