/** One chunk of a streamed answer as events: the strictest client of contract/gateway 12 takes what comes out. */
import type { ChatDelta, ChatEvent, Logprobs, Usage } from '../../formats/canonical.js'
import { asCount, asObject, type JsonObject, nonEmptyText, parseJson } from '../../formats/json-values.js'
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
} from './completion.js'
import { ToolCallStream } from './tool-calls.js'
import { updateChatUsage } from './usage.js'

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
