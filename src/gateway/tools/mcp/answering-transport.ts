/** The transport of a server that is a function in this process. */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../formats/json-values.js'

/** The answer to a message; null where there is none. */
export type AnswerMcpMessage = (message: JsonObject) => JsonObject | null

export class AnsweringTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #answer: AnswerMcpMessage

  constructor(answer: AnswerMcpMessage) {
    this.#answer = answer
  }

  async start(): Promise<void> {}

  /** The answer comes in a later turn, as over a wire. */
  async send(message: JSONRPCMessage): Promise<void> {
    const answer = this.#answer(message as JsonObject)
    if (answer !== null) setImmediate(() => this.onmessage?.(answer as JSONRPCMessage))
  }

  async close(): Promise<void> {
    this.onclose?.()
  }
}
