/** Answers, streamed or whole: the strictest client of contract/gateway 12 takes what comes out. */
import type { Fault } from '../../../base/fault.js'
import { RepeatedEvent } from '../../../upstream/repeated-event.js'
import type {
  AssistantMessage,
  ChatDelta,
  ChatEvent,
  Completion,
  CompletionChoice,
  Usage,
} from '../../formats/canonical.js'
import {
  asCount,
  asList,
  asObject,
  type JsonObject,
  nonEmptyText,
  objectsIn,
  parseJsonAnswer,
} from '../../formats/json-values.js'
import type { StreamDefect, StreamReader } from '../http/answer-format.js'
import { choiceError, parseFingerprint, parseFinish } from './answer-finish.js'
import {
  parseAnnotations,
  parseAudio,
  parseImages,
  parseLogprobs,
  parseReasoningDetails,
  parseToolCalls,
  ToolCallStream,
} from './answer-members.js'
import { parseChatUsage, updateChatUsage } from './usage.js'

/** Choices one answer may have; further ones are dropped. */
const MAX_CHOICES = 128

interface ChoiceState {
  finished: boolean
  /** Null before the first of them. */
  calls: ToolCallStream | null
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const TERMINATOR = '[DONE]'

export function isDone(data: string): boolean {
  return data.charCodeAt(0) === TERMINATOR.charCodeAt(0) && data.trim() === TERMINATOR
}

/** Members that hold the pieces of a text, by the names of servers, and the text that stands for any other. */
const TEXT_MEMBERS = ['content', 'reasoning_content', 'reasoning']
const PROBE = 'probe'

/** Turns chunks into events and remembers what the end needs. */
export class ChunkReader implements StreamReader<ChatEvent> {
  /** The last figures that came. */
  private usage: Usage | null = null
  private tier: string | null = null
  private hasFingerprint = false
  /** The error of a choice that broke off. */
  private error: unknown = null
  private readonly choices = new Map<number, ChoiceState>()
  /** What a chunk of the form that was asked for last adds to. */
  private repeated: { readonly choice: number; readonly member: 'content' | 'reasoning' } | null = null

  constructor(
    private readonly generationId: string,
    private readonly event: (event: ChatEvent) => void,
  ) {}

  read(data: string, name: string): StreamDefect | 'end' | null {
    if (isDone(data)) return 'end'
    const chunk = asObject(parseJsonAnswer(data))
    if (chunk === null) return { malformed: 'an event that is no JSON object' }
    if (chunk.error || name === 'error') return { error: chunk.error ?? chunk }
    this.readChunk(chunk)
    return this.error === null ? null : { error: this.error }
  }

  formOf(data: string, name: string): RepeatedEvent | null {
    for (const member of TEXT_MEMBERS) {
      const form = RepeatedEvent.of(name, data, member)
      if (form === null) continue
      this.repeated = this.readProbe(form.dataWith(PROBE), name)
      return this.repeated === null ? null : form
    }
    return null
  }

  /**
   * What a chunk adds its text to, where it does nothing else: read by a reader that has read nothing. What the chunk
   * says besides, this one has read already, and does not take note of a second time.
   */
  private readProbe(data: string, name: string): ChunkReader['repeated'] {
    const events: ChatEvent[] = []
    const reader = new ChunkReader(this.generationId, (event) => events.push(event))
    if (reader.read(data, name) !== null) return null
    const [said, ...more] = events.filter(({ type }) => type !== 'tier' && type !== 'fingerprint')
    if (said?.type !== 'delta' || said.logprobs !== undefined || more.length > 0) return null
    const { choice, delta } = said
    const member = delta.content === PROBE ? 'content' : 'reasoning'
    if (delta[member] !== PROBE || Object.keys(delta).length > 1 || !this.choices.has(choice)) return null
    for (const { calls } of reader.choices.values()) if (calls?.hasUnnamedCall() === true) return null
    return { choice, member }
  }

  readRepeated({ text }: RepeatedEvent): void {
    if (text === '') return
    const { choice, member } = this.repeated!
    const delta = member === 'content' ? { content: text } : { reasoning: text }
    this.event({ type: 'delta', choice, delta })
  }

  /** A chunk that adds nothing (only a role, an empty text) tells nothing. */
  private readChunk(chunk: JsonObject): void {
    if (chunk.usage !== undefined || chunk.x_groq !== undefined)
      this.usage = updateChatUsage(this.usage, chunk)
    if (chunk.service_tier !== undefined) this.readTier(nonEmptyText(chunk.service_tier))
    if (!this.hasFingerprint && typeof chunk.system_fingerprint === 'string') this.readFingerprint(chunk)
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

  private readFingerprint(chunk: JsonObject): void {
    this.hasFingerprint = true
    const fingerprint = parseFingerprint(chunk)
    if (fingerprint !== undefined) this.event({ type: 'fingerprint', fingerprint })
  }

  private readChoice(choice: JsonObject, index: number): void {
    const state = this.choiceState(index)
    if (state === null) return
    const delta = this.parseDelta(asObject(choice.delta) ?? asObject(choice.message), state)
    const logprobs =
      choice.logprobs === undefined || choice.logprobs === null ? null : parseLogprobs(choice.logprobs)
    if (logprobs !== null) this.event({ type: 'delta', choice: index, delta: delta ?? {}, logprobs })
    else if (delta !== null) this.event({ type: 'delta', choice: index, delta })
    if (choice.finish_reason !== undefined && choice.finish_reason !== null && !state.finished) {
      // Some servers repeat the reason in every later chunk.
      state.finished = true
      const finish = parseFinish(choice)
      if (finish.reason === 'error') this.error = choiceError(choice)
      else this.event({ type: 'finish', choice: index, ...finish })
    }
  }

  private choiceState(index: number): ChoiceState | null {
    const known = this.choices.get(index)
    if (known !== undefined) return known
    if (index >= MAX_CHOICES) return null
    const state: ChoiceState = { finished: false, calls: null }
    this.choices.set(index, state)
    return state
  }

  private parseDelta(sent: JsonObject | null, state: ChoiceState): ChatDelta | null {
    if (sent === null) return null
    const delta: Mutable<ChatDelta> = {}
    const content = joinTextParts(sent.content)
    if (content !== undefined) delta.content = content
    readMembers(sent, delta)
    if (sent.tool_calls !== undefined || sent.function_call !== undefined) {
      state.calls ??= new ToolCallStream(this.generationId)
      setDefined(delta, 'tool_calls', state.calls.addDelta(sent))
    }
    if (sent.refusal !== undefined) setDefined(delta, 'refusal', nonEmptyText(sent.refusal))
    for (const _ in delta) return delta
    return null
  }

  /** Tells the finish of choices whose server gave no reason. */
  close(): string | null {
    if (this.choices.size === 0) return 'a stream without a choice'
    for (const [index, state] of this.choices) {
      if (state.calls?.hasUnnamedCall() === true) return 'a tool call without a name'
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

// ── What deltas and whole messages have in common ───────────────────────────────

/** Content that came as a text, or as a list of parts of which the text ones count. */
function joinTextParts(value: unknown): string | undefined {
  if (!Array.isArray(value)) return nonEmptyText(value)
  return nonEmptyText(value.map(partText).join(''))
}

function partText(part: unknown): string {
  if (typeof part === 'string') return part
  const members = asObject(part)
  const isText = members?.type === 'text' || members?.type === 'output_text'
  return isText ? (nonEmptyText(members.text) ?? '') : ''
}

/** Reasoning by its members, or in parts of the content. */
function joinReasoning({ reasoning, reasoning_content, content }: JsonObject): string | undefined {
  const told = nonEmptyText(reasoning) ?? nonEmptyText(reasoning_content)
  if (told !== undefined || !Array.isArray(content)) return told
  const parts = objectsIn(content).filter(({ type }) => type === 'thinking')
  return nonEmptyText(parts.map(({ thinking }) => joinTextParts(thinking) ?? '').join(''))
}

type CommonMembers = Omit<ChatDelta, 'content' | 'refusal' | 'tool_calls'>

function readMembers(sent: JsonObject, said: Mutable<CommonMembers>): void {
  setDefined(said, 'reasoning', joinReasoning(sent))
  if (sent.reasoning_details !== undefined)
    setDefined(said, 'reasoning_details', parseReasoningDetails(sent.reasoning_details))
  if (sent.audio !== undefined) setDefined(said, 'audio', parseAudio(sent.audio))
  if (sent.images !== undefined) setDefined(said, 'images', parseImages(sent.images))
  if (sent.annotations !== undefined) setDefined(said, 'annotations', parseAnnotations(sent.annotations))
}

function setDefined<K extends keyof ChatDelta>(
  said: Mutable<ChatDelta>,
  name: K,
  value: Mutable<ChatDelta>[K] | undefined,
): void {
  if (value !== undefined) said[name] = value
}

// ── Whole answers (contract/gateway 3) ─────────────────────────────────────────

/** Null when the body holds no choice that can be read; the fault of an answer that broke off before it said anything. */
export function parseCompletion(
  body: JsonObject,
  generationId: string,
  faultOf: (error: unknown) => Fault,
): Completion | Fault | null {
  const choices: CompletionChoice[] = []
  const sent = asList(body.choices)
  for (let at = 0; at < sent.length; at++) {
    const choice = parseChoice(asObject(sent[at]), at, generationId, faultOf)
    if (choice?.error !== undefined && isEmpty(choice.message)) return choice.error
    if (choice !== null) choices.push(choice)
  }
  if (choices.length === 0) return null
  const serviceTier = nonEmptyText(body.service_tier) ?? null
  const fingerprint = parseFingerprint(body)
  const usage = parseChatUsage(body)
  return fingerprint === undefined
    ? { choices, usage, serviceTier }
    : { choices, usage, serviceTier, fingerprint }
}

function parseChoice(
  choice: JsonObject | null,
  at: number,
  generationId: string,
  faultOf: (error: unknown) => Fault,
): CompletionChoice | null {
  const message = asObject(choice?.message)
  if (choice === null || message === null) return null
  const { reason: finishReason, native, stopSequence } = parseFinish(choice)
  const read: Mutable<CompletionChoice> = {
    index: asCount(choice.index) ?? at,
    message: parseAssistantMessage(message, generationId),
    finishReason,
    native,
    logprobs: parseLogprobs(choice.logprobs),
  }
  if (stopSequence !== undefined) read.stopSequence = stopSequence
  if (finishReason === 'error') read.error = faultOf(choiceError(choice))
  return read
}

function isEmpty({ role: _, ...said }: AssistantMessage): boolean {
  return Object.values(said).every((value) => value === null || value === '')
}

function parseAssistantMessage(sent: JsonObject, generationId: string): AssistantMessage {
  const calls = parseToolCalls(sent, generationId)
  const message: Mutable<AssistantMessage> = {
    role: 'assistant',
    content: joinTextParts(sent.content) ?? (calls === undefined && sent.content === '' ? '' : null),
    refusal: nonEmptyText(sent.refusal) ?? null,
  }
  readMembers(sent, message as Mutable<CommonMembers>)
  if (calls !== undefined) message.tool_calls = calls
  return message
}
