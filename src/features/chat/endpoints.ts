import type { ChatRequest } from '../../gateway/formats/canonical.js'
import { chatTurns } from '../../gateway/loop/chat/chat-conversation.js'
import { chatFormat } from '../../gateway/metering/format.js'
import type { Generation } from '../../gateway/run/generation.js'
import { gateway as dialect } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import {
  INFERENCE_FAULTS,
  inferenceOperation,
  inferenceReply,
  type LoopingPorts,
} from '../../inference-http/inference-reply.js'
import { SESSION_HEADER } from '../../inference-http/request-members.js'
import { decodeChat } from './decode.js'
import { ChunkEncoder, encodeCompletion } from './encode.js'
import { CHAT_EXAMPLES } from './examples.js'
import { ChatCompletion, ChatCompletionChunk } from './response-schema.js'
import { chatBody } from './schema.js'

const operation = endpointGroup({ tag: 'Chat', dialect })

const REPLY_FORMAT = {
  format: chatFormat,
  turns: chatTurns,
  encode: encodeCompletion,
  createEncoder: (generation: Generation<ChatRequest>) => new ChunkEncoder(generation),
}

export const chatEndpoints = (ports: LoopingPorts): Endpoint[] => [
  operation('chat_completions', 'POST /api/v1/chat/completions', {
    ...inferenceOperation(ports),
    summary: 'Create a chat completion, streamed or whole',
    body: chatBody,
    remembers: 'tools',
    examples: CHAT_EXAMPLES,
    replies: {
      200: {
        description: 'The completion; with `stream: true` an event stream of chunks that ends with `[DONE]`',
        schema: ChatCompletion,
        events: ChatCompletionChunk,
        headers: { 'X-Generation-Id': 'Id of the generation, also in the body.' },
      },
    },
    faults: [...INFERENCE_FAULTS, 'unprocessable'],
    handle: ({ body, caller }, call) => {
      const request = decodeChat(body, call.header(SESSION_HEADER))
      return inferenceReply(ports, REPLY_FORMAT, request, caller, call)
    },
  }),
]
