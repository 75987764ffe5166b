/** Calls the gateway as any client would, and keeps all that is heard: nothing is repaired, nothing is tried again. */
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

/** A lane of calls, one after the other over one connection, so that one worker of the gateway gets all of them. */
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

  #call(method: string, path: string, body: string, limitMs: number): Promise<GatewayResponse> {
    const url = new URL(path, this.#address.url)
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const startedAt = performance.now()
    return new Promise((resolve) => {
      const reader = new ResponseReader(startedAt, resolve)
      const request = send(url, {
        method,
        agent: this.#agent,
        headers: {
          Authorization: `Bearer ${this.#address.key}`,
          'X-Service-Metadata': 'enabled',
          ...(body === ''
            ? {}
            : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        },
      })
      const stop = (why: string) => (): void => {
        reader.end(why)
        request.destroy()
      }
      const left = stop('the drill was ended')
      const timer = setTimeout(stop(`no end within ${limitMs / 1000} s`), limitMs)
      reader.onEnd = () => {
        clearTimeout(timer)
        this.#signal.removeEventListener('abort', left)
      }
      this.#signal.addEventListener('abort', left)
      request.once('response', (response) => reader.readResponse(response))
      request.on('error', (error) => reader.end(`the connection failed: ${error.message}`))
      request.end(body)
      if (this.#signal.aborted) left()
    })
  }
}

/** One answer as it comes. */
class ResponseReader {
  onEnd: () => void = () => {}
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #headMs = 0
  #body = ''
  #over = false

  constructor(
    private readonly startedAt: number,
    private readonly resolve: (response: GatewayResponse) => void,
  ) {}

  readResponse(response: IncomingMessage): void {
    this.#status = response.statusCode ?? 0
    this.#headers = response.headers
    this.#headMs = performance.now() - this.startedAt
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      if (this.#body.length < MAX_ANSWER) this.#body += text
    })
    response.once('end', () => this.end(response.complete ? null : 'the connection broke in the middle'))
    response.on('error', (error) => this.end(`the connection broke: ${error.message}`))
  }

  end(incompleteReason: string | null): void {
    if (this.#over) return
    this.#over = true
    this.onEnd()
    this.resolve({
      status: this.#status,
      headers: this.#headers,
      body: this.#body,
      headMs: this.#headMs,
      endMs: performance.now() - this.startedAt,
      incompleteReason,
    })
  }
}
