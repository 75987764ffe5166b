/**
 * The in-memory twin of the native edge: the same routes without a socket, for tests and for tools that want an
 * answer from inside. It keeps the native edge's rules (framing guard, limits, HEAD, 204, abort) and runs the
 * same conformance suite. What it cannot show is timing: there is no slow reader in memory.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { requestId } from '../../../src/base/ids.js'
import {
  type Call,
  type IncomingBody,
  isSized,
  isStream,
  type Reply,
  type Route,
  type Sink,
  type SizedBody,
  type StreamBody,
} from '../../../src/transport/exchange.js'
import { FramingGuard } from '../../../src/transport/framing.js'
import { PieceQueue } from '../../../src/transport/piece-queue.js'

interface InjectedRequest {
  readonly method: string
  /** Path and query, as in a request line. */
  readonly url: string
  /** In order, repeats allowed. `Host` and `Content-Length` are added where they are missing. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string | Uint8Array
  readonly address?: string
  /** The caller leaves when it fires. */
  readonly signal?: AbortSignal
}

interface InjectedReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The server announced that it closes the connection. */
  readonly close: boolean
}

export type Inject = (request: InjectedRequest) => Promise<InjectedReply>

/** Most bytes a body that is read as a stream brings at once. */
const PIECE_BYTES = 16 * 1024
const LATE = Symbol('deadline')
const LEFT = Symbol('left')

/**
 * Binds routes to memory. `allowChunked` as in the native edge. Where the native edge cuts the connection without
 * an answer (a caller that leaves, a body shorter than declared, a handler that throws) the promise rejects; a
 * stream whose caller leaves resolves with what it has written.
 */
export function injector(routes: readonly Route[], allowChunked = false): Inject {
  return async (request) => {
    const [path = '', query = ''] = split(request.url)
    const match = find(routes, request.method, path)
    if (match === null) throw new TypeError(`no route for ${request.method} ${path}, not even a fallback`)
    const call = new InjectedCall(request, match, query)
    match.route.arrived(call.arrivedAt)
    try {
      return await call.finish(await answer(call, request, allowChunked), request.method === 'HEAD')
    } catch (error) {
      call.settle(0, 0, true)
      throw error
    }
  }
}

interface Answered {
  readonly reply: Reply
  readonly close: boolean
}

async function answer(
  call: InjectedCall,
  request: InjectedRequest,
  allowChunked: boolean,
): Promise<Answered> {
  const { route } = call
  const guard = new FramingGuard(allowChunked)
  for (const [name, value] of fields(request)) guard.see(name.toLowerCase(), value)
  const verdict = guard.verdict()
  if (verdict !== 'ok') return { reply: route.refuse(verdict, call), close: true }
  const length = guard.bodyLength < 0 ? call.sent.byteLength : guard.bodyLength
  if (length > route.bodyLimit) return { reply: route.refuse('payload-too-large', call), close: true }
  const admitted = route.admit(call)
  const refusal = admitted instanceof Promise ? await admitted : admitted
  if (refusal !== null) return { reply: refusal, close: false }
  if (route.readsBody !== 'stream') call.receive(length)
  return withDeadline(
    call,
    route,
    route.readsBody === 'stream' ? call.deliver(guard.bodyLength, length) : null,
  )
}

/** `delivered` resolves when a body that is read as a stream has arrived; it rejects when it ends early. */
async function withDeadline(
  call: InjectedCall,
  route: Route,
  delivered: Promise<never> | null,
): Promise<Answered> {
  // A body that ends early after the answer is nobody's business any more.
  delivered?.catch(() => {})
  const reply = route.answer(call)
  if (!(reply instanceof Promise)) return { reply: kept(reply), close: call.arriving }
  const left = new Promise<typeof LEFT>((resolve) => call.onAbort(() => resolve(LEFT)))
  const late = timer(route.deadlineMs)
  const outcomes = [reply, left, late.passed, ...(delivered === null ? [] : [delivered])]
  const first = await Promise.race(outcomes).finally(late.stop)
  if (first === LEFT) throw call.signal.reason
  if (first !== LATE) return { reply: first, close: call.arriving }
  call.leave()
  return { reply: route.refuse(call.arriving ? 'request-timeout' : 'deadline-exceeded', call), close: true }
}

function timer(ms: number): { readonly passed: Promise<typeof LATE>; readonly stop: () => void } {
  let handle: NodeJS.Timeout | undefined
  const passed = new Promise<typeof LATE>((resolve) => {
    handle = setTimeout(() => resolve(LATE), ms)
  })
  return { passed, stop: () => clearTimeout(handle) }
}

/** Borrowed bytes are only good for this turn. */
function kept(reply: Reply): Reply {
  return reply.body instanceof Uint8Array ? { ...reply, body: Uint8Array.from(reply.body) } : reply
}

/** The request's header fields with those an HTTP client always sends. */
function fields(request: InjectedRequest): (readonly [string, string])[] {
  const given = request.headers ?? []
  const has = (name: string): boolean => given.some(([field]) => field.toLowerCase() === name)
  const added: (readonly [string, string])[] = []
  if (!has('host')) added.push(['Host', 'sluice.test'])
  if (request.body !== undefined && !has('content-length') && !has('transfer-encoding')) {
    added.push(['Content-Length', String(Buffer.byteLength(request.body))])
  }
  // White space around a value is not part of it (RFC 9110 section 5.5).
  return [...added, ...given.map(([name, value]): readonly [string, string] => [name, value.trim()])]
}

function split(url: string): [string, string] {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}

interface Match {
  readonly route: Route
  readonly params: readonly string[]
}

/**
 * Routes of the method before `*`, as the native router has it; among them fixed segments before parameters
 * before the catch-all.
 */
function find(routes: readonly Route[], method: string, path: string): Match | null {
  const matches = routes.flatMap((route) => {
    const params = matchPath(route.path, path)
    return params === null ? [] : [{ route, params }]
  })
  const rank = ({ route }: Match): number => (route.path === '/*' ? 1000 : route.path.split('{').length)
  const nearest = matches.toSorted((one, other) => rank(one) - rank(other))
  const names = method === 'HEAD' ? ['HEAD', 'GET'] : [method]
  const named = nearest.find(({ route }) => names.includes(route.method))
  return named ?? nearest.find(({ route }) => route.method === '*') ?? null
}

function matchPath(pattern: string, path: string): string[] | null {
  if (pattern === '/*') return []
  const expected = pattern.split('/')
  const actual = path.split('/')
  if (expected.length !== actual.length) return null
  const params: string[] = []
  for (const [i, part] of expected.entries()) {
    const text = actual[i]!
    if (part.startsWith('{') && text !== '') params.push(text)
    else if (part !== text) return null
  }
  return params
}

class InjectedCall implements Call {
  readonly requestId = requestId()
  admitted: unknown = null
  readonly arrivedAt = performance.now()
  readonly address: string
  readonly query: string
  readonly sent: Uint8Array
  body: Uint8Array = new Uint8Array(0)
  incoming: IncomingBody | null = null
  /** A body that is read as a stream has not arrived as a whole. */
  arriving = false
  readonly #match: Match
  readonly #headers = new Map<string, string>()
  readonly #leaving = new AbortController()
  #bytesIn = 0
  #settled = false

  constructor(request: InjectedRequest, match: Match, query: string) {
    this.#match = match
    this.query = match.route.readsQuery ? query : ''
    this.address = match.route.readsAddress ? (request.address ?? '127.0.0.1') : ''
    this.sent = Buffer.from(request.body ?? '')
    for (const [field, value] of fields(request)) {
      const name = field.toLowerCase()
      // Of a repeated field the first line counts, as in the native edge.
      if (match.route.headers.includes(name) && !this.#headers.has(name)) this.#headers.set(name, value)
    }
    request.signal?.addEventListener('abort', () => this.leave(), { once: true })
    if (request.signal?.aborted) this.leave()
  }

  get route(): Route {
    return this.#match.route
  }

  param(index: number): string {
    const raw = this.#match.params[index] ?? ''
    try {
      return decodeURIComponent(raw)
    } catch {
      return raw
    }
  }

  header(name: string): string {
    return this.#headers.get(name) ?? ''
  }

  get signal(): AbortSignal {
    return this.#leaving.signal
  }

  onAbort(leave: () => void): void {
    if (this.gone) leave()
    else this.signal.addEventListener('abort', leave, { once: true })
  }

  get gone(): boolean {
    return this.#leaving.signal.aborted
  }

  leave(): void {
    this.#leaving.abort()
  }

  /** Takes as much of the body as was declared. */
  receive(length: number): void {
    if (this.sent.byteLength < length) throw new Error(`a body of ${length} bytes ended early`)
    this.#bytesIn = length
    if (this.route.readsBody) this.body = this.sent.subarray(0, length)
  }

  /**
   * Delivers the body piece by piece, one per turn of the loop, as far as its reader lets it come. Rejects when it
   * is shorter than declared, and settles in no other way.
   */
  deliver(declared: number, length: number): Promise<never> {
    let held = false
    let due = false
    let at = 0
    this.arriving = true
    return new Promise((_, reject) => {
      const soon = (): void => {
        if (due || held || !this.arriving) return
        due = true
        setImmediate(next)
      }
      const next = (): void => {
        due = false
        if (held || this.gone) return
        if (at < Math.min(length, this.sent.byteLength)) {
          const piece = this.sent.subarray(at, Math.min(at + PIECE_BYTES, length))
          at += piece.byteLength
          this.#bytesIn = at
          // A copy that is wiped afterwards: who keeps borrowed bytes is found out.
          const lent = Uint8Array.from(piece)
          queue.push(lent)
          lent.fill(0)
          soon()
        } else if (at < length) {
          // First, so that what the reader answers to it comes too late.
          reject(new Error(`a body of ${length} bytes ended early`))
          queue.fail()
        } else {
          this.arriving = false
          queue.complete()
        }
      }
      const queue = new PieceQueue(declared < 0 ? null : declared, {
        hold: () => {
          held = true
        },
        release: () => {
          held = false
          soon()
        },
      })
      this.incoming = queue
      this.onAbort(() => queue.fail())
      soon()
    })
  }

  settle(status: number, bytesOut: number, aborted: boolean): void {
    if (this.#settled) return
    this.#settled = true
    this.route.settled(this.arrivedAt, status, this.#bytesIn, bytesOut, aborted, this)
  }

  async finish({ reply, close }: Answered, head: boolean): Promise<InjectedReply> {
    const { status } = reply
    const stream = isStream(reply.body) ? reply.body : null
    const sized = isSized(reply.body) && !head ? await readAll(reply.body) : null
    const { bytes, cut } = stream === null || head ? whole(reply, sized) : await drained(stream, this)
    const body = head ? Buffer.alloc(0) : bytes
    const headers: IncomingHttpHeaders = {}
    for (const [name, value] of reply.headers) headers[name.toLowerCase()] = value
    const bodiless = reply.body === null && (status === 204 || status === 304)
    const size = isSized(reply.body) ? reply.body.size : bytes.byteLength
    if (stream === null && !bodiless) headers['content-length'] = String(size)
    if (close) headers.connection = 'close'
    this.settle(status, body.byteLength, cut)
    return { status, headers, body, close }
  }
}

interface Written {
  readonly bytes: Buffer
  /** The stream did not end by itself. */
  readonly cut: boolean
}

function whole({ body }: Reply, sized: Buffer | null): Written {
  const plain = body === null || isStream(body) || isSized(body) ? '' : body
  return { bytes: sized ?? Buffer.from(plain as string), cut: false }
}

/** All pieces of a body of known size. Rejects when there are fewer bytes than announced. */
async function readAll(body: SizedBody): Promise<Buffer> {
  const source = await body.open()
  const pieces: Buffer[] = []
  try {
    for (let left = body.size; left > 0; ) {
      const piece = Buffer.from(await source.read())
      if (piece.byteLength === 0) throw new Error('a body ended before its announced size')
      left -= piece.byteLength
      pieces.push(piece)
    }
  } finally {
    source.close()
  }
  return Buffer.concat(pieces)
}

/** Everything a stream writes until it ends, its caller leaves or the deadline passes. */
async function drained(stream: StreamBody, call: InjectedCall): Promise<Written> {
  const chunks: Buffer[] = []
  let over = false
  const late = timer(call.route.deadlineMs - (performance.now() - call.arrivedAt))
  const ended = new Promise<'ended'>((resolve) => {
    const sink: Sink = {
      write: (chunk) => {
        if (!over && !call.gone) chunks.push(Buffer.from(chunk as string))
        return true
      },
      end: () => {
        over = true
        resolve('ended')
      },
      onDrain: () => {},
      onGone: (leave) => call.onAbort(leave),
    }
    stream.start(sink)
  })
  const left = new Promise<typeof LEFT>((resolve) => call.onAbort(() => resolve(LEFT)))
  const first = await Promise.race([ended, left, late.passed]).finally(late.stop)
  if (first === LATE) {
    call.leave()
    chunks.push(Buffer.from(stream.lastWords))
  }
  return { bytes: Buffer.concat(chunks), cut: first !== 'ended' }
}
