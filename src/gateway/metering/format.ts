/** What the gateway has to know of a wire format to run and meter an inference in it, and chat, its own format. */
import type { Cancellation } from '../../base/cancellation.js'
import type { CatalogProvider, ModelEndpoint, PriceList } from '../catalog/catalog.js'
import {
  type AnswerFinish,
  type ChatEvent,
  type ChatMessage,
  type ChatRequest,
  type Completion,
  type InferenceOperation,
  type NamedFile,
  NO_USAGE,
  type RoutedRequest,
  type ToolCall,
  type Usage,
} from '../formats/canonical.js'
import { contentText } from '../formats/content-parts.js'
import type { ProviderApi } from '../providers/port/provider.js'

/**
 * What an event is to the caller. Bookkeeping stays here; lifecycle is held back until there is content, because
 * until then another endpoint may still take over; content commits the answer to its endpoint.
 */
type EventClass = 'bookkeeping' | 'lifecycle' | 'content'

/** Stateless; one frozen object per format. */
export interface InferenceFormat<R extends RoutedRequest, E, A> {
  readonly name: InferenceOperation
  /** Whether an endpoint can answer in this format at all. */
  serves(endpoint: ModelEndpoint): boolean
  /** How a provider serves this format. */
  apiOf(entry: CatalogProvider): ProviderApi<R, E, A>
  /** Takes note of what an event says about the consumption. Hot: once per event. */
  observe(event: E, hearing: StreamTotals): EventClass
  /** The provider's figures; null where it has told none, or none that `prices`, those of its endpoint, are for. */
  usageOf(answer: A, prices: PriceList): Usage | null
  /**
   * Why the answer ended (its first choice, where there are several), its service tier, null where not told, and how
   * many pictures it holds.
   */
  finishOf(answer: A): Pick<StreamTotals, 'finish' | 'serviceTier' | 'images'>
  sampleOf(answer: A): OutputSample
  /** Usage of a call whose provider gave none. `prices`: of the endpoint that has served it. */
  estimate(request: R, said: OutputSample, count: CountTexts, prices: PriceList): Promise<EstimatedUsage>
}

/** What is no answer in words. */
const WORDLESS: ReadonlySet<string> = new Set(['speech', 'transcription', 'embeddings', 'rerank'])

/** Models that only speak, transcribe or embed have nothing to say to text. */
export function producesText({ model }: ModelEndpoint): boolean {
  return model.outputModalities.some((modality) => !WORDLESS.has(modality))
}

// ── Counting, where a provider sends no figures ─────────────────────────────

/** Tokens of each text. */
interface TokenCounts {
  readonly counts: readonly number[]
  /** They follow from the lengths: there was no time to count. */
  readonly areGuessed: boolean
}

/**
 * Counts the tokens of each text, of long ones from samples. `organizationId`: whose share of the work it is. Never
 * rejects: what cannot be counted in time, or for a caller that has gone, is guessed.
 */
export type CountTokens = (
  texts: readonly string[],
  organizationId: string,
  caller: Cancellation,
) => Promise<TokenCounts>

/** The same for one call. */
export type CountTexts = (texts: readonly string[]) => Promise<TokenCounts>

/** What a call has consumed as far as we can tell. */
export interface EstimatedUsage {
  readonly usage: Usage
  /** Its figures follow from lengths alone. */
  readonly isGuessed: boolean
}

/** Tokens of framing around each message, as the common chat templates have it. */
export const MESSAGE_TOKENS = 4
/** What an image or a file counts: the gateway does not look inside. */
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

/** What has been heard of an answer so far. */
export class StreamTotals {
  /** The provider's figures, once they have come. */
  usage: Usage | null = null
  /** In which tier the provider says that it serves; `fast` where it says that of its speed. */
  serviceTier: string | null = null
  /** Of the first choice. */
  finish: AnswerFinish | null = null
  /** Pictures in the answer. */
  images = 0
  #sample: OutputSample | null = null

  /** Kept for the case that the provider sends no figures, or that the caller leaves before they come. */
  get sample(): OutputSample {
    this.#sample ??= new OutputSample()
    return this.#sample
  }

  /** What a failed attempt told about itself belongs to no answer. */
  forget(): void {
    this.usage = null
    this.serviceTier = null
    this.finish = null
    this.images = 0
  }
}

/** What is counted of a request. */
export interface PromptSample {
  readonly text: string
  /** Definitions of the tools, as JSON. */
  readonly tools: string
  /** Tokens of what no tokenizer sees: attachments at a flat rate, and the framing of messages. */
  readonly framing: number
}

/** What is read of a request for counting; the names are the same in both formats of text. */
interface PromptMembers {
  readonly messages: readonly { readonly content?: unknown }[]
  readonly tools?: readonly unknown[]
  readonly files?: readonly NamedFile[]
}

/** `lines` are the texts of the request. */
export function samplePrompt(
  lines: readonly string[],
  { messages, tools, files = [] }: PromptMembers,
): PromptSample {
  return {
    text: lines.join('\n'),
    tools: tools === undefined ? '' : JSON.stringify(tools),
    framing:
      messages.length * MESSAGE_TOKENS +
      countAttachments(messages) * ATTACHMENT_TOKENS +
      Math.ceil(namedTextBytes(files) / TEXT_BYTES_PER_TOKEN),
  }
}

/** Of files that are named by their ids and given as text, which is read only when it is sent. */
const TEXT_BYTES_PER_TOKEN = 4

export function namedTextBytes(files: readonly NamedFile[]): number {
  let bytes = 0
  for (const { mimeType, sizeBytes } of files) if (mimeType.startsWith('text/')) bytes += sizeBytes
  return bytes
}

/** What the gateway does not look into; parts within parts do not count. */
const ATTACHMENTS: ReadonlySet<string> = new Set([
  ...['image_url', 'input_audio', 'video_url', 'input_video', 'file'],
  ...['image', 'document', 'container_upload'],
])

function countAttachments(messages: PromptMembers['messages']): number {
  let found = 0
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const { type } of content as readonly { readonly type: string }[]) if (ATTACHMENTS.has(type)) found++
  }
  return found
}

/** Approximate by nature: each provider cuts text in its own way. */
export async function estimateUsage(
  { text, tools, framing }: PromptSample,
  output: OutputSample,
  count: CountTexts,
): Promise<EstimatedUsage> {
  const texts = [text, tools, output.content.kept, output.reasoning.kept]
  const { counts, areGuessed } = await count(texts)
  const [prompt = 0, offered = 0, content = 0, thought = 0] = counts
  const reasoning = output.reasoning.extrapolate(thought)
  const usage = {
    ...NO_USAGE,
    prompt: prompt + offered + framing,
    completion: output.content.extrapolate(content) + reasoning,
    reasoning,
  }
  return { usage, isGuessed: areGuessed }
}

// ── The chat format (contract/gateway 2 to 4) ────────────────────────────────

export const chatFormat: InferenceFormat<ChatRequest, ChatEvent, Completion> = Object.freeze({
  name: 'chat',
  serves: producesText,
  apiOf: (entry) => entry.provider,
  observe: (event, hearing) => {
    switch (event.type) {
      case 'delta':
        sampleDelta(event, hearing.sample)
        if (event.delta.images !== undefined) hearing.images += event.delta.images.length
        return 'content'
      case 'finish':
        if (event.choice === 0) hearing.finish = event
        return 'content'
      case 'usage':
        hearing.usage = event.usage
        return 'bookkeeping'
      case 'tier':
        hearing.serviceTier = event.serviceTier
        return 'bookkeeping'
      case 'fingerprint':
        return 'lifecycle'
    }
  },
  usageOf: (completion) => completion.usage,
  finishOf: ({ choices, serviceTier }) => {
    const [first] = choices
    const finish = first === undefined ? null : { reason: first.finishReason, native: first.native }
    let images = 0
    for (const { message } of choices) images += message.images?.length ?? 0
    return { finish, serviceTier, images }
  },
  sampleOf: sampleCompletion,
  estimate: (request, sample, count) =>
    estimateUsage(samplePrompt(request.messages.map(chatMessageText), request), sample, count),
} satisfies InferenceFormat<ChatRequest, ChatEvent, Completion>)

function sampleDelta({ delta }: ChatEvent & { readonly type: 'delta' }, said: OutputSample): void {
  if (delta.content !== undefined) said.content.add(delta.content)
  if (delta.refusal !== undefined) said.content.add(delta.refusal)
  if (delta.reasoning !== undefined) said.reasoning.add(delta.reasoning)
  if (delta.tool_calls === undefined) return
  for (const { function: called } of delta.tool_calls) {
    said.content.add((called.name ?? '') + (called.arguments ?? ''))
  }
}

/** Everything a whole answer said. */
function sampleCompletion({ choices }: Completion): OutputSample {
  const said = new OutputSample()
  for (const { message } of choices) {
    const { content, refusal, tool_calls: calls = [] } = message
    said.content.add((content ?? '') + (refusal ?? '') + toolCallsText(calls))
    said.reasoning.add(message.reasoning ?? '')
  }
  return said
}

function chatMessageText(message: ChatMessage): string {
  const calls = 'tool_calls' in message ? (message.tool_calls ?? []) : []
  return contentText(message.content) + toolCallsText(calls)
}

function toolCallsText(calls: readonly ToolCall[]): string {
  return calls.map(({ function: { name, arguments: given } }) => name + given).join('')
}
