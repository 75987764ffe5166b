import type { ChatRequest } from '../../gateway/canonical.js'
import { chatFormat } from '../../gateway/chat-format.js'
import type { Gateway, Inference } from '../../gateway/complete.js'
import { serviceMetadata } from '../../gateway/metadata.js'
import { gateway as dialect } from '../../http/dialects/gateway.js'
import { type Call, type Endpoint, endpoint, type Reply } from '../../http/endpoint.js'
import type { Openings } from '../../http/opening.js'
import { JSON_TYPE } from '../../http/reply.js'
import { CHAT_HEADERS, decodeChat, wantsMetadata } from './decode.js'
import { encodeCompletion } from './encode.js'
import { ChatCompletion, ChatCompletionChunk } from './response-schema.js'
import { chatBody } from './schema.js'
import { streamReply } from './stream-reply.js'
import { withGeneration } from './with-generation.js'

export interface ChatPorts {
  readonly gateway: Gateway
  readonly openings: Openings
  /** Most bytes of a request body. */
  readonly bodyLimit: number
  /** Total time of a call in milliseconds. */
  readonly deadlineMs: number
}

/** What the transport leaves the gateway to tell a deadline: more than the sweeps of both take. */
const GRACE_MS = 2_000
/** Asks the simulated provider for a fault, where its operator allows that. */
const SIMULATE = 'x-service-simulate'
/** `disabled` keeps a stream free of comments, for clients that choke on them. */
const KEEP_ALIVE = 'x-service-keep-alive'

export const chatEndpoints = (ports: ChatPorts): Endpoint[] => [
  endpoint({
    name: 'chat_completions',
    method: 'POST',
    path: '/api/v1/chat/completions',
    summary: 'Create a chat completion, streamed or whole',
    tag: 'Chat',
    dialect,
    access: 'key',
    headers: [...CHAT_HEADERS, SIMULATE, KEEP_ALIVE],
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
      const request = decodeChat(body, { sessionId: call.header('x-session-id') })
      const inference = { request, caller, simulate: call.header(SIMULATE) }
      return request.stream === true
        ? streamed(ports, inference, call)
        : whole(ports.gateway, inference, call)
    },
  }),
]

/** Chained by hand: an async function would add two turns of the microtask queue to every call. */
function whole(gateway: Gateway, inference: Inference<ChatRequest>, call: Call): Promise<Reply> {
  return gateway.complete(chatFormat, inference, call).then(({ generation, answer, fault }) => {
    const metadata = wanted(call) ? serviceMetadata(generation, performance.now()) : null
    if (fault !== null) throw withGeneration(fault, generation, metadata)
    const body = encodeCompletion(generation, answer, metadata)
    return { status: 200, headers: [JSON_TYPE, ['X-Generation-Id', generation.id]], body }
  })
}

function streamed(
  { gateway, openings }: ChatPorts,
  inference: Inference<ChatRequest>,
  call: Call,
): Promise<Reply> {
  const keepAlive = call.header(KEEP_ALIVE).toLowerCase() !== 'disabled'
  return streamReply(gateway, inference, { metadata: wanted(call), keepAlive }, call, openings)
}

function wanted(call: Call): boolean {
  return wantsMetadata((name) => call.header(name))
}
