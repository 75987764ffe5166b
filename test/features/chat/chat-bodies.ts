/** Chat bodies for tests, and what the server says about one. */
import { decodeChat } from '../../../src/features/chat/decode.js'
import { chatBody } from '../../../src/features/chat/schema.js'
import { BodyReader } from '../body-reader.js'

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

export const { decoded, refusal } = new BodyReader(chatBody, decodeChat)
/** The same for the smallest request with these members. */
export const decodedOf = (members: object) => decoded(withMembers(members))
export const refusalOf = (members: object) => refusal(withMembers(members))
