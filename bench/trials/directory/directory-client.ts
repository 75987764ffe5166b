/** The side of an identity provider on the wire: one connection, one request at a time, no faster than it may. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '../../harness/http/connection.js'
import type { RequestSpec } from '../../harness/http/requests.js'
import { apiRequest } from '../requests.js'

/** What a connection answers. */
export interface DirectoryAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: resources of many kinds, read by those who have just asked for them
  readonly json: any
  /** From the sending to the answer, milliseconds. */
  readonly ms: number
}

/** A little below the 50 a second that are let through, as a provider does that knows the limit. */
const PER_SECOND = 49
/** So far it may lag behind its own pace and still make up for it. */
const MOST_CATCH_UP_MS = 1_000

export class DirectoryClient {
  readonly #port: number
  readonly #token: string
  readonly #gapMs: number
  #connection: Connection | null = null
  #dueAt = 0
  /** Requests that were answered, refusals for the rate aside. */
  answered = 0
  /** Answers 429, after each of which it waits as long as it was told. */
  limited = 0

  constructor(port: number, token: string, perSecond = PER_SECOND) {
    this.#port = port
    this.#token = token
    this.#gapMs = 1_000 / perSecond
  }

  /** One request below `/scim/v2`. Faults: ConnectionLost when it gets no answer. */
  async ask(method: RequestSpec['method'], path: string, body?: object): Promise<DirectoryAnswer> {
    const request = apiRequest(method, `/scim/v2${path}`, body, this.#token)
    for (;;) {
      await this.#pace()
      if (this.#connection?.usable !== true) this.#connection = await Connection.open(this.#port)
      const sentAt = performance.now()
      const { status, headers, body: bytes } = await this.#connection.send(request)
      const ms = performance.now() - sentAt
      if (status !== 429) {
        this.answered++
        return { status, ms, json: bytes.length === 0 ? null : JSON.parse(bytes.toString()) }
      }
      this.limited++
      await sleep(1_000 * Number(headers.get('retry-after')))
    }
  }

  /** As `ask`, of what has to succeed. Faults: Error with the answer as well. */
  async require(method: RequestSpec['method'], path: string, body?: object): Promise<DirectoryAnswer> {
    const answer = await this.ask(method, path, body)
    if (answer.status < 300) return answer
    throw new Error(`${method} ${path} was answered with ${answer.status} ${JSON.stringify(answer.json)}`)
  }

  drop(): void {
    this.#connection?.drop()
  }

  async #pace(): Promise<void> {
    const now = performance.now()
    this.#dueAt = Math.max(this.#dueAt + this.#gapMs, now - MOST_CATCH_UP_MS)
    if (this.#dueAt > now) await sleep(this.#dueAt - now)
  }
}
