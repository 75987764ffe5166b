/**
 * Answers, streamed or whole, and their token figures: the strictest client of contract/gateway 12 takes what comes
 * out.
 */
import type {
  AssistantMessage,
  ChatDelta,
  ChatEvent,
  Completion,
  CompletionChoice,
  Logprobs,
  Usage,
} from '../../formats/canonical.js'
import {
  asCount,
  asList,
  asObject,
  type JsonObject,
  nonEmptyText,
  optionalMember,
  parseJson,
  UsageReader,
} from '../../formats/json-values.js'
import type { StreamDefect, StreamReader } from '../http/provider-exchange.js'
import {
  joinTextParts,
  joinThinkingParts,
  parseAnnotations,
  parseAudio,
  parseFinishReason,
  parseImages,
  parseLogprobs,
  parseReasoningDetails,
  parseToolCalls,
  ToolCallStream,
} from './answer-members.js'

/** Choices one answer may have; further ones are dropped. */
const MAX_CHOICES = 128

interface ChoiceState {
  finished: boolean
  readonly calls: ToolCallStream
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const TERMINATOR = '[DONE]'

export function isDone(data: string): boolean {
  return data.charCodeAt(0) === TERMINATOR.charCodeAt(0) && data.trim() === TERMINATOR
}

/** Turns chunks into events and remembers what the end needs. */
export class ChunkReader implements StreamReader<ChatEvent> {
  /** The last figures that came. */
  private usage: Usage | null = null
  private tier: string | null = null
  private readonly choices = new Map<number, ChoiceState>()

  constructor(
    private readonly generationId: string,
    private readonly event: (event: ChatEvent) => void,
  ) {}

  read(data: string, name: string): StreamDefect | 'end' | null {
    if (isDone(data)) return 'end'
    const chunk = asObject(parseJson(data))
    if (chunk === null) return { malformed: 'an event that is no JSON object' }
    if (chunk.error || name === 'error') return { error: chunk.error ?? chunk }
    this.readChunk(chunk)
    return null
  }

  /** A chunk that adds nothing (only a role, an empty text) tells nothing. */
  private readChunk(chunk: JsonObject): void {
    if (chunk.usage !== undefined || chunk.x_groq !== undefined)
      this.usage = updateChatUsage(this.usage, chunk)
    if (chunk.service_tier !== undefined) this.readTier(nonEmptyText(chunk.service_tier))
    const { choices } = chunk
    if (!Array.isArray(choices)) return
    for (let at = 0; at < choices.length; at++) {
      const choice = asObject(choices[at])
      if (choice !== null) this.readChoice(choice, asCount(choice.index) ?? at)
    }
  }

  private readTier(tier: string | undefined): void {
    if (tier === undefined || tier === this.tier) return
    this.tier = tier
    this.event({ type: 'tier', serviceTier: tier })
  }

  private readChoice(choice: JsonObject, index: number): void {
    const state = this.choiceState(index)
    if (state === null) return
    const delta = parseDelta(asObject(choice.delta) ?? asObject(choice.message), state.calls)
    const logprobs =
      choice.logprobs === undefined || choice.logprobs === null ? null : parseLogprobs(choice.logprobs)
    if (delta !== null || logprobs !== null) this.event(createDeltaEvent(index, delta ?? {}, logprobs))
    if (choice.finish_reason !== undefined && choice.finish_reason !== null)
      this.finishChoice(state, index, choice)
  }

  private choiceState(index: number): ChoiceState | null {
    const known = this.choices.get(index)
    if (known !== undefined) return known
    if (index >= MAX_CHOICES) return null
    const state = { finished: false, calls: new ToolCallStream(this.generationId) }
    this.choices.set(index, state)
    return state
  }

  /** Some servers repeat the reason in every later chunk. */
  private finishChoice(state: ChoiceState, index: number, choice: JsonObject): void {
    if (state.finished) return
    state.finished = true
    const { reason, native } = parseFinishReason(choice.finish_reason)
    this.event({
      type: 'finish',
      choice: index,
      reason,
      native: nonEmptyText(choice.native_finish_reason) ?? native,
    })
  }

  /** Tells the finish of choices whose server gave no reason. */
  close(): string | null {
    if (this.choices.size === 0) return 'a stream without a choice'
    for (const [index, state] of this.choices) {
      if (state.calls.hasUnnamedCall()) return 'a tool call without a name'
      if (!state.finished) this.event({ type: 'finish', choice: index, reason: 'stop', native: null })
      state.finished = true
    }
    const usage = this.usageBeforeFailure()
    if (usage !== null) this.event(usage)
    return null
  }

  usageBeforeFailure(): ChatEvent | null {
    return this.usage === null ? null : { type: 'usage', usage: this.usage }
  }
}

function createDeltaEvent(choice: number, delta: ChatDelta, logprobs: Logprobs | null): ChatEvent {
  return logprobs === null ? { type: 'delta', choice, delta } : { type: 'delta', choice, delta, logprobs }
}

function parseDelta(sent: JsonObject | null, calls: ToolCallStream): ChatDelta | null {
  if (sent === null) return null
  // The commonest chunk by far, and its server's ordinary members.
  const content = typeof sent.content === 'string' ? sent.content : (joinTextParts(sent.content) ?? '')
  const delta: Mutable<ChatDelta> = {}
  if (content !== '') delta.content = content
  const reasoning =
    nonEmptyText(sent.reasoning) ?? nonEmptyText(sent.reasoning_content) ?? joinThinkingParts(sent.content)
  if (reasoning !== undefined) delta.reasoning = reasoning
  const toolCalls = calls.addDelta(sent)
  if (toolCalls !== undefined) delta.tool_calls = toolCalls
  readRareMembers(sent, delta)
  for (const _ in delta) return delta
  return null
}

function readRareMembers(sent: JsonObject, delta: Mutable<ChatDelta>): void {
  if (sent.refusal !== undefined) setDefined(delta, 'refusal', nonEmptyText(sent.refusal))
  if (sent.reasoning_details !== undefined)
    setDefined(delta, 'reasoning_details', parseReasoningDetails(sent.reasoning_details))
  if (sent.audio !== undefined) setDefined(delta, 'audio', parseAudio(sent.audio))
  if (sent.images !== undefined) setDefined(delta, 'images', parseImages(sent.images))
  if (sent.annotations !== undefined) setDefined(delta, 'annotations', parseAnnotations(sent.annotations))
}

function setDefined<K extends keyof ChatDelta>(
  delta: Mutable<ChatDelta>,
  name: K,
  value: Mutable<ChatDelta>[K] | undefined,
): void {
  if (value !== undefined) delta[name] = value
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

// ── Token figures ────────────────────────────────────────────────────────────
// Converted to one rule: the prompt includes what was cached, the completion the reasoning. Nothing is priced twice.

/** The figures of an answer or a chunk; null when it holds none that can be believed. */
export function parseChatUsage(body: JsonObject): Usage | null {
  return updateChatUsage(null, body)
}

/** The figures of a stream after one more chunk: what it tells replaces what came before, also when it cannot be true. */
export function updateChatUsage(before: Usage | null, body: JsonObject): Usage | null {
  const told = asObject(body.usage) ?? asObject(asObject(body.x_groq)?.usage)
  if (told === null) return before
  const read = new UsageReader()
  const usage = convertFigures(told, read)
  if (!read.isPlausible) return null
  return usage ?? before
}

/** Figures under the names servers give them. Undefined is what was not said, or not as a count. */
interface TokenFigures {
  readonly prompt: number
  readonly completion: number
  readonly total: number | undefined
  readonly cached: number
  readonly cacheWrite: number
  readonly reasoning: number
  /** Names of the Messages format, whose input excludes what was cached. */
  readonly messagesNames: boolean
}

/** Details are parts of a sum and bounded by it: one that cannot be true counts as not told, and the sum is believed. */
function convertFigures(all: JsonObject, read: UsageReader): Usage | null {
  const inputs = asObject(all.prompt_tokens_details) ?? asObject(all.input_tokens_details)
  const outputs = asObject(all.completion_tokens_details) ?? asObject(all.output_tokens_details)
  const figures = readFigures(all, inputs, outputs, read)
  if (figures === null) return null
  const prompt = read.sum(totalPromptTokens(figures))
  const completion = read.sum(totalCompletionTokens(figures, prompt))
  const cached = Math.min(figures.cached, prompt)
  const parts = new UsageReader()
  return {
    prompt,
    completion,
    cached,
    cacheWrite: Math.min(figures.cacheWrite, prompt - cached),
    promptAudio: Math.min(parts.tokens(inputs?.audio_tokens) ?? 0, prompt),
    reasoning: Math.min(figures.reasoning, completion),
    completionAudio: Math.min(parts.tokens(outputs?.audio_tokens) ?? 0, completion),
  }
}

function readFigures(
  all: JsonObject,
  inputs: JsonObject | null,
  outputs: JsonObject | null,
  read: UsageReader,
): TokenFigures | null {
  const total = read.tokens(all.total_tokens)
  const prompt = read.tokens(all.prompt_tokens) ?? read.tokens(all.input_tokens)
  const completion =
    read.tokens(all.completion_tokens) ?? read.tokens(all.output_tokens) ?? remainingTokens(total, prompt)
  if (prompt === undefined || completion === undefined) return null
  const parts = new UsageReader()
  return {
    prompt,
    completion,
    total,
    cached:
      parts.tokens(inputs?.cached_tokens) ??
      read.tokens(all.prompt_cache_hit_tokens) ??
      read.tokens(all.cache_read_input_tokens) ??
      read.tokens(all.cached_tokens) ??
      0,
    cacheWrite:
      parts.tokens(inputs?.cache_write_tokens) ??
      parts.tokens(inputs?.cache_creation_tokens) ??
      read.tokens(all.cache_creation_input_tokens) ??
      0,
    reasoning: parts.tokens(outputs?.reasoning_tokens) ?? read.tokens(all.reasoning_tokens) ?? 0,
    messagesNames: all.prompt_tokens === undefined && inputs === null,
  }
}

/** An answer can be without a completion, a prompt cannot be guessed. */
function remainingTokens(total: number | undefined, prompt: number | undefined): number | undefined {
  return total === undefined || prompt === undefined || total < prompt ? undefined : total - prompt
}

/** The total decides when it is told, then the names; a cache larger than its prompt cannot be a part of it. */
function totalPromptTokens({
  prompt,
  completion,
  total,
  cached,
  cacheWrite,
  messagesNames,
}: TokenFigures): number {
  const beside = cached + cacheWrite
  if (beside === 0 || total === prompt + completion) return prompt + (messagesNames ? beside : 0)
  const excluded = messagesNames || total === prompt + beside + completion || beside > prompt
  return excluded ? prompt + beside : prompt
}

/** Some servers count the reasoning beside the completion; their total, or its size, gives them away. */
function totalCompletionTokens({ completion, total, reasoning }: TokenFigures, prompt: number): number {
  const excluded = reasoning > completion || (reasoning > 0 && total === prompt + completion + reasoning)
  return excluded ? completion + reasoning : completion
}
