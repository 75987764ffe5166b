/** What an entry of the golden corpus says. */
import type { CacheControl, ChatRequest, ToolCall } from '../../../../src/gateway/formats/canonical.js'
import type { ContentBlock, MessagesRequest } from '../../../../src/gateway/formats/messages.js'

/** One conversation in both formats; `model`, `max_tokens` and, where there are none, messages are added to both. */
export interface Conversation {
  readonly name: string
  readonly chat: Partial<ChatRequest>
  /** Where it is not the same as `chat`. */
  readonly messages?: Partial<MessagesRequest>
  /** What `chat` becomes in messages, where that is not `messages`. */
  readonly forth?: Partial<MessagesRequest>
  /** What `messages` becomes in chat, where that is not `chat`. */
  readonly back?: Partial<ChatRequest>
  /** Fields that are left out on the way, by direction. */
  readonly lost?: { readonly toMessages?: readonly string[]; readonly toChat?: readonly string[] }
  /** The answer it gets, by its name in `answers.ts`; `text` unless told. */
  readonly answer?: string
}

export const HI = [{ role: 'user', content: 'hi' }] as const

/** A text in either format. */
export const text = (words: string, cache_control?: CacheControl) =>
  ({ type: 'text', text: words, ...(cache_control && { cache_control }) }) as const

/** A call in chat. */
export const call = (id: string, name: string, input: object): ToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
})

/** The format of thinking that a messages server has signed. */
export const SIGNED_FORMAT = 'anthropic-claude-v1'
/** Such thinking in chat, and as a block. */
export const detail = (index: number, text: string, signature: string) => ({
  type: 'reasoning.text',
  text,
  signature,
  format: SIGNED_FORMAT,
  index,
})
export const thinking = (text: string, signature: string): ContentBlock => ({
  type: 'thinking',
  thinking: text,
  signature,
})

export const PNG = 'iVBORw0KGgo='
export const JPEG = '/9j/4AAQSkZJRg=='
export const PDF = 'JVBERi0xLjQK'
export const LINK = 'https://example.com/picture.png'

const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
} as const

export const CHAT_TOOL = {
  type: 'function',
  function: { name: 'weather', description: 'Tells the weather', parameters: WEATHER },
} as const
export const MESSAGES_TOOL = {
  name: 'weather',
  description: 'Tells the weather',
  input_schema: WEATHER,
} as const

export const OTHER_CHAT_TOOL = {
  type: 'function',
  function: { name: 'now', parameters: { type: 'object', properties: {} } },
} as const
export const OTHER_MESSAGES_TOOL = { name: 'now', input_schema: { type: 'object', properties: {} } } as const
