/** What the server says about bodies of an inference. */
import type { z } from 'zod'
import { Fault, type ValidationIssue } from '../../src/base/fault.js'
import { faultDetail } from '../../src/http/dialects/gateway.js'
import { readBySchema } from '../../src/http/input.js'

/** Reads what a caller sends as the operation does. */
export class BodyReader<B, R> {
  readonly #schema: z.ZodType<B>
  readonly #decode: (body: B, sessionId: string) => R

  constructor(schema: z.ZodType<B>, decode: (body: B, sessionId: string) => R) {
    this.#schema = schema
    this.#decode = decode
  }

  /** The request of anything a caller may send. Throws the fault it is refused with. */
  readonly decoded = (input: unknown, sessionId = ''): R => {
    const issues: ValidationIssue[] = []
    const body = readBySchema(this.#schema, input, issues)
    if (issues.length > 0) throw new Fault('invalid-input', { issues })
    return this.#decode(body as B, sessionId)
  }

  /** The sentence a caller reads, or null for a request that is taken. */
  readonly refusal = (input: unknown, sessionId = ''): string | null => {
    try {
      this.decoded(input, sessionId)
      return null
    } catch (error) {
      if (error instanceof Fault && error.kind === 'invalid-input') return faultDetail(error)!
      throw error
    }
  }
}
