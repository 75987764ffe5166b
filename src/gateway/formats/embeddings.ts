/** What a caller and a provider of embeddings say to each other (contract/gateway 13). */
import { NO_USAGE, type RoutedRequest, type Usage } from './canonical.js'

/** A text, a list of texts, the tokens of a text, or a list of those. */
type EmbeddingsInput = string | readonly string[] | readonly number[] | readonly (readonly number[])[]

/** A validated request. */
export interface EmbeddingsRequest extends RoutedRequest {
  readonly model: string
  readonly input: EmbeddingsInput
  /** How a vector is written: its numbers, or the bytes of 32-bit floats in base64. */
  readonly encoding_format: 'float' | 'base64'
  readonly dimensions?: number
}

/** A vector as it is handed on: numbers, or base64. */
export type Vector = string | readonly number[]

export interface Embeddings {
  /** One for each input, in their order, all in the encoding that was asked for. */
  readonly vectors: readonly Vector[]
  /** Null when the provider sent no figures. */
  readonly usage: Usage | null
}

/** The single texts, or lists of tokens, each of which gets a vector. */
export function inputsOf(input: EmbeddingsInput): readonly (string | readonly number[])[] {
  if (typeof input === 'string') return [input]
  return typeof input[0] === 'number'
    ? [input as readonly number[]]
    : (input as readonly (string | readonly number[])[])
}

export function embeddingsUsage(tokens: number): Usage {
  return { ...NO_USAGE, prompt: tokens }
}

/** The vector in an encoding; null when it is none. */
export function encodeVector(vector: unknown, encoding: EmbeddingsRequest['encoding_format']): Vector | null {
  if (typeof vector === 'string') {
    const bytes = Buffer.from(vector, 'base64')
    if (!holdsFloats(bytes)) return null
    // Written anew, as decoding passes over what is no base64.
    return encoding === 'base64' ? bytes.toString('base64') : floatsOf(bytes)
  }
  if (!Array.isArray(vector) || vector.length === 0 || !vector.every(Number.isFinite)) return null
  if (encoding === 'float') return vector as number[]
  const bytes = bytesOf(vector as number[])
  return holdsFloats(bytes) ? bytes.toString('base64') : null
}

/** One or more, each of them finite: JSON has no word for others, and 32 bits none for numbers beyond 3.4e38. */
function holdsFloats(bytes: Buffer): boolean {
  if (bytes.length === 0 || bytes.length % 4 !== 0) return false
  for (let at = 0; at < bytes.length; at += 4) if (!Number.isFinite(bytes.readFloatLE(at))) return false
  return true
}

function floatsOf(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4))
}

function bytesOf(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(numbers.length * 4)
  for (let at = 0; at < numbers.length; at++) bytes.writeFloatLE(numbers[at]!, at * 4)
  return bytes
}
