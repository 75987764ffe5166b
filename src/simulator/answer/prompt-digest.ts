import type { ChatMessage, ContentPart, ReasoningEffort, ToolCall } from '../../gateway/formats/canonical.js'
import type { ProviderCall } from '../../gateway/providers/port/provider.js'

/** Tokens that stand for one picture, sound, film or file. Real ones depend on sizes, which are not read here. */
const MEDIA_TOKENS = 256
const TOKENS_PER_MESSAGE = 4
const CHARACTERS_PER_TOKEN = 4

/** Characters of a medium's address or data that count for the hash, at each end. Megabytes are not walked. */
const MEDIA_SAMPLE = 128
/** The same of a text that is longer than both. */
const TEXT_SAMPLE = 128 * 1024

/**
 * What one walk over the messages finds: a hash of all they say, and how many tokens that is.
 *
 * The hash is fast, not cryptographic: it decides which words are made up, nothing else.
 */
export class PromptDigest {
  tokens = 0
  /** Tokens up to the last part that asks to be cached. */
  cachedTokens = 0
  /** Of `tokens`, those that stand for sound. */
  audioTokens = 0
  /** Effort that a system message sets from where it stands. */
  effort: ReasoningEffort | null = null
  low: number
  high: number

  constructor(seed: number) {
    this.low = seed | 0
    this.high = Math.imul(seed ^ 0x5bd1e995, 0x27d4eb2d)
  }

  addMessages(messages: readonly ChatMessage[]): void {
    for (const message of messages) this.#addMessage(message)
  }

  #addMessage(message: ChatMessage): void {
    this.tokens += TOKENS_PER_MESSAGE
    this.mixText(message.role)
    const { content } = message
    // An empty text counts as none, which is what clients make of a stream that says nothing before its calls.
    if (typeof content !== 'string') for (const part of content ?? []) this.#addPart(part)
    else if (content !== '') this.#addText(content)
    if (message.role === 'assistant') this.#addToolCalls(message.tool_calls ?? [])
    else if (message.role === 'tool') this.mixText(message.tool_call_id)
    else if (message.role === 'system' || message.role === 'developer') {
      this.effort = message.configuration_update?.reasoning.effort ?? this.effort
    }
  }

  #addToolCalls(calls: readonly ToolCall[]): void {
    for (const call of calls) {
      this.mixText(call.id)
      this.#addText(call.function.name)
      this.#addText(call.function.arguments)
    }
  }

  #addPart(part: ContentPart): void {
    this.mixText(part.type)
    if (part.type === 'text') this.#addText(part.text)
    else this.#addMedia(part)
    if ('cache_control' in part && part.cache_control !== undefined) this.cachedTokens = this.tokens
    else if (part.type === 'text' && part.prompt_cache_breakpoint) this.cachedTokens = this.tokens
  }

  #addMedia(part: Exclude<ContentPart, { type: 'text' }>): void {
    this.tokens += MEDIA_TOKENS
    if (part.type === 'input_audio') {
      this.audioTokens += MEDIA_TOKENS
      this.#mixEnds(part.input_audio.data)
    } else if (part.type === 'image_url') this.#mixEnds(part.image_url.url)
    else if (part.type === 'file') this.#mixEnds(part.file.file_data ?? part.file.file_id ?? '')
    else this.#mixEnds(part.video_url.url)
  }

  #mixEnds(text: string, sample = MEDIA_SAMPLE): void {
    this.mixNumber(text.length)
    this.mixText(text.slice(0, sample))
    this.mixText(text.slice(-sample))
  }

  #addText(text: string): void {
    this.tokens += Math.ceil(text.length / CHARACTERS_PER_TOKEN)
    if (text.length <= 2 * TEXT_SAMPLE) this.mixText(text)
    else this.#mixEnds(text, TEXT_SAMPLE)
  }

  /** Takes in the text two characters at a time, and its length, so that 'ab','c' and 'a','bc' differ. */
  mixText(text: string): void {
    let { low, high } = this
    const { length } = text
    for (let i = 1; i < length; i += 2) {
      const word = text.charCodeAt(i - 1) | (text.charCodeAt(i) << 16)
      low = Math.imul(low ^ word, 0x85ebca6b)
      low ^= low >>> 13
      high = Math.imul((high + word) | 0, 0xc2b2ae35)
      high ^= high >>> 16
    }
    if ((length & 1) === 1) {
      low = Math.imul(low ^ text.charCodeAt(length - 1), 0x85ebca6b)
      high = Math.imul((high + text.charCodeAt(length - 1)) | 0, 0xc2b2ae35)
    }
    this.low = low
    this.high = high
    this.mixNumber(length)
  }

  mixNumber(value: number): void {
    this.low = Math.imul(this.low ^ value, 0x9e3779b1)
    this.low ^= this.low >>> 15
    this.high = Math.imul((this.high + Math.imul(value, 31)) | 0, 0x85ebca77)
    this.high ^= this.high >>> 13
  }
}

/** Everything of a request that decides about its answer. Equal requests under one seed have equal digests. */
export function digestPrompt({ request, endpoint }: ProviderCall, seed: number): PromptDigest {
  const digest = new PromptDigest(seed)
  digest.mixText(endpoint.model.id)
  digest.addMessages(request.messages)
  digest.mixNumber(request.seed ?? 0)
  digest.mixNumber(Math.round((request.temperature ?? 1) * 1000))
  // Automatic caching covers everything before the last message.
  if (request.cache_control !== undefined) {
    const before = new PromptDigest(seed)
    before.addMessages(request.messages.slice(0, -1))
    digest.cachedTokens = Math.max(digest.cachedTokens, before.tokens)
  }
  if (request.tools !== undefined && request.tools.length > 0) {
    digest.tokens += Math.ceil(JSON.stringify(request.tools).length / CHARACTERS_PER_TOKEN)
  }
  return digest
}
