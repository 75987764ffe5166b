/** Calls the gateway as any client would, and keeps all that is heard: nothing is repaired, nothing is tried again. */
import { once } from 'node:events'
import {
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'

/** A gateway, as its callers know it. */
export interface GatewayAddress {
  /** `http` or `https`, host and port. */
  readonly url: string
  /** A credential; never shown. */
  readonly key: string
}

/** All that came of one call. */
export interface GatewayResponse {
  /** 0 when no head came. */
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Milliseconds from the request to the head of the answer, and to its end. */
  readonly headMs: number
  readonly endMs: number
  /** Why there was no proper end; null when there was one. */
  readonly incompleteReason: string | null
}

/** Longer than any scenario may take. */
const CALL_LIMIT_MS = 45_000
const MAX_ANSWER = 1024 * 1024

/** Calls one after the other over one connection, so that one worker of the gateway gets all of them. */
export class GatewayClient {
  readonly #address: GatewayAddress
  readonly #agent: HttpAgent | HttpsAgent
  readonly #signal: AbortSignal

  /** Once `left` fires, what is under way ends at once and says so. */
  constructor(address: GatewayAddress, left: AbortSignal) {
    this.#address = address
    this.#signal = left
    const kept = { keepAlive: true, maxSockets: 1 }
    this.#agent = address.url.startsWith('https:') ? new HttpsAgent(kept) : new HttpAgent(kept)
  }

  /** Never rejects: what goes wrong is what was heard. */
  sendChat(body: object): Promise<GatewayResponse> {
    return this.#call('POST', '/api/v1/chat/completions', JSON.stringify(body), CALL_LIMIT_MS)
  }

  get(path: string, limitMs = 10_000): Promise<GatewayResponse> {
    return this.#call('GET', `/api/v1${path}`, '', limitMs)
  }

  close(): void {
    this.#agent.destroy()
  }

  async #call(method: string, path: string, body: string, limitMs: number): Promise<GatewayResponse> {
    const url = new URL(path, this.#address.url)
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const startedAt = performance.now()
    const limit = AbortSignal.timeout(limitMs)
    let received = { status: 0, headers: {} as IncomingHttpHeaders, headMs: 0 }
    let text = ''
    const end = (incompleteReason: string | null): GatewayResponse => {
      return { ...received, body: text, endMs: performance.now() - startedAt, incompleteReason }
    }
    try {
      const request = send(url, {
        method,
        agent: this.#agent,
        signal: AbortSignal.any([this.#signal, limit]),
        headers: {
          Authorization: `Bearer ${this.#address.key}`,
          'X-Service-Metadata': 'enabled',
          ...(body !== '' && {
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(body),
          }),
        },
      })
      // What breaks once there is a response is an error of the response as well.
      request.on('error', () => {})
      request.end(body)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const { statusCode = 0, headers } = response
      received = { status: statusCode, headers, headMs: performance.now() - startedAt }
      response.setEncoding('utf8')
      for await (const part of response as AsyncIterable<string>) if (text.length < MAX_ANSWER) text += part
      return end(response.complete ? null : 'the connection broke in the middle')
    } catch (error) {
      if (this.#signal.aborted) return end('the drill was ended')
      if (limit.aborted) return end(`no end within ${limitMs / 1000} s`)
      return end(`the connection ${received.status === 0 ? 'failed' : 'broke'}: ${(error as Error).message}`)
    }
  }
}
