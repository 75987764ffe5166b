import type {
  AssistantMessage,
  Completion,
  FinishReason,
  InferenceEvent,
  ReasoningDetail,
  TokenLogprob,
  ToolCall,
  Usage,
} from '../../gateway/formats/canonical.js'
import { LANE, Random, type Seed } from '../random.js'
import { Logprobabilities } from './logprobs.js'
import { Prose } from './prose.js'

/** A tool call whose arguments are cut into tokens already. */
export interface PlannedCall {
  readonly id: string
  readonly name: string
  readonly pieces: readonly string[]
}

/** Everything an answer will be, decided before its first token. */
export interface Answer {
  readonly seed: Seed
  /** Tokens of reasoning, told or kept. */
  readonly thoughts: number
  readonly tellsThoughts: boolean
  /** The tokens of the text when they are known beforehand; null for prose, which is made up as it goes. */
  readonly pieces: readonly string[] | null
  /** Length the prose would have without a limit: its last sentence ends there. */
  readonly proseLength: number
  /** Tokens of text that are told. */
  readonly words: number
  readonly calls: readonly PlannedCall[]
  readonly finish: FinishReason
  /** The stop sequence that ended the text, unless something else did before. */
  readonly stoppedBy: string | null
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
export class Script {
  readonly answer: Answer
  /** Steps of a stream; reasoning that is not told is none. */
  readonly steps: number
  #thoughts: Prose | null = null
  #words: Prose | null = null
  #logprobs: Logprobabilities | null = null
  #told = 0
  #call = 0
  /** Piece of the current call that comes next; -1 for its name. */
  #piece = -1

  constructor(answer: Answer) {
    this.answer = answer
    let steps = answer.words + (answer.tellsThoughts ? answer.thoughts : 0)
    for (const call of answer.calls) steps += 1 + call.pieces.length
    this.steps = steps
  }

  /** Steps told so far. */
  get told(): number {
    return this.#told
  }

  get finished(): boolean {
    return this.#told >= this.steps
  }

  /** The next token; to be called `steps` times at most. */
  next(): InferenceEvent {
    const { answer } = this
    const thoughts = answer.tellsThoughts ? answer.thoughts : 0
    const at = this.#told++
    if (at < thoughts) return this.#thought()
    if (at < thoughts + answer.words) return this.#word(at - thoughts)
    return this.#fragment()
  }

  /** The whole answer at once. */
  whole(): Completion {
    const { answer } = this
    const logprobs = this.#allLogprobs()
    return {
      choices: [
        {
          index: 0,
          message: this.#message(logprobs),
          finishReason: answer.finish,
          native: answer.finish,
          logprobs: logprobs === null ? null : { content: logprobs, refusal: null },
        },
      ],
      usage: answer.usage,
      serviceTier: answer.serviceTier,
    }
  }

  #thought(): InferenceEvent {
    this.#thoughts ??= this.#newThoughts()
    const text = this.#thoughts.next()
    return {
      type: 'delta',
      choice: 0,
      delta: { reasoning: text, reasoning_details: [reasoningDetail(text)] },
    }
  }

  #word(at: number): InferenceEvent {
    const token = this.#token(at)
    const { topLogprobs, seed } = this.answer
    if (topLogprobs === null) return { type: 'delta', choice: 0, delta: { content: token } }
    this.#logprobs ??= new Logprobabilities(seed, topLogprobs)
    const logprobs = { content: [this.#logprobs.next(token)], refusal: null }
    return { type: 'delta', choice: 0, delta: { content: token }, logprobs }
  }

  #token(at: number): string {
    const { pieces } = this.answer
    if (pieces !== null) return pieces[at]!
    this.#words ??= this.#newWords()
    return this.#words.next()
  }

  #fragment(): InferenceEvent {
    const index = this.#call
    const call = this.answer.calls[index]!
    const piece = this.#piece++
    if (this.#piece === call.pieces.length) {
      this.#call++
      this.#piece = -1
    }
    const fragment =
      piece < 0
        ? { index, id: call.id, type: 'function' as const, function: { name: call.name, arguments: '' } }
        : { index, function: { arguments: call.pieces[piece]! } }
    return { type: 'delta', choice: 0, delta: { tool_calls: [fragment] } }
  }

  #message(logprobs: TokenLogprob[] | null): AssistantMessage {
    const { answer } = this
    const text = logprobs === null ? this.#text() : logprobs.map((item) => item.token).join('')
    const content = answer.words === 0 && answer.calls.length > 0 ? null : text
    const message: AssistantMessage = { role: 'assistant', content, refusal: null }
    if (!answer.tellsThoughts && answer.calls.length === 0) return message
    return {
      ...message,
      ...(answer.tellsThoughts && answer.thoughts > 0 && this.#reasoning()),
      ...(answer.calls.length > 0 && { tool_calls: answer.calls.map(toolCall) }),
    }
  }

  #text(): string {
    const { pieces, words } = this.answer
    if (pieces !== null) return words === pieces.length ? pieces.join('') : pieces.slice(0, words).join('')
    return told(this.#newWords(), words)
  }

  #allLogprobs(): TokenLogprob[] | null {
    const { topLogprobs, words, seed } = this.answer
    if (topLogprobs === null || words === 0) return null
    const source = new Logprobabilities(seed, topLogprobs)
    return Array.from({ length: words }, (_, at) => source.next(this.#token(at)))
  }

  #reasoning(): Pick<AssistantMessage, 'reasoning' | 'reasoning_details'> {
    const text = told(this.#newThoughts(), this.answer.thoughts)
    return { reasoning: text, reasoning_details: [reasoningDetail(text)] }
  }

  #newWords(): Prose {
    return new Prose(new Random(this.answer.seed, LANE.words), this.answer.proseLength)
  }

  #newThoughts(): Prose {
    return new Prose(new Random(this.answer.seed, LANE.thoughts), this.answer.thoughts)
  }
}

function told(prose: Prose, tokens: number): string {
  let text = ''
  for (let i = 0; i < tokens; i++) text += prose.next()
  return text
}

function reasoningDetail(text: string): ReasoningDetail {
  return { type: 'reasoning.text', text, index: 0, format: 'unknown' }
}

function toolCall(call: PlannedCall): ToolCall {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.pieces.join('') } }
}
