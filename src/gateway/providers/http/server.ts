/** What calls of one configured server have in common: where they go, what they carry, and what must not be seen. */
import { Fault } from '../../../base/fault.js'
import { LARGE_BYTES, largeTurn } from '../../../base/large-turns.js'
import { writeAround } from '../../../base/long-strings.js'
import type {
  ConnectionPoolLimits,
  PhaseTimeouts,
  UpstreamCall,
  UpstreamClient,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../../upstream/port.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import { isPublicSkills } from '../../formats/extra-members.js'
import { deferCall } from '../port/deferred-call.js'
import { type FailureSource, rejectCall } from '../port/failure.js'
import type {
  CallHandle,
  CompletionReceiver,
  FailureReceiver,
  ProviderCall,
  StreamReceiver,
} from '../port/provider.js'
import type { DocumentFormat, StreamFormat } from './answer-format.js'
import { type MediaFormat, MediaInliner, type MediaInlining } from './linked-media.js'
import { DocumentExchange, type ProviderExchange, StreamExchange } from './provider-exchange.js'

export interface ServerOptions {
  /** Up to and without the path of an operation; a query in it goes along with every call. */
  readonly baseUrl: string
  readonly apiKey: string | null
  /** Fixed headers of the operator; they win over ours, save those that belong to the connection. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: PhaseTimeouts
  readonly limits: ConnectionPoolLimits
  readonly upstream: UpstreamClient
  /** For `User-Agent`. */
  readonly version: string
  /** Where the server cannot fetch all media itself. */
  readonly media?: MediaInlining
}

/** What a request has of its call. */
type CallBounds = Pick<UpstreamRequest, 'deadlineAt' | 'repeatable' | 'caller'>

/** A request without what changes from call to call. */
type RequestTemplate = Omit<UpstreamRequest, 'body' | keyof CallBounds>

/** What it is sent for. */
type SentFor = Pick<ProviderCall<RoutedRequest>, 'deadlineAt' | 'repeatable' | 'caller'>
/** Whose answer it is. */
type Answering = { readonly endpoint: { readonly provider: { readonly name: string } } }

interface ServerFetch {
  readonly call: Pick<ProviderCall<RoutedRequest>, 'deadlineAt' | 'caller'>
  readonly receiver: UpstreamReceiver
}

export type HeaderPairs = readonly (readonly [string, string])[]

/** A JSON object on its way to a provider. */
export type WireObject = Record<string, unknown>

/**
 * Builds the body of a call; a fault in its place ends the call before it begins. A text is sent as it is: it refers to
 * nothing that lies elsewhere, and its call does not ask to see it.
 */
type BodyBuilder<R extends RoutedRequest> = (call: ProviderCall<R>) => WireObject | string | Fault

type Operation<R extends RoutedRequest, T> = (call: ProviderCall<R>, receiver: T) => CallHandle

export class ProviderServer {
  readonly #options: ServerOptions
  readonly #ownHeaders: HeaderPairs
  readonly #secrets: readonly string[]
  readonly #media: MediaInliner | null

  /** `ownHeaders` are those of the format, the credential's among them; `mediaFormat` says where it has media. */
  constructor(options: ServerOptions, ownHeaders: HeaderPairs, mediaFormat: MediaFormat | null = null) {
    this.#options = options
    this.#media =
      options.media === undefined || mediaFormat === null
        ? null
        : new MediaInliner(options.media, mediaFormat)
    this.#ownHeaders = ownHeaders
    // Too short ones would mangle innocent words.
    this.#secrets = [options.apiKey ?? '', ...Object.values(options.headers)].filter(
      (text) => text.length >= 8,
    )
  }

  /** The request of an operation at `path` below the base URL. Throws a RangeError for a header it must not send. */
  template(path: string, accept: string): RequestTemplate {
    const { baseUrl, headers, timeouts, limits, version } = this.#options
    const url = new URL(baseUrl)
    const all = new Map([
      ['content-type', 'application/json'],
      ['accept', accept],
      ['accept-encoding', 'identity'],
      ['user-agent', `sluice/${version}`],
      ...this.#ownHeaders,
    ])
    for (const [name, value] of Object.entries(headers)) all.set(checkHeaderName(name.toLowerCase()), value)
    return {
      method: 'POST',
      origin: url.origin,
      path: `${url.pathname.replace(/\/+$/, '')}${path}${url.search}`,
      headers: [...all].flat(),
      timeouts,
      limits,
    }
  }

  /** The headers of a template but this one, which depends on the call. */
  headersWithout({ headers }: RequestTemplate, name: string): readonly string[] {
    return headers.filter((_, at) => headers[at - (at % 2)] !== name)
  }

  /** Who answers the call, for the texts of its failures. */
  source({ endpoint }: Answering): FailureSource {
    return { name: endpoint.provider.name, secrets: this.#secrets }
  }

  /** Reads what lies at `path` with our credential, on account of a call; for what its answer refers to. */
  fetch(path: string, headers: readonly string[], { call, receiver }: ServerFetch): UpstreamCall {
    const template = this.template(path, '*/*')
    const own = [...this.headersWithout(template, 'content-type'), ...headers]
    const { deadlineAt, caller } = call
    const bounds: CallBounds = { deadlineAt, repeatable: true, caller: caller.organizationId }
    return this.#options.upstream.call(
      { ...template, method: 'GET', headers: own, body: null, ...bounds },
      receiver,
    )
  }

  /** Sends a request whose body is ready. */
  send(
    exchange: ProviderExchange<FailureReceiver, unknown>,
    request: Omit<UpstreamRequest, keyof CallBounds>,
    { deadlineAt, repeatable, caller }: SentFor,
  ): CallHandle {
    const { method, origin, path, headers, body, timeouts, limits } = request
    // Member by member: to spread one object into another takes longer than all else here.
    const call: UpstreamRequest = {
      method,
      origin,
      path,
      headers,
      body,
      timeouts,
      limits,
      deadlineAt,
      repeatable,
      caller: caller.organizationId,
    }
    return exchange.attach(this.#options.upstream.call(call, exchange))
  }

  /** An operation whose body is JSON; `exchange` reads what answers it. */
  operation<R extends RoutedRequest, T extends FailureReceiver>(
    path: string,
    accept: string,
    build: BodyBuilder<R>,
    exchange: (call: ProviderCall<R>, receiver: T, body: unknown) => ProviderExchange<T, unknown>,
  ): Operation<R, T> {
    const template = this.template(path, accept)
    const { method, origin, path: target, timeouts, limits } = template
    const begin = (call: ProviderCall<R>, receiver: T, body: WireObject | string | Fault): CallHandle => {
      const text = typeof body === 'string' ? body : serialize(body)
      if (text instanceof Fault) return rejectCall(text, receiver)
      const send = ({ headers, body: written }: Pick<UpstreamRequest, 'body' | 'headers'>): CallHandle => {
        const request = { method, origin, path: target, headers, body: written, timeouts, limits }
        return this.send(exchange(call, receiver, body), request, call)
      }
      if (text !== null) return send({ body: text, headers: template.headers })
      return deferCall(writeInLargeTurn(body as WireObject, template.headers), send, receiver)
    }
    return (call, receiver) => {
      const body = build(call)
      const media = this.#media
      if (media === null || typeof body === 'string' || body instanceof Fault || !media.hasLinks(body))
        return begin(call, receiver, body)
      // Nothing is fetched for a call that is refused.
      const refused = refuseAccountReference(body)
      if (refused !== null) return rejectCall(refused, receiver)
      return media.send(call, body, (whole, watched: T) => begin(call, watched, whole), receiver)
    }
  }

  /** An operation that is answered with one document. */
  documentOperation<R extends RoutedRequest, A>(
    path: string,
    format: DocumentFormat<A>,
    build: BodyBuilder<R>,
  ): Operation<R, CompletionReceiver<A>> {
    return this.operation(
      path,
      'application/json',
      build,
      (call, receiver) => new DocumentExchange(this.source(call), receiver, format, call.generationId),
    )
  }

  /** An operation that is answered with a stream of events. */
  streamOperation<R extends RoutedRequest, E, A>(
    path: string,
    format: StreamFormat<E, A>,
    build: BodyBuilder<R>,
  ): Operation<R, StreamReceiver<E>> {
    return this.operation(path, 'text/event-stream', build, (call, receiver, body) => {
      const echo = wantsEcho(call.request) ? body : undefined
      return new StreamExchange(this.source(call), receiver, format, call.generationId, echo)
    })
  }
}

/** The same body with the members that its server takes and nobody here knows (contract/decisions 46). */
export function addExtraMembers(body: WireObject, { extra }: RoutedRequest): WireObject {
  for (const name in extra) if (body[name] === undefined) body[name] = extra[name]
  return body
}

/**
 * The text of a body; null for a large one, which is written in turns of its own. The fault it is; that of a body which
 * names what lies in the account at the provider; or that of one which cannot be written, which validation should have
 * seen.
 */
function serialize(body: WireObject | Fault): string | Fault | null {
  if (body instanceof Fault) return body
  try {
    const size = { chars: 0 }
    const refused = refuseAccountReference(body, size)
    if (refused !== null) return refused
    return size.chars >= LARGE_BYTES ? null : JSON.stringify(body)
  } catch (cause) {
    return new Fault('internal', { detail: 'a request that cannot be written', cause })
  }
}

/** A large body as it is sent: written in a turn of the event loop of its own, and its long strings while they go out. */
async function writeInLargeTurn(
  body: object,
  headers: readonly string[],
): Promise<Pick<UpstreamRequest, 'body' | 'headers'>> {
  await largeTurn()
  const text = writeAround(body)
  return { body: text, headers: [...headers, 'content-length', String(text.byteLength)] }
}

/** Only a chat caller can ask for it (contract/gateway 4.5); a translation hands the wish on. */
function wantsEcho(request: RoutedRequest): boolean {
  const { debug } = request as { readonly debug?: { readonly echo_upstream_body?: boolean } }
  return debug?.echo_upstream_body === true
}

/** Belong to the connection, to the framing or to the body we build. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function checkHeaderName(name: string): string {
  if (RESERVED_HEADERS.has(name) || !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    throw new RangeError(`header ${name} cannot be set`)
  return name
}

// ── What lies in the account at a provider ─────────────────────────────────────

/**
 * Every caller shares the operator's account, and a provider hands out whatever is in it: an id that a caller has
 * guessed or found may be that of another caller's file.
 */
const REFERENCES: ReadonlySet<string> = new Set(['file_id', 'file_ids', 'container', 'container_id'])

/** JSON of the caller's own making, which a provider reads and does not follow. */
const CALLER_JSON: ReadonlySet<string> = new Set([
  'input',
  'input_schema',
  'input_examples',
  'parameters',
  'schema',
  'json_schema',
  'guided_json',
  'logit_bias',
  'metadata',
])

/**
 * The fault of a body with such a reference, wherever it stands, naming the place; null when there is none. Null as
 * a value refers to nothing. Depth is bounded by validation.
 * @param size takes the characters of the texts that were looked at
 */
export function refuseAccountReference(body: object, size: TextSize = { chars: 0 }): Fault | null {
  const path = findAccountReference(body, size)
  if (path === null) return null
  return new Fault('bad-request', {
    note: `${path.join('.')} is not supported: what lies in the account at the provider is no caller's to name`,
    metadata: { error_type: 'invalid_request' },
  })
}

type MemberPath = (string | number)[]

interface TextSize {
  chars: number
}

function findAccountReference(value: unknown, size: TextSize): MemberPath | null {
  if (typeof value === 'string') size.chars += value.length
  if (typeof value !== 'object' || value === null) return null
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const found = findAccountReference(value[at], size)
      if (found !== null) return [at, ...found]
    }
    return null
  }
  const members = value as Readonly<Record<string, unknown>>
  for (const name in members) {
    const member = members[name]
    if (member === null || member === undefined) continue
    if (CALLER_JSON.has(name)) {
      // What is embedded may be pictures. Definitions of tools are short, and to count them takes a tenth of writing them.
      if (name === 'input') countTexts(member, size)
      continue
    }
    if (REFERENCES.has(name) && !isPublicSkills(member)) return [name]
    const found = findAccountReference(member, size)
    if (found !== null) return [name, ...found]
  }
  return null
}

function countTexts(value: unknown, size: TextSize): void {
  if (typeof value === 'string') size.chars += value.length
  else if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) countTexts(member, size)
}
