/** Messages bodies for tests, and what the server says about one. */
import { decodeCount, decodeMessages } from '../../../src/features/messages/decode.js'
import { countBody, messagesBody } from '../../../src/features/messages/schema.js'
import { BodyReader } from '../body-reader.js'

/** The smallest request. */
export const SMALLEST = {
  model: 'sim/fast',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'hi' }],
} as const

export const withMembers = (members: object): object => ({ ...SMALLEST, ...members })

/** A request whose messages are these. */
export const withMessages = (...messages: object[]): object => ({ ...SMALLEST, messages })

/** A request whose user message has one block. */
export const withBlock = (block: object): object => withMessages({ role: 'user', content: [block] })

/** A request in which the assistant has said one block. */
export const withSaid = (block: object): object =>
  withMessages({ role: 'user', content: 'hi' }, { role: 'assistant', content: [block] })

export const { decoded, refusal } = new BodyReader(messagesBody, decodeMessages)
/** The same for the smallest request with these members. */
export const decodedOf = (members: object) => decoded(withMembers(members))
export const refusalOf = (members: object) => refusal(withMembers(members))
export const counted = new BodyReader(countBody, decodeCount)

export const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64')
export const JPEG = Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex').toString('base64')
export const GIF = Buffer.from('GIF89a0000000000').toString('base64')
export const WEBP = Buffer.from('RIFF0000WEBPVP8 ').toString('base64')
export const PDF = Buffer.from('%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n').toString('base64')
