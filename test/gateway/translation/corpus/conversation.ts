/** What an entry of the golden corpus says. */
import type { ChatRequest } from '../../../../src/gateway/formats/canonical.js'
import type { MessagesRequest } from '../../../../src/gateway/formats/messages.js'

/** One conversation in both formats; `model` and `max_tokens` are added to both. */
export interface Conversation {
  readonly name: string
  readonly chat: Partial<ChatRequest>
  readonly messages: Partial<MessagesRequest>
  /** What `chat` becomes in messages, where that is not `messages`. */
  readonly forth?: Partial<MessagesRequest>
  /** What `messages` becomes in chat, where that is not `chat`. */
  readonly back?: Partial<ChatRequest>
  /** Fields that are left out on the way, by direction. */
  readonly lost?: { readonly toMessages?: readonly string[]; readonly toChat?: readonly string[] }
  /** The answer it gets, by its name in `answers.ts`. */
  readonly answer: string
}

export const HI = [{ role: 'user', content: 'hi' }] as const

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
