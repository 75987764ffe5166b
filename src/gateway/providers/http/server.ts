/** What calls of one configured server have in common: where they go, what they carry, and what must not be seen. */
import { Fault } from '../../../base/fault.js'
import type {
  ConnectionPoolLimits,
  PhaseTimeouts,
  UpstreamClient,
  UpstreamRequest,
} from '../../../upstream/port.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import type { FailureSource } from '../port/failure.js'
import { rejectCall } from '../port/failure.js'
import type { CallHandle, CompletionReceiver, ProviderCall, StreamReceiver } from '../port/provider.js'
import { refuseAccountReference } from './account-references.js'
import {
  DocumentExchange,
  type DocumentFormat,
  type ProviderExchange,
  StreamExchange,
  type StreamFormat,
} from './provider-exchange.js'

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
}

/** A request without what changes from call to call. */
export type RequestTemplate = Omit<UpstreamRequest, 'body' | 'deadlineAt'>

export type HeaderPairs = readonly (readonly [string, string])[]

/** A JSON object on its way to a provider. */
export type WireObject = Record<string, unknown>

export class ProviderServer {
  readonly #options: ServerOptions
  readonly #ownHeaders: HeaderPairs
  readonly #secrets: readonly string[]

  /** `ownHeaders` are those of the format, the credential's among them. */
  constructor(options: ServerOptions, ownHeaders: HeaderPairs) {
    this.#options = options
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

  /** Who answers the call, for the texts of its failures. */
  source({ endpoint }: ProviderCall<RoutedRequest>): FailureSource {
    return { name: endpoint.provider.name, secrets: this.#secrets }
  }

  /** Sends a request whose body is ready. */
  send(
    exchange: ProviderExchange,
    request: Omit<UpstreamRequest, 'deadlineAt'>,
    { deadlineAt }: ProviderCall<RoutedRequest>,
  ): CallHandle {
    return exchange.begin(this.#options.upstream, { ...request, deadlineAt })
  }

  /** Sends `body`, or tells the fault in its place, and reads the document that answers. */
  complete<A>(
    format: DocumentFormat<A>,
    template: RequestTemplate,
    body: WireObject | Fault,
    call: ProviderCall<RoutedRequest>,
    receiver: CompletionReceiver<A>,
  ): CallHandle {
    const text = serialize(body)
    if (text instanceof Fault) return rejectCall(text, receiver)
    const exchange = new DocumentExchange(this.source(call), format, call.generationId, receiver)
    return this.send(exchange, { ...template, body: text }, call)
  }

  /** Sends `body`, or tells the fault in its place, and reads the events that answer. */
  stream<E, A>(
    format: StreamFormat<E, A>,
    template: RequestTemplate,
    body: WireObject | Fault,
    call: ProviderCall<RoutedRequest>,
    receiver: StreamReceiver<E>,
  ): CallHandle {
    const text = serialize(body)
    if (text instanceof Fault) return rejectCall(text, receiver)
    const echo = wantsEcho(call.request) ? body : undefined
    const exchange = new StreamExchange(this.source(call), format, call.generationId, receiver, echo)
    return this.send(exchange, { ...template, body: text }, call)
  }
}

/**
 * The text of a body. The fault it is; that of a body which names what lies in the account at the provider; or that
 * of one which cannot be written, which validation should have seen.
 */
function serialize(body: WireObject | Fault): string | Fault {
  if (body instanceof Fault) return body
  try {
    return refuseAccountReference(body) ?? JSON.stringify(body)
  } catch (cause) {
    return new Fault('internal', { detail: 'a request that cannot be written', cause })
  }
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
