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
export interface Heard {
  /** 0 when no head came. */
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Milliseconds from the request to the head of the answer, and to its end. */
  readonly headMs: number
  readonly endMs: number
  /** Why there was no proper end; null when there was one. */
  readonly broke: string | null
}

/** Longer than any scenario may take. */
const LONGEST_MS = 45_000
const MAX_ANSWER = 1024 * 1024

/** A lane of calls, one after the other over one connection, so that one worker of the gateway gets all of them. */
export class GatewayCaller {
  readonly #address: GatewayAddress
  readonly #agent: HttpAgent | HttpsAgent
  readonly #left: AbortSignal

  /** Once `left` fires, what is under way ends at once and says so. */
  constructor(address: GatewayAddress, left: AbortSignal) {
    this.#address = address
    this.#left = left
    const kept = { keepAlive: true, maxSockets: 1 }
    this.#agent = address.url.startsWith('https:') ? new HttpsAgent(kept) : new HttpAgent(kept)
  }

  /** Never rejects: what goes wrong is what was heard. */
  chat(body: object): Promise<Heard> {
    return this.#call('POST', '/api/v1/chat/completions', JSON.stringify(body), LONGEST_MS)
  }

  get(path: string, limitMs = 10_000): Promise<Heard> {
    return this.#call('GET', `/api/v1${path}`, '', limitMs)
  }

  close(): void {
    this.#agent.destroy()
  }

  #call(method: string, path: string, body: string, limitMs: number): Promise<Heard> {
    const url = new URL(path, this.#address.url)
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const begun = performance.now()
    return new Promise((resolve) => {
      const hearing = new Hearing(begun, resolve)
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
        hearing.end(why)
        request.destroy()
      }
      const left = stop('the drill was ended')
      const timer = setTimeout(stop(`no end within ${limitMs / 1000} s`), limitMs)
      hearing.whenOver = () => {
        clearTimeout(timer)
        this.#left.removeEventListener('abort', left)
      }
      this.#left.addEventListener('abort', left)
      request.once('response', (response) => hearing.listen(response))
      request.on('error', (error) => hearing.end(`the connection failed: ${error.message}`))
      request.end(body)
      if (this.#left.aborted) left()
    })
  }
}

/** One answer as it comes. */
class Hearing {
  whenOver: () => void = () => {}
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #headMs = 0
  #body = ''
  #over = false

  constructor(
    private readonly begun: number,
    private readonly resolve: (heard: Heard) => void,
  ) {}

  listen(response: IncomingMessage): void {
    this.#status = response.statusCode ?? 0
    this.#headers = response.headers
    this.#headMs = performance.now() - this.begun
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      if (this.#body.length < MAX_ANSWER) this.#body += text
    })
    response.once('end', () => this.end(response.complete ? null : 'the connection broke in the middle'))
    response.on('error', (error) => this.end(`the connection broke: ${error.message}`))
  }

  end(broke: string | null): void {
    if (this.#over) return
    this.#over = true
    this.whenOver()
    this.resolve({
      status: this.#status,
      headers: this.#headers,
      body: this.#body,
      headMs: this.#headMs,
      endMs: performance.now() - this.begun,
      broke,
    })
  }
}
