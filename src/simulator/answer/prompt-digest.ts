import type { ChatMessage, ContentPart, ReasoningEffort, ToolCall } from '../../gateway/formats/canonical.js'

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

  addMessages(addMessages: readonly ChatMessage[]): void {
    for (const addMessage of addMessages) this.addMessage(addMessage)
  }

  private addMessage(addMessage: ChatMessage): void {
    this.tokens += TOKENS_PER_MESSAGE
    this.mixText(addMessage.role)
    const { content } = addMessage
    if (typeof content === 'string') this.addText(content)
    else if (content !== undefined && content !== null) for (const addPart of content) this.addPart(addPart)
    if (addMessage.role === 'assistant' && addMessage.tool_calls !== undefined)
      this.addToolCalls(addMessage.tool_calls)
    else if (addMessage.role === 'tool') this.mixText(addMessage.tool_call_id)
    else if (addMessage.role === 'system' || addMessage.role === 'developer') {
      this.effort = addMessage.configuration_update?.reasoning.effort ?? this.effort
    }
  }

  private addToolCalls(calls: readonly ToolCall[]): void {
    for (const call of calls) {
      this.mixText(call.id)
      this.addText(call.function.name)
      this.addText(call.function.arguments)
    }
  }

  private addPart(addPart: ContentPart): void {
    this.mixText(addPart.type)
    if (addPart.type === 'text') this.addText(addPart.text)
    else this.addMedia(addPart)
    if ('cache_control' in addPart && addPart.cache_control !== undefined) this.cachedTokens = this.tokens
    else if (addPart.type === 'text' && addPart.prompt_cache_breakpoint) this.cachedTokens = this.tokens
  }

  private addMedia(addPart: Exclude<ContentPart, { type: 'text' }>): void {
    this.tokens += MEDIA_TOKENS
    if (addPart.type === 'input_audio') {
      this.audioTokens += MEDIA_TOKENS
      this.mixEnds(addPart.input_audio.data)
    } else if (addPart.type === 'image_url') this.mixEnds(addPart.image_url.url)
    else if (addPart.type === 'file') this.mixEnds(addPart.file.file_data ?? addPart.file.file_id ?? '')
    else this.mixEnds(addPart.video_url.url)
  }

  private mixEnds(addText: string): void {
    this.mixNumber(addText.length)
    this.mixText(addText.slice(0, MEDIA_SAMPLE))
    this.mixText(addText.slice(-MEDIA_SAMPLE))
  }

  private addText(addText: string): void {
    this.tokens += Math.ceil(addText.length / CHARACTERS_PER_TOKEN)
    this.mixText(addText)
  }

  /** Takes in the text two characters at a time, and its length, so that 'ab','c' and 'a','bc' differ. */
  mixText(addText: string): void {
    let { low, high } = this
    const { length } = addText
    for (let i = 1; i < length; i += 2) {
      const word = addText.charCodeAt(i - 1) | (addText.charCodeAt(i) << 16)
      low = Math.imul(low ^ word, 0x85ebca6b)
      low ^= low >>> 13
      high = Math.imul((high + word) | 0, 0xc2b2ae35)
      high ^= high >>> 16
    }
    if ((length & 1) === 1) {
      low = Math.imul(low ^ addText.charCodeAt(length - 1), 0x85ebca6b)
      high = Math.imul((high + addText.charCodeAt(length - 1)) | 0, 0xc2b2ae35)
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
