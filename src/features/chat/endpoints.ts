import type { ChatRequest } from '../../gateway/formats/canonical.js'
import type { Inference } from '../../gateway/gateway.js'
import { chatFormat } from '../../gateway/metering/chat-format.js'
import type { Generation } from '../../gateway/run/generation.js'
import { gateway as dialect } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { INFERENCE_HEADERS, SIMULATE_HEADER, TRACE_HEADER } from '../../inference-http/inference-headers.js'
import { GRACE_MS, type InferencePorts } from '../../inference-http/inference-ports.js'
import { SESSION_HEADER } from '../../inference-http/request-members.js'
import { streamReply } from '../../inference-http/stream-reply.js'
import { wholeReply } from '../../inference-http/whole-reply.js'
import { decodeChat } from './decode.js'
import { encodeCompletion } from './encode.js'
import { ChunkEncoder } from './encode-stream.js'
import { ChatCompletion, ChatCompletionChunk } from './response-schema.js'
import { chatBody } from './schema.js'

const operation = endpointGroup({ tag: 'Chat', dialect })

const WHOLE = { format: chatFormat, encode: encodeCompletion }
const STREAMED = {
  format: chatFormat,
  encoder: (generation: Generation<ChatRequest>) => new ChunkEncoder(generation),
}

export const chatEndpoints = (ports: InferencePorts): Endpoint[] => [
  operation('chat_completions', 'POST /api/v1/chat/completions', {
    summary: 'Create a chat completion, streamed or whole',
    access: 'key',
    headers: INFERENCE_HEADERS,
    bodyLimit: ports.bodyLimit,
    // The gateway decides when a call is late, and tells it in full; the transport only sees to it that it does.
    deadlineMs: ports.deadlineMs + GRACE_MS,
    body: chatBody,
    replies: {
      200: {
        description: 'The completion; with `stream: true` an event stream of chunks that ends with `[DONE]`',
        schema: ChatCompletion,
        events: ChatCompletionChunk,
        headers: { 'X-Generation-Id': 'Id of the generation, also in the body.' },
      },
    },
    faults: [
      'payment-required',
      'item-not-found',
      'unprocessable',
      'rate-limited',
      'provider-failed',
      'unavailable',
      'provider-timeout',
      'provider-overloaded',
    ],
    handle: ({ body, caller }, call) => {
      const request = decodeChat(body, { sessionId: call.header(SESSION_HEADER) })
      const inference: Inference<ChatRequest> = {
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
]
