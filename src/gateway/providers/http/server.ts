/** What calls of one configured server have in common: where they go, what they carry, and what must not be seen. */
import type {
  ConnectionPoolLimits,
  PhaseTimeouts,
  UpstreamClient,
  UpstreamRequest,
} from '../../../upstream/port.js'

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

/**
 * The request of an operation at `path` below the base URL; `own` are the headers of the format, the credential's
 * among them. Throws a RangeError for a header it must not send.
 */
export function requestTemplate(
  options: ServerOptions,
  path: string,
  accept: string,
  own: readonly (readonly [string, string])[],
): RequestTemplate {
  const url = new URL(options.baseUrl)
  return {
    method: 'POST',
    origin: url.origin,
    path: `${url.pathname.replace(/\/+$/, '')}${path}${url.search}`,
    headers: requestHeaders(options, accept, own),
    timeouts: options.timeouts,
    limits: options.limits,
  }
}

/** Texts to be cut out of everything the server says; too short ones would mangle innocent words. */
export function secretsIn({ apiKey, headers }: ServerOptions): readonly string[] {
  return [apiKey ?? '', ...Object.values(headers)].filter((text) => text.length >= 8)
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

/** Nothing of the caller: ours and the operator's. */
function requestHeaders(
  { headers, version }: ServerOptions,
  accept: string,
  own: readonly (readonly [string, string])[],
): readonly string[] {
  const all = new Map([
    ['content-type', 'application/json'],
    ['accept', accept],
    ['accept-encoding', 'identity'],
    ['user-agent', `sluice/${version}`],
    ...own,
  ])
  for (const [name, value] of Object.entries(headers)) all.set(checkHeaderName(name.toLowerCase()), value)
  return [...all].flat()
}

function checkHeaderName(name: string): string {
  if (RESERVED_HEADERS.has(name) || !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    throw new RangeError(`header ${name} cannot be set`)
  return name
}
