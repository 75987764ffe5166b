/** One chunk of a streamed answer as events: the strictest client of contract/gateway 12 takes what comes out. */
import type { Delta, InferenceEvent, Logprobs, Usage } from '../../formats/canonical.js'
import { countOf, type Members, objectOf, textOf } from '../../formats/shape.js'
import { finishOf } from './finish-reason.js'
import { logprobsOf } from './logprobs.js'
import { annotationsOf, audioOf, imagesOf, reasoningDetailsOf } from './rare-members.js'
import { contentOf, thinkingOf } from './shape.js'
import { ToolCallStream } from './tool-calls.js'
import { laterUsage } from './usage.js'

/** Choices one answer may have; further ones are dropped. */
const MAX_CHOICES = 128

interface Choice {
  finished: boolean
  readonly calls: ToolCallStream
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Turns chunks into events and remembers what the end needs. */
export class ChunkReader {
  /** The last figures that came. */
  usage: Usage | null = null
  private tier: string | null = null
  private readonly choices = new Map<number, Choice>()

  constructor(
    private readonly generationId: string,
    private readonly event: (event: InferenceEvent) => void,
  ) {}

  /** Tells what the chunk adds. A chunk that adds nothing (only a role, an empty text) tells nothing. */
  read(chunk: Members): void {
    if (chunk.usage !== undefined || chunk.x_groq !== undefined) this.usage = laterUsage(this.usage, chunk)
    if (chunk.service_tier !== undefined) this.readTier(textOf(chunk.service_tier))
    const { choices } = chunk
    if (!Array.isArray(choices)) return
    for (let at = 0; at < choices.length; at++) {
      const choice = objectOf(choices[at])
      if (choice !== null) this.readChoice(choice, countOf(choice.index) ?? at)
    }
  }

  private readTier(tier: string | undefined): void {
    if (tier === undefined || tier === this.tier) return
    this.tier = tier
    this.event({ type: 'tier', serviceTier: tier })
  }

  private readChoice(choice: Members, index: number): void {
    const state = this.stateOf(index)
    if (state === null) return
    const delta = deltaOf(objectOf(choice.delta) ?? objectOf(choice.message), state.calls)
    const logprobs =
      choice.logprobs === undefined || choice.logprobs === null ? null : logprobsOf(choice.logprobs)
    if (delta !== null || logprobs !== null) this.event(deltaEvent(index, delta ?? {}, logprobs))
    if (choice.finish_reason !== undefined && choice.finish_reason !== null) this.finish(state, index, choice)
  }

  private stateOf(index: number): Choice | null {
    const known = this.choices.get(index)
    if (known !== undefined) return known
    if (index >= MAX_CHOICES) return null
    const state = { finished: false, calls: new ToolCallStream(this.generationId) }
    this.choices.set(index, state)
    return state
  }

  /** Some servers repeat the reason in every later chunk. */
  private finish(state: Choice, index: number, choice: Members): void {
    if (state.finished) return
    state.finished = true
    const { reason, native } = finishOf(choice.finish_reason)
    this.event({
      type: 'finish',
      choice: index,
      reason,
      native: textOf(choice.native_finish_reason) ?? native,
    })
  }

  /**
   * The terminator has come: tells the finish of choices whose server gave no reason. What is missing for a proper
   * answer, in words for the log; null when nothing is.
   */
  close(): string | null {
    if (this.choices.size === 0) return 'a stream without a choice'
    for (const [index, state] of this.choices) {
      if (state.calls.unnamed()) return 'a tool call without a name'
      if (!state.finished) this.event({ type: 'finish', choice: index, reason: 'stop', native: null })
      state.finished = true
    }
    return null
  }
}

function deltaEvent(choice: number, delta: Delta, logprobs: Logprobs | null): InferenceEvent {
  return logprobs === null ? { type: 'delta', choice, delta } : { type: 'delta', choice, delta, logprobs }
}

function deltaOf(sent: Members | null, calls: ToolCallStream): Delta | null {
  if (sent === null) return null
  // The commonest chunk by far, and its server's ordinary members.
  const content = typeof sent.content === 'string' ? sent.content : (contentOf(sent.content) ?? '')
  const delta: Writable<Delta> = {}
  if (content !== '') delta.content = content
  const reasoning = textOf(sent.reasoning) ?? textOf(sent.reasoning_content) ?? thinkingOf(sent.content)
  if (reasoning !== undefined) delta.reasoning = reasoning
  const toolCalls = calls.next(sent)
  if (toolCalls !== undefined) delta.tool_calls = toolCalls
  readRare(sent, delta)
  for (const _ in delta) return delta
  return null
}

function readRare(sent: Members, delta: Writable<Delta>): void {
  if (sent.refusal !== undefined) set(delta, 'refusal', textOf(sent.refusal))
  if (sent.reasoning_details !== undefined)
    set(delta, 'reasoning_details', reasoningDetailsOf(sent.reasoning_details))
  if (sent.audio !== undefined) set(delta, 'audio', audioOf(sent.audio))
  if (sent.images !== undefined) set(delta, 'images', imagesOf(sent.images))
  if (sent.annotations !== undefined) set(delta, 'annotations', annotationsOf(sent.annotations))
}

function set<K extends keyof Delta>(
  delta: Writable<Delta>,
  name: K,
  value: Writable<Delta>[K] | undefined,
): void {
  if (value !== undefined) delta[name] = value
}
