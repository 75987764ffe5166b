/** Any server that speaks the chat completions of OpenAI. */
import { createHash } from 'node:crypto'
import { Fault } from '../../../base/fault.js'
import type {
  AssistantMessage,
  ChatEvent,
  ChatMessage,
  ChatRequest,
  Completion,
  ContentPart,
} from '../../formats/canonical.js'
import { nonEmptyText, optionalMember } from '../../formats/json-values.js'
import { accountFiles } from '../http/account-files.js'
import type { StreamFormat } from '../http/answer-format.js'
import {
  addExtraMembers,
  type HeaderPairs,
  ProviderServer,
  type ServerOptions,
  type WireObject,
} from '../http/server.js'
import { type Provider, type ProviderCall, requestedEffort } from '../port/provider.js'
import { ChunkReader, isDone, parseCompletion } from './answer-reader.js'
import { openAiSpeech, openAiTranscription } from './audio.js'
import { type CacheControlUse, defaultCacheControlUse, withMarksFor } from './cache-marks.js'
import { CHAT_MEDIA } from './chat-media.js'
import { openAiEmbeddings } from './embeddings.js'
import { OPENAI_FILES } from './files.js'
import { withPainters } from './images.js'
import { writePlainBody } from './plain-body.js'
import { openSpokenAnswers, type SealedIds, withSealedAnswers } from './spoken-answers.js'

const PATH = '/chat/completions'

const COMPLETION = { parse: parseCompletion, missing: 'a body without choices' }

const CHUNKS: StreamFormat<ChatEvent, Completion> = {
  createReader: (generationId, emit) => new ChunkReader(generationId, emit),
  isTerminator: isDone,
  document: COMPLETION,
  eventsOf: completionEvents,
  brokenBy: ({ choices }) => choices.find(({ error }) => error !== undefined)?.error ?? null,
}

interface OpenAiOptions extends ServerOptions {
  /** What becomes of `cache_control`; what suits the server when absent. */
  readonly cacheControl?: CacheControlUse | null
  /** For the ids of spoken answers; without it none can be handed back. */
  readonly sealedIds?: SealedIds
}

/** A provider that serves every model of one server. Throws a RangeError for a header it must not send. */
export function openAiProvider(options: OpenAiOptions): Provider {
  const credential: HeaderPairs =
    options.apiKey === null ? [] : [['authorization', `Bearer ${options.apiKey}`]]
  const server = new ProviderServer(options, credential, CHAT_MEDIA)
  const use = options.cacheControl ?? defaultCacheControlUse(options.baseUrl)
  const { sealedIds = null } = options
  const build = (stream: boolean) => (call: ProviderCall) => {
    const plain = writePlainBody(call, stream)
    if (plain !== null) return plain
    const messages = openSpokenAnswers(call, sealedIds)
    if (messages instanceof Fault) return messages
    if (messages === call.request.messages) return buildChatBody(call, stream, use)
    return buildChatBody({ ...call, request: { ...call.request, messages } }, stream, use)
  }
  const spoken = {
    stream: server.streamOperation(PATH, CHUNKS, build(true)),
    complete: server.documentOperation(PATH, COMPLETION, build(false)),
  }
  const chat = withPainters(spoken, server, completionEvents)
  return {
    ...(sealedIds === null ? chat : withSealedAnswers(chat, sealedIds)),
    speech: openAiSpeech(server),
    embeddings: openAiEmbeddings(server),
    transcription: openAiTranscription(server),
    files: accountFiles(server, OPENAI_FILES),
  }
}

/** A whole answer as the events of a stream, for a server that does not stream when asked to. */
function completionEvents(completion: Completion): readonly ChatEvent[] {
  const events: ChatEvent[] = []
  const { fingerprint } = completion
  if (fingerprint !== undefined) events.push({ type: 'fingerprint', fingerprint })
  for (const choice of completion.choices) {
    const delta = messageDelta(choice.message)
    const logprobs = choice.logprobs === null ? {} : { logprobs: choice.logprobs }
    if (delta !== null) events.push({ type: 'delta', choice: choice.index, delta, ...logprobs })
    const { index, finishReason: reason, native, stopSequence } = choice
    if (choice.error !== undefined) continue
    events.push({
      type: 'finish',
      choice: index,
      reason,
      native,
      ...optionalMember('stopSequence', stopSequence),
    })
  }
  if (completion.serviceTier !== null) events.push({ type: 'tier', serviceTier: completion.serviceTier })
  if (completion.usage !== null) events.push({ type: 'usage', usage: completion.usage })
  return events
}

function messageDelta({ role: _, content, refusal, reasoning, tool_calls, ...rest }: AssistantMessage) {
  const delta = {
    ...optionalMember('content', nonEmptyText(content)),
    ...optionalMember('refusal', nonEmptyText(refusal)),
    ...optionalMember('reasoning', nonEmptyText(reasoning)),
    ...optionalMember(
      'tool_calls',
      tool_calls?.map((call, index) => ({ index, ...call })),
    ),
    ...rest,
  }
  return Object.keys(delta).length > 0 ? delta : null
}

// ── The body of a call ───────────────────────────────────────────────────────
// Built from an allow-list, so that a member of the request which is meant for the gateway alone, or names a person
// or a session, cannot slip through (contract/gateway 2.1).

/**
 * Members that go as they are. Absent on purpose, because the gateway acts on them: `provider`, `route`, `model`,
 * `models`, `plugins`, `stop_server_tools_when`, `max_tool_calls`, `debug`, `stream`, `stream_options`,
 * `structured_outputs`; because they
 * identify: `user`, `session_id`, `trace`, `metadata`, `prompt_cache_key`; because they are built below: `messages`,
 * `max_tokens`, `reasoning`, `reasoning_effort`, `service_tier`.
 */
const FORWARDED_MEMBERS: ReadonlySet<string> = new Set([
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'top_a',
  'min_p',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'seed',
  'stop',
  'modalities',
  'audio',
  'image_config',
  'prediction',
  'response_format',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'cache_control',
  'prompt_cache_options',
  'verbosity',
  'include_reasoning',
] as const satisfies readonly (keyof ChatRequest)[])

/** The body for a call. Members that are null are left out: to an older server null is a wrong type. */
export function buildChatBody(
  call: ProviderCall,
  stream: boolean,
  use: CacheControlUse = 'as_sent',
): WireObject {
  const request = withMarksFor(call, use)
  const body: WireObject = {
    model: call.endpoint.upstreamModel,
    messages: wireMessages(request.messages),
    stream,
  }
  if (stream) body.stream_options = { include_usage: true }
  // Over what was sent, which is little, and not over what may be sent.
  for (const name in request) {
    if (!FORWARDED_MEMBERS.has(name)) continue
    const value = request[name as keyof ChatRequest]
    if (value !== undefined && value !== null) body[name] = value
  }
  setTokenLimit(body, request)
  setReasoning(body, call)
  if (typeof request.prompt_cache_key === 'string')
    body.prompt_cache_key = hashCacheKey(call.caller.organizationId, request.prompt_cache_key)
  if (call.serviceTier !== undefined) body.service_tier = call.serviceTier
  body.user = call.endUser
  return addExtraMembers(body, request)
}

/** Servers refuse both names together; the newer one wins (contract/gateway 2.1). */
function setTokenLimit(body: WireObject, request: ChatRequest): void {
  const limit = request.max_tokens
  if (limit !== undefined && limit !== null && body.max_completion_tokens === undefined)
    body.max_tokens = limit
}

/** Every compatible server knows `reasoning_effort`; `reasoning` goes only when it says more than the effort. */
function setReasoning(body: WireObject, { request, endpoint, droppedFields }: ProviderCall): void {
  const { reasoning } = request
  const effort = requestedEffort(request)
  if (effort !== undefined && effort !== null) body.reasoning_effort = effort
  if (reasoning === undefined || reasoning === null) return
  const rest = pickAllowed(reasoning, REASONING_MEMBERS)
  if (Object.keys(rest).length === 0) return
  const { supportedParameters } = endpoint
  if (supportedParameters.has('reasoning')) body.reasoning = effort ? { ...rest, effort } : rest
  else for (const name in rest) if (name !== 'exclude') droppedFields.push(`reasoning.${name}`)
}

const REASONING_MEMBERS: ReadonlySet<string> = new Set(['summary', 'max_tokens', 'exclude', 'enabled'])

/**
 * A cache key is the caller's own word and may name a person or a session. Equal keys of one organization stay equal;
 * those of two differ, so that nobody finds out by a cache what others ask.
 */
function hashCacheKey(organizationId: string, key: string): string {
  return createHash('sha256').update(`cache\n${organizationId}\n${key}`).digest('base64url').slice(0, 32)
}

// ── Messages ────────────────────────────────────────────────────────────────

const NAMED_MESSAGE_MEMBERS: ReadonlySet<string> = new Set(['role', 'content', 'name'])

const MESSAGE_MEMBERS: Readonly<Record<ChatMessage['role'], ReadonlySet<string>>> = {
  system: NAMED_MESSAGE_MEMBERS,
  developer: NAMED_MESSAGE_MEMBERS,
  user: NAMED_MESSAGE_MEMBERS,
  assistant: new Set([
    ...NAMED_MESSAGE_MEMBERS,
    'refusal',
    'tool_calls',
    'audio',
    'images',
    'reasoning',
    'reasoning_details',
  ]),
  tool: new Set(['role', 'content', 'tool_call_id']),
}

const CACHE_MARKS = ['cache_control', 'prompt_cache_breakpoint']

const PART_MEMBERS: Readonly<Record<ContentPart['type'], ReadonlySet<string>>> = {
  text: new Set(['type', 'text', ...CACHE_MARKS]),
  image_url: new Set(['type', 'image_url', ...CACHE_MARKS]),
  input_audio: new Set(['type', 'input_audio', ...CACHE_MARKS]),
  video_url: new Set(['type', 'video_url', ...CACHE_MARKS]),
  input_video: new Set(['type', 'video_url', ...CACHE_MARKS]),
  file: new Set(['type', 'file', ...CACHE_MARKS]),
}

function wireMessages(messages: readonly ChatMessage[]): unknown[] {
  return messages.map(wireMessage)
}

function wireMessage(message: ChatMessage): unknown {
  const { content } = message
  const wire = pickAllowed(message, MESSAGE_MEMBERS[message.role])
  if (Array.isArray(content)) return { ...wire, content: (content as readonly ContentPart[]).map(wirePart) }
  // Servers want the member, also where there is only a tool call.
  return content === undefined || content === null ? { ...wire, content: null } : wire
}

function wirePart(part: ContentPart): unknown {
  return pickAllowed(part, PART_MEMBERS[part.type])
}

/** The object with the allowed members that are not null: itself, when that is all it has. */
function pickAllowed(object: object, allowed: ReadonlySet<string>): WireObject {
  const all = object as WireObject
  for (const name in all) if (!allowed.has(name) || all[name] === null) return copyAllowed(all, allowed)
  return all
}

function copyAllowed(all: WireObject, allowed: ReadonlySet<string>): WireObject {
  const some: WireObject = {}
  for (const name of allowed) {
    const value = all[name]
    if (value !== undefined && value !== null) some[name] = value
  }
  return some
}
