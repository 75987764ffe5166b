import type {
  AssistantMessage,
  ChatEvent,
  Completion,
  ReasoningDetail,
  TokenLogprob,
  ToolCall,
} from '../../gateway/formats/canonical.js'
import { RANDOM_LANE, type RandomSeed, SeededRandom } from '../random.js'
import type { PlannedAnswer, PlannedToolCall } from './answer-limits.js'
import { ProseGenerator, TOKEN_FORMS, WORD_COUNT } from './prose.js'

/**
 * Gives out one answer, either token by token or whole. Both say exactly the same.
 *
 * Order: reasoning, text, tool calls. A tool call takes one step for its name and one for each token of its
 * arguments.
 */
export class AnswerGenerator {
  readonly plan: PlannedAnswer
  /** Steps of a stream; reasoning that is not shown is none. */
  readonly stepCount: number
  #reasoning: ProseGenerator | null = null
  #text: ProseGenerator | null = null
  #logprobs: LogprobGenerator | null = null
  #stepsDone = 0
  #toolCall = 0
  /** Token of the current call's arguments that comes next; -1 for its name. */
  #argumentToken = -1

  constructor(plan: PlannedAnswer) {
    this.plan = plan
    let stepCount = plan.textTokens + shownReasoningTokens(plan)
    for (const call of plan.toolCalls) stepCount += 1 + call.argumentTokens.length
    this.stepCount = stepCount
  }

  get stepsDone(): number {
    return this.#stepsDone
  }

  get finished(): boolean {
    return this.#stepsDone >= this.stepCount
  }

  /** The next step; to be called `stepCount` times at most. */
  nextEvent(): ChatEvent {
    const reasoningTokens = shownReasoningTokens(this.plan)
    const at = this.#stepsDone++
    if (at < reasoningTokens) return this.#nextReasoningToken()
    if (at < reasoningTokens + this.plan.textTokens) return this.#nextTextToken(at - reasoningTokens)
    return this.#nextToolCallDelta()
  }

  /** The whole answer at once. */
  toCompletion(): Completion {
    const { finishReason, usage, serviceTier } = this.plan
    const logprobs = this.#allLogprobs()
    return {
      choices: [
        {
          index: 0,
          message: this.#toMessage(logprobs),
          finishReason,
          native: finishReason,
          logprobs: logprobs === null ? null : { content: logprobs, refusal: null },
        },
      ],
      usage,
      serviceTier,
    }
  }

  #nextReasoningToken(): ChatEvent {
    this.#reasoning ??= this.#newReasoning()
    return { type: 'delta', choice: 0, delta: reasoningMembers(this.#reasoning.nextToken()) }
  }

  #nextTextToken(at: number): ChatEvent {
    const token = this.#textTokenAt(at)
    const { topLogprobs, seed } = this.plan
    if (topLogprobs === null) return { type: 'delta', choice: 0, delta: { content: token } }
    this.#logprobs ??= new LogprobGenerator(seed, topLogprobs)
    const logprobs = { content: [this.#logprobs.next(token)], refusal: null }
    return { type: 'delta', choice: 0, delta: { content: token }, logprobs }
  }

  #textTokenAt(at: number): string {
    const { fixedTokens } = this.plan
    if (fixedTokens !== null) return fixedTokens[at]!
    this.#text ??= this.#newText()
    return this.#text.nextToken()
  }

  #nextToolCallDelta(): ChatEvent {
    const index = this.#toolCall
    const { id, name, argumentTokens } = this.plan.toolCalls[index]!
    const at = this.#argumentToken++
    if (this.#argumentToken === argumentTokens.length) {
      this.#toolCall++
      this.#argumentToken = -1
    }
    const delta =
      at < 0
        ? { index, id, type: 'function' as const, function: { name, arguments: '' } }
        : { index, function: { arguments: argumentTokens[at]! } }
    return { type: 'delta', choice: 0, delta: { tool_calls: [delta] } }
  }

  #toMessage(logprobs: readonly TokenLogprob[] | null): AssistantMessage {
    const { plan } = this
    const text = logprobs === null ? this.#fullText() : logprobs.map(({ token }) => token).join('')
    const content = plan.textTokens === 0 && plan.toolCalls.length > 0 ? null : text
    const message: AssistantMessage = { role: 'assistant', content, refusal: null }
    const reasoningTokens = shownReasoningTokens(plan)
    if (reasoningTokens === 0 && plan.toolCalls.length === 0) return message
    return {
      ...message,
      ...(reasoningTokens > 0 && reasoningMembers(this.#newReasoning().nextText(reasoningTokens))),
      ...(plan.toolCalls.length > 0 && { tool_calls: plan.toolCalls.map(toToolCall) }),
    }
  }

  #fullText(): string {
    const { fixedTokens, textTokens } = this.plan
    if (fixedTokens === null) return this.#newText().nextText(textTokens)
    return (textTokens === fixedTokens.length ? fixedTokens : fixedTokens.slice(0, textTokens)).join('')
  }

  #allLogprobs(): TokenLogprob[] | null {
    const { topLogprobs, textTokens, seed } = this.plan
    if (topLogprobs === null || textTokens === 0) return null
    const logprobs = new LogprobGenerator(seed, topLogprobs)
    return Array.from({ length: textTokens }, (_, at) => logprobs.next(this.#textTokenAt(at)))
  }

  #newText(): ProseGenerator {
    return new ProseGenerator(new SeededRandom(this.plan.seed, RANDOM_LANE.words), this.plan.proseLength)
  }

  #newReasoning(): ProseGenerator {
    const random = new SeededRandom(this.plan.seed, RANDOM_LANE.reasoning)
    return new ProseGenerator(random, this.plan.reasoningTokens)
  }
}

function shownReasoningTokens({ showsReasoning, reasoningTokens }: PlannedAnswer): number {
  return showsReasoning ? reasoningTokens : 0
}

function reasoningMembers(text: string): { reasoning: string; reasoning_details: ReasoningDetail[] } {
  return {
    reasoning: text,
    reasoning_details: [{ type: 'reasoning.text', text, index: 0, format: 'unknown' }],
  }
}

function toToolCall({ id, name, argumentTokens }: PlannedToolCall): ToolCall {
  return { id, type: 'function', function: { name, arguments: argumentTokens.join('') } }
}

const UTF8 = new TextEncoder()

/** Made-up log probabilities of an answer's tokens, in their order. */
class LogprobGenerator {
  readonly #random: SeededRandom
  readonly #alternatives: number

  /** `alternatives` is the request's `top_logprobs`. */
  constructor(seed: RandomSeed, alternatives: number) {
    this.#random = new SeededRandom(seed, RANDOM_LANE.logprobs)
    this.#alternatives = alternatives
  }

  /** The chosen token comes first among its alternatives; the others are ever less likely and all different. */
  next(token: string): TokenLogprob {
    const bytes = Array.from(UTF8.encode(token))
    let logprob = -0.001 - this.#random.nextUnit()
    const chosen = { token, logprob, bytes }
    if (this.#alternatives === 0) return { ...chosen, top_logprobs: [] }
    const top: (typeof chosen)[] = [chosen]
    let word = this.#random.nextBelow(WORD_COUNT)
    while (top.length < this.#alternatives) {
      word = (word + 1) % WORD_COUNT
      const other = TOKEN_FORMS.plain[word]!
      if (other === token) continue
      logprob -= 0.05 + this.#random.nextUnit()
      top.push({ token: other, logprob, bytes: Array.from(UTF8.encode(other)) })
    }
    return { ...chosen, top_logprobs: top }
  }
}
