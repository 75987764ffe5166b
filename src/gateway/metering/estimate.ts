/** Token counts where a provider sends none. Approximate by nature: each provider cuts text in its own way. */
import type {
  AssistantMessage,
  ChatMessage,
  ChatRequest,
  Completion,
  ContentPart,
  Usage,
} from '../formats/canonical.js'

/** Counts the tokens of each text. Never rejects: what cannot be counted is guessed from its length. */
export type CountTokens = (texts: readonly string[]) => Promise<readonly number[]>

/** Tokens of framing around each message, as the common chat templates have it. */
export const MESSAGE_TOKENS = 4
/** What an image or a file counts: nobody here looks inside. */
export const ATTACHMENT_TOKENS = 256

/** Most characters kept of one text; what is beyond counts like what was kept. */
const MAX_SAMPLE_CHARS = 16_384

/**
 * A text that grows and is only wanted for counting. Its beginning is kept and the rest measured, so that what a
 * stream costs in memory does not grow with the stream.
 */
export class TextSample {
  #kept = ''
  #length = 0

  add(text: string): void {
    this.#length += text.length
    if (this.#kept.length < MAX_SAMPLE_CHARS)
      this.#kept += text.slice(0, MAX_SAMPLE_CHARS - this.#kept.length)
  }

  get kept(): string {
    return this.#kept
  }

  /** Of the whole, in characters. */
  get length(): number {
    return this.#length
  }

  /** Tokens of the whole, from those of what was kept. */
  extrapolate(tokens: number): number {
    return this.#kept.length === this.#length
      ? tokens
      : Math.round((tokens * this.#length) / this.#kept.length)
  }
}

/** What an answer said, gathered for counting. */
export class OutputSample {
  readonly content = new TextSample()
  readonly reasoning = new TextSample()
}

/** Usage of a call whose provider gave none. */
export async function estimateChatUsage(
  request: ChatRequest,
  said: OutputSample,
  count: CountTokens,
): Promise<Usage> {
  const asked = request.messages.map(chatMessageText).join('\n')
  const tools = request.tools === undefined ? '' : JSON.stringify(request.tools)
  const [prompt = 0, offered = 0, content = 0, reasoning = 0] = await count([
    asked,
    tools,
    said.content.kept,
    said.reasoning.kept,
  ])
  const thought = said.reasoning.extrapolate(reasoning)
  const framing = request.messages.length * MESSAGE_TOKENS + countAttachments(request) * ATTACHMENT_TOKENS
  return {
    prompt: prompt + offered + framing,
    completion: said.content.extrapolate(content) + thought,
    cached: 0,
    cacheWrite: 0,
    promptAudio: 0,
    reasoning: thought,
    completionAudio: 0,
  }
}

/** Everything a whole answer said. */
export function sampleCompletion({ choices }: Completion): OutputSample {
  const said = new OutputSample()
  for (const { message } of choices) {
    said.content.add(assistantText(message))
    said.reasoning.add(message.reasoning ?? '')
  }
  return said
}

function assistantText({ content, refusal, tool_calls: calls = [] }: AssistantMessage): string {
  const called = calls.map(({ function: { name, arguments: given } }) => `${name}${given}`)
  return [content ?? '', refusal ?? '', ...called].join('')
}

function chatMessageText(message: ChatMessage): string {
  const { content } = message
  const calls = 'tool_calls' in message ? (message.tool_calls ?? []) : []
  const called = calls.map(({ function: { name, arguments: given } }) => `${name}${given}`).join('')
  if (content === undefined || content === null) return called
  if (typeof content === 'string') return content + called
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n') + called
}

function countAttachments({ messages }: ChatRequest): number {
  let count = 0
  for (const { content } of messages) {
    if (Array.isArray(content))
      count += (content as readonly ContentPart[]).filter(({ type }) => type !== 'text').length
  }
  return count
}
