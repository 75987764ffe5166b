import type {
  AssistantMessage,
  ChatEvent,
  Completion,
  FinishReason,
  ReasoningDetail,
  TokenLogprob,
  ToolCall,
  Usage,
} from '../../gateway/formats/canonical.js'
import { RANDOM_LANE, type RandomSeed, SeededRandom } from '../random.js'
import { LogprobGenerator } from './logprobs.js'
import { ProseGenerator } from './prose.js'

/** A tool call whose arguments are cut into tokens already. */
export interface PlannedToolCall {
  readonly id: string
  readonly name: string
  readonly argumentTokens: readonly string[]
}

/** Everything an answer will be, decided before its first token. */
export interface PlannedAnswer {
  readonly seed: RandomSeed
  /** Tokens of reasoning, told or kept. */
  readonly reasoningTokens: number
  readonly showsReasoning: boolean
  /** The tokens of the text when they are known beforehand; null for prose, which is made up as it goes. */
  readonly fixedTokens: readonly string[] | null
  /** Length the prose would have without a limit: its last sentence ends there. */
  readonly proseLength: number
  /** Tokens of text that are told. */
  readonly textTokens: number
  readonly toolCalls: readonly PlannedToolCall[]
  readonly finishReason: FinishReason
  /** The stop sequence that ended the text, unless something else did before. */
  readonly stopSequence: string | null
  /** Alternatives per token, or null when log probabilities were not asked for. */
  readonly topLogprobs: number | null
  readonly usage: Usage
  readonly serviceTier: string | null
}

/**
 * Tells one answer, either token by token or whole. Both say exactly the same.
 *
 * Order: reasoning, text, tool calls. A tool call takes one step for its name and one for each piece of its
 * arguments.
 */
export class AnswerGenerator {
  readonly answer: PlannedAnswer
  /** Steps of a stream; reasoning that is not told is none. */
  readonly stepCount: number
  #thoughts: ProseGenerator | null = null
  #words: ProseGenerator | null = null
  #logprobs: LogprobGenerator | null = null
  #told = 0
  #call = 0
  /** Piece of the current call that comes next; -1 for its name. */
  #piece = -1

  constructor(answer: PlannedAnswer) {
    this.answer = answer
    let stepCount = answer.textTokens + (answer.showsReasoning ? answer.reasoningTokens : 0)
    for (const call of answer.toolCalls) stepCount += 1 + call.argumentTokens.length
    this.stepCount = stepCount
  }

  /** Steps told so far. */
  get stepsDone(): number {
    return this.#told
  }

  get finished(): boolean {
    return this.#told >= this.stepCount
  }

  /** The next token; to be called `steps` times at most. */
  nextEvent(): ChatEvent {
    const { answer } = this
    const thoughts = answer.showsReasoning ? answer.reasoningTokens : 0
    const at = this.#told++
    if (at < thoughts) return this.#nextReasoningToken()
    if (at < thoughts + answer.textTokens) return this.#nextTextToken(at - thoughts)
    return this.#nextToolCallDelta()
  }

  /** The whole answer at once. */
  toCompletion(): Completion {
    const { answer } = this
    const logprobs = this.#allLogprobs()
    return {
      choices: [
        {
          index: 0,
          message: this.#toMessage(logprobs),
          finishReason: answer.finishReason,
          native: answer.finishReason,
          logprobs: logprobs === null ? null : { content: logprobs, refusal: null },
        },
      ],
      usage: answer.usage,
      serviceTier: answer.serviceTier,
    }
  }

  #nextReasoningToken(): ChatEvent {
    this.#thoughts ??= this.#newReasoning()
    const text = this.#thoughts.nextToken()
    return {
      type: 'delta',
      choice: 0,
      delta: { reasoning: text, reasoning_details: [toReasoningDetail(text)] },
    }
  }

  #nextTextToken(at: number): ChatEvent {
    const token = this.#textTokenAt(at)
    const { topLogprobs, seed } = this.answer
    if (topLogprobs === null) return { type: 'delta', choice: 0, delta: { content: token } }
    this.#logprobs ??= new LogprobGenerator(seed, topLogprobs)
    const logprobs = { content: [this.#logprobs.next(token)], refusal: null }
    return { type: 'delta', choice: 0, delta: { content: token }, logprobs }
  }

  #textTokenAt(at: number): string {
    const { fixedTokens: pieces } = this.answer
    if (pieces !== null) return pieces[at]!
    this.#words ??= this.#newText()
    return this.#words.nextToken()
  }

  #nextToolCallDelta(): ChatEvent {
    const index = this.#call
    const call = this.answer.toolCalls[index]!
    const piece = this.#piece++
    if (this.#piece === call.argumentTokens.length) {
      this.#call++
      this.#piece = -1
    }
    const fragment =
      piece < 0
        ? { index, id: call.id, type: 'function' as const, function: { name: call.name, arguments: '' } }
        : { index, function: { arguments: call.argumentTokens[piece]! } }
    return { type: 'delta', choice: 0, delta: { tool_calls: [fragment] } }
  }

  #toMessage(logprobs: TokenLogprob[] | null): AssistantMessage {
    const { answer } = this
    const text = logprobs === null ? this.#fullText() : logprobs.map((item) => item.token).join('')
    const content = answer.textTokens === 0 && answer.toolCalls.length > 0 ? null : text
    const message: AssistantMessage = { role: 'assistant', content, refusal: null }
    if (!answer.showsReasoning && answer.toolCalls.length === 0) return message
    return {
      ...message,
      ...(answer.showsReasoning && answer.reasoningTokens > 0 && this.#fullReasoning()),
      ...(answer.toolCalls.length > 0 && { tool_calls: answer.toolCalls.map(toToolCall) }),
    }
  }

  #fullText(): string {
    const { fixedTokens: pieces, textTokens: words } = this.answer
    if (pieces !== null) return words === pieces.length ? pieces.join('') : pieces.slice(0, words).join('')
    return generateText(this.#newText(), words)
  }

  #allLogprobs(): TokenLogprob[] | null {
    const { topLogprobs, textTokens: words, seed } = this.answer
    if (topLogprobs === null || words === 0) return null
    const source = new LogprobGenerator(seed, topLogprobs)
    return Array.from({ length: words }, (_, at) => source.next(this.#textTokenAt(at)))
  }

  #fullReasoning(): Pick<AssistantMessage, 'reasoning' | 'reasoning_details'> {
    const text = generateText(this.#newReasoning(), this.answer.reasoningTokens)
    return { reasoning: text, reasoning_details: [toReasoningDetail(text)] }
  }

  #newText(): ProseGenerator {
    return new ProseGenerator(new SeededRandom(this.answer.seed, RANDOM_LANE.words), this.answer.proseLength)
  }

  #newReasoning(): ProseGenerator {
    return new ProseGenerator(
      new SeededRandom(this.answer.seed, RANDOM_LANE.thoughts),
      this.answer.reasoningTokens,
    )
  }
}

function generateText(prose: ProseGenerator, tokens: number): string {
  let text = ''
  for (let i = 0; i < tokens; i++) text += prose.nextToken()
  return text
}

function toReasoningDetail(text: string): ReasoningDetail {
  return { type: 'reasoning.text', text, index: 0, format: 'unknown' }
}

function toToolCall(call: PlannedToolCall): ToolCall {
  return {
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.argumentTokens.join('') },
  }
}
