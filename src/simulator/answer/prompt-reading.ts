import type { ContentPart, Message, ReasoningEffort, ToolCall } from '../../gateway/formats/canonical.js'

/** Tokens that stand for one picture, sound, film or file. Real ones depend on sizes that nobody here looks at. */
const MEDIA_TOKENS = 256
const TOKENS_PER_MESSAGE = 4
const CHARACTERS_PER_TOKEN = 4

/** Characters of a medium's address or data that count for the hash, at each end. Megabytes are not walked. */
const MEDIA_SAMPLE = 128

/**
 * What one walk over the messages finds: a hash of all they say, and how many tokens that is.
 *
 * The hash is fast, not cryptographic: it decides which words are made up, nothing else.
 */
export class PromptReading {
  tokens = 0
  /** Tokens up to the last part that asks to be cached. */
  cached = 0
  /** Of `tokens`, those that stand for sound. */
  audio = 0
  /** Effort that a system message sets from where it stands. */
  effort: ReasoningEffort | null = null
  low: number
  high: number

  constructor(seed: number) {
    this.low = seed | 0
    this.high = Math.imul(seed ^ 0x5bd1e995, 0x27d4eb2d)
  }

  messages(messages: readonly Message[]): void {
    for (const message of messages) this.message(message)
  }

  private message(message: Message): void {
    this.tokens += TOKENS_PER_MESSAGE
    this.mix(message.role)
    const { content } = message
    if (typeof content === 'string') this.text(content)
    else if (content !== undefined && content !== null) for (const part of content) this.part(part)
    if (message.role === 'assistant' && message.tool_calls !== undefined) this.toolCalls(message.tool_calls)
    else if (message.role === 'tool') this.mix(message.tool_call_id)
    else if (message.role === 'system' || message.role === 'developer') {
      this.effort = message.configuration_update?.reasoning.effort ?? this.effort
    }
  }

  private toolCalls(calls: readonly ToolCall[]): void {
    for (const call of calls) {
      this.mix(call.id)
      this.text(call.function.name)
      this.text(call.function.arguments)
    }
  }

  private part(part: ContentPart): void {
    this.mix(part.type)
    if (part.type === 'text') this.text(part.text)
    else this.medium(part)
    if ('cache_control' in part && part.cache_control !== undefined) this.cached = this.tokens
    else if (part.type === 'text' && part.prompt_cache_breakpoint) this.cached = this.tokens
  }

  private medium(part: Exclude<ContentPart, { type: 'text' }>): void {
    this.tokens += MEDIA_TOKENS
    if (part.type === 'input_audio') {
      this.audio += MEDIA_TOKENS
      this.sample(part.input_audio.data)
    } else if (part.type === 'image_url') this.sample(part.image_url.url)
    else if (part.type === 'file') this.sample(part.file.file_data ?? part.file.file_id ?? '')
    else this.sample(part.video_url.url)
  }

  private sample(text: string): void {
    this.number(text.length)
    this.mix(text.slice(0, MEDIA_SAMPLE))
    this.mix(text.slice(-MEDIA_SAMPLE))
  }

  private text(text: string): void {
    this.tokens += Math.ceil(text.length / CHARACTERS_PER_TOKEN)
    this.mix(text)
  }

  /** Takes in the text two characters at a time, and its length, so that 'ab','c' and 'a','bc' differ. */
  mix(text: string): void {
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
    this.number(length)
  }

  number(value: number): void {
    this.low = Math.imul(this.low ^ value, 0x9e3779b1)
    this.low ^= this.low >>> 15
    this.high = Math.imul((this.high + Math.imul(value, 31)) | 0, 0x85ebca77)
    this.high ^= this.high >>> 13
  }
}
