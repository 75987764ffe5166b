/**
 * The golden corpus: every conversation in both directions, streamed and whole, over real sockets and the real
 * providers. Each request and each answer is held against the schema of its format.
 */
import { type Test, test } from 'tap'
import { z } from 'zod'
import { decodeChat } from '../../../src/features/chat/decode.js'
import { ChunkEncoder, encodeCompletion } from '../../../src/features/chat/encode.js'
import { ChatCompletion, ChatCompletionChunk } from '../../../src/features/chat/response-schema.js'
import { chatBody } from '../../../src/features/chat/schema.js'
import type { ChatEvent, ChatRequest, Completion } from '../../../src/gateway/formats/canonical.js'
import type { MessagesAnswer, MessagesRequest } from '../../../src/gateway/formats/messages.js'
import type { Generation } from '../../../src/gateway/run/generation.js'
import { messagesOverChat } from '../../../src/gateway/translation/messages-over-chat.js'
import { assembledCompletion, evenly } from '../../support/clients/chat-assembled.js'
import {
  assembledMessage,
  messagesCall,
  streamedMessages,
  wholeMessage,
} from '../../support/clients/messages-face-calls.js'
import {
  completion,
  GENERATION,
  openAiBench,
  providerCall,
  streamed,
} from '../../support/clients/openai-calls.js'
import { anthropicBench, speaking } from '../../support/providers/mock-anthropic.js'
import type { Script } from '../../support/providers/mock-upstream.js'
import { usage } from '../../support/providers/scripted-provider.js'
import { messagesAnswer, messagesRequestBody, streamFaults } from '../../support/schemas/messages-schemas.js'
import { ANSWERS, type Said } from './corpus/answers.js'
import { BLOCKS } from './corpus/blocks.js'
import { CACHING } from './corpus/caching.js'
import { type Conversation, HI } from './corpus/conversation.js'
import { MEDIA } from './corpus/media.js'
import { PLAIN } from './corpus/plain.js'
import { THINKING } from './corpus/thinking.js'
import { TOOLS } from './corpus/tools.js'

const asking = <T>(side: T): T => ({ messages: HI, ...side })
const CORPUS = [...PLAIN, ...CACHING, ...BLOCKS, ...MEDIA, ...TOOLS, ...THINKING].map(
  ({ forth, back, ...one }: Conversation) => ({
    answer: 'text',
    ...one,
    chat: asking(one.chat),
    messages: asking(one.messages ?? (one.chat as Partial<MessagesRequest>)),
    forth: forth && asking(forth),
    back: back && asking(back),
  }),
)
const LIMIT = { max_tokens: 100 }
const BEFORE = { model: 'their-name', metadata: { user_id: 'hashed-user' } }
/** Cached and written tokens are part of our prompt and stand beside theirs. */
const FIGURES = usage(40, 5, { cached: 20, cacheWrite: 10 })
const THEIRS = {
  input_tokens: 10,
  output_tokens: 5,
  cache_read_input_tokens: 20,
  cache_creation_input_tokens: 10,
  service_tier: 'standard',
}
const OPENAI_FIGURES = {
  prompt_tokens: 40,
  completion_tokens: 5,
  total_tokens: 45,
  prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 10 },
}

function fits(t: Test, schema: z.ZodType, value: unknown, what: string): void {
  const read = schema.safeParse(value)
  t.ok(read.success, read.success ? what : `${what}: ${z.prettifyError(read.error)}`)
}

test('the corpus has at least sixty conversations, each of its own name, and uses every answer', async (t) => {
  t.ok(CORPUS.length >= 60, `${CORPUS.length} conversations`)
  t.equal(new Set(CORPUS.map(({ name }) => name)).size, CORPUS.length)
  t.same(
    Object.keys(ANSWERS).filter((name) => !CORPUS.some(({ answer }) => answer === name)),
    [],
  )
})

// ── Chat callers, a messages provider ───────────────────────────────────────

function expectedCompletion({ message, finish, stopSequence }: Said, native: string): Completion {
  return {
    choices: [
      {
        index: 0,
        message: { role: 'assistant', refusal: null, ...message },
        finishReason: finish,
        native,
        ...(stopSequence !== undefined && { stopSequence }),
        logprobs: null,
      },
    ],
    usage: FIGURES,
    serviceTier: 'default',
  }
}

for (const { name, chat, messages, forth, lost, answer } of CORPUS) {
  test(`chat over messages: ${name}`, async (t) => {
    const pair = ANSWERS[answer]!
    const body = { model: 'vendor/name', ...('max_completion_tokens' in chat ? {} : LIMIT), ...chat }
    const request = decodeChat(chatBody.parse(structuredClone(body)), '')
    const extra = { serviceTier: request.service_tier ?? undefined }
    const { mock, provider } = await anthropicBench(t, speaking({ ...pair.messages, usage: THEIRS }, 5))

    const call = providerCall(request, { ...extra, droppedFields: [] })
    const whole = await completion(provider, call)
    t.strictSame(
      evenly(whole),
      evenly(expectedCompletion(pair.heardAsChat ?? pair.chat, pair.messages.stop_reason)),
    )
    t.same([...call.droppedFields].sort(), [...(lost?.toMessages ?? [])].sort())

    const stream = streamed(provider, providerCall({ ...request, stream: true }, extra))
    t.equal(await stream.end.opened, 'ended')
    t.strictSame(evenly(assembledCompletion(stream.events)), evenly(whole))

    for (const [at, sent] of mock.requests.map((one) => JSON.parse(one.body) as object).entries()) {
      fits(t, messagesRequestBody, sent, 'the request is one of messages')
      t.strictSame(sent, { ...BEFORE, ...LIMIT, ...(forth ?? messages), stream: at === 1 })
    }
    heardByChat(t, request, whole, stream.events)
  })
}

/** What a caller of chat reads. */
function heardByChat(t: Test, request: ChatRequest, whole: Completion, events: readonly ChatEvent[]): void {
  const cost = { prompt: 0, completion: 0, total: 0, tools: 0 }
  const generation = {
    id: GENERATION,
    created: 1,
    model: 'vendor/name',
    providerName: 'Their Display',
    served: {},
    request,
    serviceTier: null,
    consumption: { usage: FIGURES, cost, estimated: false },
  } as unknown as Generation
  fits(t, ChatCompletion, JSON.parse(encodeCompletion(generation, whole, null)), 'the answer is one of chat')
  const encoder = new ChunkEncoder(generation)
  const told = events.flatMap((event) =>
    event.type === 'delta' || event.type === 'finish' ? [encoder.event(event)] : [],
  )
  const chunks = [...told, encoder.end(null)]
    .join('')
    .split('\n\n')
    .filter((text) => text !== '')
  t.equal(chunks.pop(), 'data: [DONE]')
  for (const chunk of chunks) fits(t, ChatCompletionChunk, JSON.parse(chunk.slice(6)), 'a chunk of chat')
}

// ── Messages callers, a chat provider ───────────────────────────────────────

/** Says it as an OpenAI-compatible server does, in small pieces. */
function sayingChat({ message, finish, stopSequence: stop_reason }: Said): Script {
  const head = { id: 'chatcmpl-1', created: 1, model: 'their-name' }
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason, ...(finish_reason && { stop_reason }) }],
  })
  return (peer, { body }) => {
    if ((JSON.parse(body) as { stream: boolean }).stream) {
      const last = { ...head, object: 'chat.completion.chunk', choices: [], usage: OPENAI_FIGURES }
      peer.stream([...deltas(message).map((delta) => chunk(delta)), chunk({}, finish), last])
    } else {
      const said = { role: 'assistant', ...message }
      const choices = [{ index: 0, message: said, finish_reason: finish, stop_reason }]
      peer.json({ ...head, object: 'chat.completion', choices, usage: OPENAI_FIGURES })
    }
  }
}

function deltas({
  content,
  reasoning,
  reasoning_details = [],
  tool_calls = [],
  refusal,
  annotations,
}: Said['message']): object[] {
  const pieces = (text: string | null | undefined): string[] => text?.match(/.{1,3}/gsu) ?? []
  const spoken = reasoning_details.length > 0 ? [] : pieces(reasoning).map((text) => ({ reasoning: text }))
  return [
    { role: 'assistant', content: '' },
    ...spoken,
    ...reasoning_details.flatMap(({ text, signature, ...rest }) => [
      ...pieces(text as string).map((piece) => ({
        reasoning: piece,
        reasoning_details: [{ ...rest, text: piece }],
      })),
      { reasoning_details: [signature === undefined ? rest : { ...rest, signature }] },
    ]),
    ...pieces(content).map((text) => ({ content: text })),
    ...(annotations === undefined ? [] : annotations.map((one) => ({ annotations: [one] }))),
    ...pieces(refusal).map((text) => ({ refusal: text })),
    ...tool_calls.flatMap(({ id, type, function: { name, arguments: text } }, index) => [
      { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
      ...pieces(text).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ]
}

function expectedMessage({
  content,
  stop_reason,
  stop_sequence = null,
  stop_details = null,
}: (typeof ANSWERS)[string]['messages']): MessagesAnswer {
  const refused = { type: 'refusal', category: null, explanation: null }
  return {
    content,
    stop: {
      stop_reason,
      stop_sequence,
      stop_details:
        stop_reason === 'refusal' ? ((stop_details ?? refused) as object as Record<string, unknown>) : null,
      container: null,
    },
    usage: FIGURES,
    wireUsage: null,
  }
}

for (const { name, chat, messages, back, lost, answer } of CORPUS) {
  test(`messages over chat: ${name}`, async (t) => {
    const pair = ANSWERS[answer]!
    const { mock, provider } = await openAiBench(t, sayingChat(pair.chat))
    const face = messagesOverChat(provider)
    const request = { model: 'vendor/name', ...LIMIT, ...messages } as MessagesRequest

    const call = messagesCall(request)
    const whole = (await wholeMessage(face, call)) as MessagesAnswer
    t.strictSame(whole, expectedMessage(pair.heardAsMessages ?? pair.messages))
    fits(t, messagesAnswer, whole, 'the answer is one of messages')
    t.same([...call.droppedFields].sort(), [...(lost?.toChat ?? [])].sort())

    const stream = streamedMessages(face, messagesCall({ ...request, stream: true }))
    t.equal(await stream.end.opened, 'ended')
    t.strictSame(assembledMessage(stream.events), whole)
    t.same(streamFaults(stream.events), [])

    t.equal(mock.requests.length, 2)
    const crossed = translated(messages)
    const expected = { model: 'vendor/name', ...LIMIT, ...(back ?? chat) }
    t.strictSame(crossed, expected)
    // What the caller of chat may send, our translation may send as well.
    t.strictSame(decodeChat(chatBody.parse(structuredClone(crossed)), ''), crossed)
  })
}

/** The chat request that a messages request becomes. */
function translated(messages: Partial<MessagesRequest>): ChatRequest {
  let crossed: ChatRequest | undefined
  const flow = { pause: () => {}, resume: () => {}, cancel: () => {} }
  const face = messagesOverChat({
    stream: () => flow,
    complete: (call) => {
      crossed = call.request
      return flow
    },
  })
  face.complete(messagesCall(messages), {
    onEnd: () => {},
    onFailure: ({ fault }) => {
      throw fault
    },
  })
  if (crossed === undefined) throw new Error('the request did not cross')
  return crossed
}
