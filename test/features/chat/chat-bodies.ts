/** Chat bodies for tests, and what the server says about one. */
import { Fault, type ValidationIssue } from '../../../src/base/fault.js'
import { decodeChat } from '../../../src/features/chat/decode.js'
import { type ChatBody, chatBody } from '../../../src/features/chat/schema.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import { faultMessage } from '../../../src/http/dialects/gateway.js'
import { readBySchema } from '../../../src/http/input.js'

/** The smallest request. */
export const SMALLEST = { model: 'sim/fast', messages: [{ role: 'user', content: 'hi' }] } as const

export const withMembers = (members: object): object => ({ ...SMALLEST, ...members })

/** A request whose last message is the given one. */
export const withMessage = (...messages: object[]): object => ({
  ...SMALLEST,
  messages: [...SMALLEST.messages, ...messages],
})

/** A request whose user message has one part. */
export const withPart = (part: object): object => ({
  ...SMALLEST,
  messages: [{ role: 'user', content: [part] }],
})

/** The canonical request of anything a caller may send. Throws the fault it is refused with. */
export function decoded(input: unknown, sessionId = ''): ChatRequest {
  const issues: ValidationIssue[] = []
  const body = readBySchema(chatBody, input, issues)
  if (issues.length > 0) throw new Fault('invalid-input', { issues })
  return decodeChat(body as ChatBody, sessionId)
}

/** The sentence a caller reads, or null for a request that is taken. */
export function refusal(input: unknown, sessionId = ''): string | null {
  try {
    decoded(input, sessionId)
    return null
  } catch (error) {
    if (error instanceof Fault && error.kind === 'invalid-input') return faultMessage(error)
    throw error
  }
}
