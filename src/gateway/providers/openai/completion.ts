/** Members of a message, a delta or a choice, as the strictest client of contract/gateway 12 takes them. */
import type {
  AssistantMessage,
  ChatEvent,
  ChatFinish,
  Completion,
  CompletionChoice,
  FinishReason,
  Logprobs,
  ReasoningDetail,
  TokenLogprob,
} from '../../formats/canonical.js'
import {
  asCount,
  asList,
  asObject,
  type JsonObject,
  nonEmptyText,
  objectsIn,
  optionalMember,
} from '../../formats/json-values.js'
import { parseToolCalls } from './tool-calls.js'
import { parseChatUsage } from './usage.js'

// ── Content, which servers send as a text or as parts ──────────────────────────

/** Content that came as a text, or as a list of parts of which the text ones count. */
export function joinTextParts(value: unknown): string | undefined {
  if (!Array.isArray(value)) return nonEmptyText(value)
  return nonEmptyText(
    value.map((part) => (typeof part === 'string' ? part : partText(part, 'text'))).join(''),
  )
}

/** What the parts of kind `thinking` say, for servers that put reasoning into the content. */
export function joinThinkingParts(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined
  return nonEmptyText(value.map((part) => partText(part, 'thinking')).join(''))
}

function partText(part: unknown, kind: 'text' | 'thinking'): string {
  const members: JsonObject | null = asObject(part)
  if (members === null) return ''
  if (kind === 'text')
    return members.type === 'text' || members.type === 'output_text' ? (nonEmptyText(members.text) ?? '') : ''
  return members.type === 'thinking' ? (joinTextParts(members.thinking) ?? '') : ''
}

// ── Finish reasons (contract/gateway 3.2) ──────────────────────────────────────

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ...nativeReasons('stop', [
    'stop',
    'end_turn',
    'eos',
    'eos_token',
    'stop_sequence',
    'complete',
    'end',
    'normal',
  ]),
  ...nativeReasons('length', [
    'length',
    'max_tokens',
    'max_output_tokens',
    'max_length',
    'model_length',
    'token_limit',
  ]),
  ...nativeReasons('tool_calls', ['tool_calls', 'tool_call', 'tool_use', 'function_call']),
  ...nativeReasons('content_filter', [
    'content_filter',
    'content_filtered',
    'safety',
    'refusal',
    'recitation',
    'blocked',
  ]),
  ...nativeReasons('error', ['error', 'abort', 'aborted']),
])

function nativeReasons(
  reason: FinishReason,
  natives: readonly string[],
): readonly (readonly [string, FinishReason])[] {
  return natives.map((native) => [native, reason])
}

/** An unknown word is a stop: the answer did come to its end. */
export function parseFinishReason(value: unknown): ChatFinish {
  const native = typeof value === 'string' && value !== '' ? value : null
  return { reason: REASONS.get(native?.toLowerCase() ?? 'stop') ?? 'stop', native }
}

// ── Log probabilities, every member present (contract/gateway 3.2) ─────────────

/** Null when the server sent none. */
export function parseLogprobs(value: unknown): Logprobs | null {
  const members = asObject(value)
  if (members === null) return null
  const content = parseTokens(members.content)
  const refusal = parseTokens(members.refusal)
  return content === null && refusal === null ? null : { content, refusal }
}

function parseTokens(value: unknown): readonly TokenLogprob[] | null {
  return Array.isArray(value) ? value.flatMap((token) => parseToken(asObject(token)) ?? []) : null
}

function parseToken(members: JsonObject | null): TokenLogprob | null {
  const one = parseAlternative(members)
  if (one === null) return null
  return {
    ...one,
    top_logprobs: asList(members?.top_logprobs).flatMap((top) => parseAlternative(asObject(top)) ?? []),
  }
}

function parseAlternative(members: JsonObject | null): Omit<TokenLogprob, 'top_logprobs'> | null {
  if (members === null || typeof members.token !== 'string' || typeof members.logprob !== 'number')
    return null
  return { token: members.token, logprob: members.logprob, bytes: parseBytes(members.bytes) }
}

function parseBytes(value: unknown): readonly number[] | null {
  return Array.isArray(value) && value.every(Number.isInteger) ? value : null
}

type MemberCheck = (value: unknown) => boolean

const isText: MemberCheck = (value) => typeof value === 'string'
const isTextOrNull: MemberCheck = (value) => value === null || typeof value === 'string'
const isInteger: MemberCheck = Number.isSafeInteger

// ── Audio, images, annotations (contract/gateway 3.2) ───────────────────────

const AUDIO: Readonly<Record<string, MemberCheck>> = {
  id: isText,
  data: isText,
  transcript: isText,
  expires_at: isInteger,
}

/** What of an audio object is of its kind; undefined when nothing is. */
export function parseAudio(value: unknown): JsonObject | undefined {
  const sent = asObject(value)
  if (sent === null) return undefined
  const names = Object.keys(AUDIO).filter((name) => AUDIO[name]!(sent[name]))
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, sent[name]]))
}

/** The images that have a URL; undefined when there is none. */
export function parseImages(value: unknown): readonly JsonObject[] | undefined {
  return nonEmptyList(objectsIn(value).filter((image) => isText(asObject(image.image_url)?.url)))
}

/** The annotations that say what they are; undefined when there is none. */
export function parseAnnotations(value: unknown): readonly JsonObject[] | undefined {
  return nonEmptyList(objectsIn(value).filter((annotation) => isText(annotation.type)))
}

function nonEmptyList<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined
}

// ── Reasoning details (contract/gateway 3.5) ────────────────────────────────

interface DetailRule {
  /** Members without which the detail says nothing. */
  readonly required: Readonly<Record<string, MemberCheck>>
  /** Members that are left out where they do not fit. */
  readonly optional: Readonly<Record<string, MemberCheck>>
}

const COMMON = { id: isTextOrNull, format: isTextOrNull, index: isInteger } as const

const KINDS: ReadonlyMap<unknown, DetailRule> = new Map<unknown, DetailRule>([
  ['reasoning.text', { required: {}, optional: { ...COMMON, text: isTextOrNull, signature: isTextOrNull } }],
  ['reasoning.summary', { required: { summary: isText }, optional: COMMON }],
  ['reasoning.encrypted', { required: { data: isText }, optional: COMMON }],
  [
    'reasoning.server_tool_call',
    {
      required: { tool_name: isText, arguments: isText, result: isText },
      optional: { ...COMMON, tool_call_id: isTextOrNull },
    },
  ],
])

/** A kind that nobody knows yet is passed on, with what all kinds have in common in order. */
const UNKNOWN: DetailRule = { required: {}, optional: COMMON }

/** The details that fit their kind, with all members nobody knows; undefined when there is none. */
export function parseReasoningDetails(value: unknown): readonly ReasoningDetail[] | undefined {
  return nonEmptyList(objectsIn(value).flatMap((detail) => parseReasoningDetail(detail) ?? []))
}

function parseReasoningDetail(detail: JsonObject): ReasoningDetail | null {
  if (!isText(detail.type)) return null
  const { required, optional } = KINDS.get(detail.type) ?? UNKNOWN
  for (const name in required) if (!required[name]!(detail[name])) return null
  const odd = Object.keys(optional).filter(
    (name) => detail[name] !== undefined && !optional[name]!(detail[name]),
  )
  if (odd.length === 0) return detail as ReasoningDetail
  return Object.fromEntries(
    Object.entries(detail).filter(([name]) => !odd.includes(name)),
  ) as unknown as ReasoningDetail
}

// ── Whole answers (contract/gateway 3) ─────────────────────────────────────────

/** Null when the body holds no choice that can be read. */
export function parseCompletion(body: JsonObject, generationId: string): Completion | null {
  const choices = asList(body.choices).flatMap(
    (choice, at) => parseChoice(asObject(choice), at, generationId) ?? [],
  )
  if (choices.length === 0) return null
  return { choices, usage: parseChatUsage(body), serviceTier: nonEmptyText(body.service_tier) ?? null }
}

function parseChoice(choice: JsonObject | null, at: number, generationId: string): CompletionChoice | null {
  const message = asObject(choice?.message)
  if (choice === null || message === null) return null
  const { reason, native } = parseFinishReason(choice.finish_reason)
  return {
    index: asCount(choice.index) ?? at,
    message: parseAssistantMessage(message, generationId),
    finishReason: reason,
    native: nonEmptyText(choice.native_finish_reason) ?? native,
    logprobs: parseLogprobs(choice.logprobs),
  }
}

/** Members of a message that is a text and nothing else. */
const PLAIN_MEMBERS: ReadonlySet<string> = new Set(['role', 'content', 'refusal'])

function isPlainText(message: JsonObject): boolean {
  for (const name in message) if (!PLAIN_MEMBERS.has(name) && message[name] !== null) return false
  return typeof message.content === 'string'
}

function parseAssistantMessage(message: JsonObject, generationId: string): AssistantMessage {
  if (isPlainText(message)) {
    return {
      role: 'assistant',
      content: message.content as string,
      refusal: nonEmptyText(message.refusal) ?? null,
    }
  }
  const calls = parseToolCalls(message, generationId)
  return {
    role: 'assistant',
    content: joinTextParts(message.content) ?? (calls === undefined && message.content === '' ? '' : null),
    refusal: nonEmptyText(message.refusal) ?? null,
    ...optionalMember(
      'reasoning',
      nonEmptyText(message.reasoning) ??
        nonEmptyText(message.reasoning_content) ??
        joinThinkingParts(message.content),
    ),
    ...optionalMember('reasoning_details', parseReasoningDetails(message.reasoning_details)),
    ...optionalMember('tool_calls', calls),
    ...optionalMember('audio', parseAudio(message.audio)),
    ...optionalMember('images', parseImages(message.images)),
    ...optionalMember('annotations', parseAnnotations(message.annotations)),
  }
}

/** A whole answer as the events of a stream, for a server that does not stream when asked to. */
export function completionEvents(completion: Completion): readonly ChatEvent[] {
  const events: ChatEvent[] = []
  for (const choice of completion.choices) {
    const delta = messageDelta(choice.message)
    const logprobs = choice.logprobs === null ? {} : { logprobs: choice.logprobs }
    if (delta !== null) events.push({ type: 'delta', choice: choice.index, delta, ...logprobs })
    events.push({ type: 'finish', choice: choice.index, reason: choice.finishReason, native: choice.native })
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
