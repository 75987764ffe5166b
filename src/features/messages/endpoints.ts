import type { MessagesRequest } from '../../gateway/formats/messages.js'
import type { Inference } from '../../gateway/gateway.js'
import { messagesFormat } from '../../gateway/metering/messages-format.js'
import type { Generation } from '../../gateway/run/generation.js'
import { anthropic as dialect } from '../../http/dialects/anthropic.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { jsonReply } from '../../http/reply.js'
import { INFERENCE_HEADERS, SIMULATE_HEADER, TRACE_HEADER } from '../../inference-http/inference-headers.js'
import { GRACE_MS, type InferencePorts } from '../../inference-http/inference-ports.js'
import { SESSION_HEADER } from '../../inference-http/request-members.js'
import { streamReply } from '../../inference-http/stream-reply.js'
import { wholeReply } from '../../inference-http/whole-reply.js'
import { decodeCount, decodeMessages } from './decode.js'
import { encodeAnswer } from './encode.js'
import { MessagesEncoder } from './encode-stream.js'
import { MessagesCount, MessagesReply, MessagesStreamEvent } from './response-schema.js'
import { countBody, messagesBody } from './schema.js'

const operation = endpointGroup({ tag: 'Messages', dialect })

const WHOLE = { format: messagesFormat, encode: encodeAnswer }
const STREAMED = {
  format: messagesFormat,
  encoder: (generation: Generation<MessagesRequest>) => new MessagesEncoder(generation),
}

const FAULTS = [
  'payment-required',
  'item-not-found',
  'unprocessable',
  'rate-limited',
  'provider-failed',
  'unavailable',
  'provider-timeout',
  'provider-overloaded',
] as const

export const messagesEndpoints = (ports: InferencePorts): Endpoint[] => [
  operation('messages', 'POST /api/v1/messages', {
    summary: 'Create a message, streamed or whole, in the third-party messages format',
    access: 'key',
    headers: INFERENCE_HEADERS,
    bodyLimit: ports.bodyLimit,
    // The gateway decides when a call is late, and tells it in full; the transport only sees to it that it does.
    deadlineMs: ports.deadlineMs + GRACE_MS,
    body: messagesBody,
    replies: {
      200: {
        description: 'The message; with `stream: true` an event stream that ends with `message_stop`',
        schema: MessagesReply,
        events: MessagesStreamEvent,
        headers: { 'X-Generation-Id': 'Id of the generation, also in the body.' },
      },
    },
    faults: FAULTS,
    handle: ({ body, caller }, call) => {
      const request = decodeMessages(body, { sessionId: call.header(SESSION_HEADER) })
      const inference: Inference<MessagesRequest> = {
        request,
        caller,
        simulate: call.header(SIMULATE_HEADER),
        traceparent: call.header(TRACE_HEADER),
      }
      return request.stream === true
        ? streamReply(ports, STREAMED, inference, call)
        : wholeReply(ports.gateway, WHOLE, inference, call)
    },
  }),
  operation('count_message_tokens', 'POST /api/v1/messages/count_tokens', {
    summary: 'Count the input tokens of a message without creating it',
    access: 'key',
    headers: [SESSION_HEADER, SIMULATE_HEADER],
    bodyLimit: ports.bodyLimit,
    deadlineMs: ports.deadlineMs + GRACE_MS,
    body: countBody,
    replies: {
      200: {
        description: "The provider's own count where it offers one, otherwise a tokenizer's",
        schema: MessagesCount,
      },
    },
    faults: FAULTS,
    handle: ({ body, caller }, call) => {
      const request = decodeCount(body, { sessionId: call.header(SESSION_HEADER) })
      const inference = {
        request,
        caller,
        simulate: call.header(SIMULATE_HEADER),
        traceparent: call.header(TRACE_HEADER),
      }
      return ports.gateway
        .countInput(inference, call)
        .then((tokens) => jsonReply(200, { input_tokens: tokens }))
    },
  }),
]
