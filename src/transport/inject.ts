/**
 * The in-memory twin of the native edge: the same routes without a socket, for tests and for tools that want an
 * answer from inside. It keeps the native edge's rules (framing guard, limits, HEAD, 204, abort) and runs the
 * same conformance suite. What it cannot show is timing: there is no slow reader in memory.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { type Call, isStream, type Reply, type Route, type Sink, type StreamBody } from './exchange.js'
import { FramingGuard } from './framing.js'

export interface InjectedRequest {
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

export interface InjectedReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The server announced that it closes the connection. */
  readonly close: boolean
}

export type Inject = (request: InjectedRequest) => Promise<InjectedReply>

const STREAM_DEADLINE = Symbol('deadline')

/** Binds routes to memory. `allowChunked` as in the native edge. */
export function injector(routes: readonly Route[], allowChunked = false): Inject {
  return async (request) => {
    const [path = '', query = ''] = split(request.url)
    const match = find(routes, request.method, path)
    if (match === null) throw new TypeError(`no route for ${request.method} ${path}, not even a fallback`)
    const call = new InjectedCall(request, match, query)
    const { route } = match
    route.arrived()
    const answered = await answer(call, route, request, allowChunked)
    return call.finish(answered, request.method === 'HEAD')
  }
}

interface Answered {
  readonly reply: Reply
  readonly close: boolean
}

async function answer(
  call: InjectedCall,
  route: Route,
  request: InjectedRequest,
  allowChunked: boolean,
): Promise<Answered> {
  const guard = new FramingGuard(allowChunked)
  for (const [name, value] of fields(request)) guard.see(name.toLowerCase(), value)
  const verdict = guard.verdict()
  if (verdict !== 'ok') return { reply: route.refuse(verdict), close: true }
  const length = guard.bodyLength < 0 ? call.sent.byteLength : guard.bodyLength
  if (length > route.bodyLimit) return { reply: route.refuse('payload-too-large'), close: true }
  const refusal = route.admit(call)
  if (refusal !== null) return { reply: refusal, close: false }
  call.receive(route.readsBody)
  return { reply: await withDeadline(call, route), close: false }
}

async function withDeadline(call: InjectedCall, route: Route): Promise<Reply> {
  const reply = route.answer(call)
  if (!(reply instanceof Promise)) return kept(reply)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<typeof STREAM_DEADLINE>((resolve) => {
    timer = setTimeout(() => resolve(STREAM_DEADLINE), route.deadlineMs)
  })
  const first = await Promise.race([reply, late])
  clearTimeout(timer)
  if (first !== STREAM_DEADLINE) return first
  call.leave()
  return route.refuse('deadline-exceeded')
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
  return [...added, ...given]
}

function split(url: string): [string, string] {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}

interface Match {
  readonly route: Route
  readonly params: readonly string[]
}

/** Fixed segments before parameters before the catch-all; a named method before `*`. */
function find(routes: readonly Route[], method: string, path: string): Match | null {
  const matches = routes.flatMap((route) => {
    const params = matchPath(route.path, path)
    return params === null ? [] : [{ route, params }]
  })
  const rank = ({ route }: Match): number => (route.path === '/*' ? 1000 : route.path.split('{').length)
  const best = Math.min(...matches.map(rank))
  const nearest = matches.filter((match) => rank(match) === best)
  const wanted = method === 'HEAD' ? ['HEAD', 'GET', '*'] : [method, '*']
  for (const name of wanted) {
    const match = nearest.find(({ route }) => route.method === name)
    if (match !== undefined) return match
  }
  return null
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
  readonly arrivedAt = performance.now()
  readonly address: string
  readonly query: string
  readonly sent: Uint8Array
  body: Uint8Array = new Uint8Array(0)
  readonly #match: Match
  readonly #headers = new Map<string, string>()
  readonly #leaving = new AbortController()

  constructor(request: InjectedRequest, match: Match, query: string) {
    this.#match = match
    this.query = match.route.readsQuery ? query : ''
    this.address = match.route.readsAddress ? (request.address ?? '127.0.0.1') : ''
    this.sent = Buffer.from(request.body ?? '')
    for (const [name, value] of fields(request)) {
      if (match.route.headers.includes(name.toLowerCase())) this.#headers.set(name.toLowerCase(), value)
    }
    request.signal?.addEventListener('abort', () => this.leave(), { once: true })
    if (request.signal?.aborted) this.leave()
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

  whenGone(leave: () => void): void {
    if (this.gone) leave()
    else this.signal.addEventListener('abort', leave, { once: true })
  }

  get gone(): boolean {
    return this.#leaving.signal.aborted
  }

  leave(): void {
    this.#leaving.abort()
  }

  receive(reads: boolean): void {
    if (reads) this.body = this.sent
  }

  async finish({ reply, close }: Answered, head: boolean): Promise<InjectedReply> {
    const { route } = this.#match
    const whole = isStream(reply.body) ? (head ? '' : await drained(reply.body, this)) : (reply.body ?? '')
    const body = head ? Buffer.alloc(0) : Buffer.from(whole)
    const headers: IncomingHttpHeaders = {}
    for (const [name, value] of reply.headers) headers[name.toLowerCase()] = value
    if (reply.body !== null && !isStream(reply.body))
      headers['content-length'] = String(Buffer.byteLength(whole))
    if (close) headers.connection = 'close'
    const left = this.gone && reply.status === 0
    route.settled(this.arrivedAt, reply.status, this.body.byteLength, body.byteLength, left)
    return { status: reply.status, headers, body, close }
  }
}

/** Everything a stream writes until it ends or its caller leaves. */
function drained(stream: StreamBody, call: InjectedCall): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let over = false
    const end = (): void => {
      if (over) return
      over = true
      resolve(Buffer.concat(chunks))
    }
    const sink: Sink = {
      write: (chunk) => {
        if (!over) chunks.push(Buffer.from(chunk as string))
        return true
      },
      end,
      onDrain: () => {},
      onGone: (leave) => call.whenGone(leave),
    }
    call.whenGone(end)
    stream.start(sink)
  })
}
