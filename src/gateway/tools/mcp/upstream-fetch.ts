/**
 * `fetch` over our own client, for a library that wants one: so the limits, the connections and the address guard of
 * `src/upstream` are the owner's. Redirects arrive as answers.
 */
import type { UpstreamCall, UpstreamClient, UpstreamRequest } from '../../../upstream/port.js'
import { Pace } from './pace.js'

interface UpstreamFetchOptions {
  readonly upstream: UpstreamClient
  /** Most bytes of an answer, and of one event where it is a stream of them; beyond them its body fails. */
  readonly maxAnswerBytes: number
  /** Milliseconds from a request to the end of its answer; a GET is a stream of events that stays open. */
  readonly timeoutMs: number
  /** Sent with every request, names and values by turns; they win over those of the library. */
  readonly headers: readonly (readonly [string, string])[]
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Of one server: few, for the calls are bounded before they come here. */
const LIMITS = { connections: 64, keepAliveMs: 4_000 }
const CONNECT_MS = 5_000
const NEVER = 2 ** 31 - 1
const NO_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304])

export function upstreamFetch(options: UpstreamFetchOptions): Fetch {
  return (url, init = {}) => {
    const { signal } = init
    if (signal?.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const abort = (): void => answer.abort(signal?.reason)
      // The library has one signal for all requests of a connection.
      const whenOver = (): void => signal?.removeEventListener('abort', abort)
      const answer = new FetchedAnswer(options.maxAnswerBytes, { resolve, reject, whenOver })
      const request = toRequest(new URL(url), init, options)
      signal?.addEventListener('abort', abort)
      answer.begin(options.upstream, request)
    })
  }
}

function toRequest(url: URL, init: RequestInit, options: UpstreamFetchOptions): UpstreamRequest {
  const method = init.method ?? 'GET'
  if (method !== 'GET' && method !== 'POST' && method !== 'DELETE') throw new TypeError(`no ${method} here`)
  if (init.body !== null && init.body !== undefined && typeof init.body !== 'string') {
    throw new TypeError('bodies are texts here')
  }
  const headers = new Headers(init.headers ?? {})
  headers.set('accept-encoding', 'identity')
  headers.set('user-agent', 'sluice')
  for (const [name, value] of options.headers) headers.set(name, value)
  const totalMs = method === 'GET' ? NEVER : options.timeoutMs
  const headersMs = Math.min(options.timeoutMs, totalMs)
  return {
    method,
    origin: url.origin,
    path: url.pathname + url.search,
    headers: [...headers].flat(),
    body: init.body ?? null,
    timeouts: { connectMs: CONNECT_MS, headersMs, firstTokenMs: totalMs, idleMs: totalMs, totalMs },
    limits: LIMITS,
    caller: '',
    deadlineAt: Number.POSITIVE_INFINITY,
    repeatable: false,
    answerHeaders: ['mcp-session-id', 'www-authenticate'],
  }
}

interface AnswerReceiver {
  resolve(response: Response): void
  reject(reason: unknown): void
  /** Nothing more comes, or is wanted. */
  whenOver(): void
}

/** One request, and its answer as the platform shows one. */
class FetchedAnswer {
  readonly #maxBytes: number
  readonly #receiver: AnswerReceiver
  #call: UpstreamCall | null = null
  #body: ReadableStreamDefaultController<Uint8Array> | null = null
  /** Of the answer, or of the event that is under way. */
  #size = 0
  /** The last bytes of a stream of events, between which and the next ones an event may end. */
  #tail: Buffer | null = null
  #isOver = false
  readonly #pace = new Pace()
  /** Where it says too much: nothing is read until its second is over. */
  #isHeld = false

  constructor(maxBytes: number, receiver: AnswerReceiver) {
    this.#maxBytes = maxBytes
    this.#receiver = receiver
  }

  begin(upstream: UpstreamClient, request: UpstreamRequest): void {
    this.#call = upstream.call(request, {
      onHead: (status, headers) => this.#takeHead(status, headers),
      onData: (chunk) => this.#takePiece(chunk),
      onEnd: () => {
        if (this.#finish()) this.#body?.close()
      },
      onFailure: ({ reason, phase }) =>
        this.#fail(new Error(`the server could not be asked: ${reason} (${phase})`)),
    })
  }

  abort(reason: unknown): void {
    this.#call?.cancel()
    this.#fail(reason)
  }

  #takeHead(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    const entries = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    if (/^text\/event-stream\b/i.test(String(headers['content-type']))) this.#tail = Buffer.alloc(0)
    const body = NO_BODY.has(status) ? null : this.#openBody()
    try {
      this.#receiver.resolve(new Response(body, { status, headers: entries }))
    } catch {
      // A status or a header that the platform has no form for.
      this.abort(new Error('the answer is no HTTP'))
    }
  }

  /** The reader holds the server back. */
  #openBody(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#body = controller
      },
      pull: () => {
        if (!this.#isHeld) this.#call?.resume()
      },
      cancel: () => {
        this.#finish()
        this.#call?.cancel()
      },
    })
  }

  #takePiece(chunk: Uint8Array): void {
    if (this.#isOver || this.#body === null) return
    const bytes = Buffer.from(chunk)
    this.#size = this.#tail === null ? this.#size + bytes.length : this.#sizeOfEvent(this.#tail, bytes)
    if (this.#size > this.#maxBytes) {
      this.abort(new Error(`the answer is larger than ${this.#maxBytes} bytes`))
      return
    }
    this.#body.enqueue(bytes)
    if (this.#tail !== null) this.#holdFor(this.#pace.take(bytes, performance.now()))
    if (this.#isHeld || (this.#body.desiredSize ?? 1) <= 0) this.#call?.pause()
  }

  #holdFor(ms: number): void {
    if (ms === 0 || this.#isHeld) return
    this.#isHeld = true
    setTimeout(() => {
      this.#isHeld = false
      if (!this.#isOver && (this.#body?.desiredSize ?? 0) > 0) this.#call?.resume()
    }, ms).unref()
  }

  /** An empty line ends an event. */
  #sizeOfEvent(tail: Buffer, bytes: Buffer): number {
    const seen = Buffer.concat([tail, bytes])
    this.#tail = seen.subarray(-3)
    const end = Math.max(seen.lastIndexOf('\n\n') + 2, seen.lastIndexOf('\n\r\n') + 3)
    return end > 2 ? seen.length - end : this.#size + bytes.length
  }

  /** Before the head the promise is rejected, after it the body fails; the other of the two does nothing. */
  #fail(reason: unknown): void {
    if (!this.#finish()) return
    this.#receiver.reject(reason)
    this.#body?.error(reason)
  }

  /** False where it was over before. */
  #finish(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#receiver.whenOver()
    return true
  }
}
