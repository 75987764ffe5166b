/**
 * The native edge: the home of every rule that the use of uWebSockets.js brings.
 * The rules are numbered in docs/architecture.md ("Rules of the native edge"); the numbers appear below where one is
 * kept.
 */
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js'
// The global of this name is a getter, which costs each call more than the clock does.
import { performance } from 'node:perf_hooks'
import type { TrustedProxies } from '../base/caller-address.js'
import { LinkedList } from '../base/linked-list.js'
import { namesByLength } from '../base/names-by-length.js'
import { ConnectionBudget, countConnections } from './connection-budget.js'
import type { Route } from './exchange.js'
import { FramingGuard, TOKEN } from './framing.js'
import { LargeBodies } from './large-bodies.js'
import type { ServerState } from './native-call.js'
import type { NativeServer } from './native-server.js'
import { PipelineCutoff } from './pipeline-cutoff.js'
import { TurnBudget } from './turn-budget.js'
import { UwsExchange } from './uws-exchange.js'

export interface UwsOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly tls: { readonly keyFile: string; readonly certFile: string } | null
  /** A strict proxy stands in front, so the connection is kept behind a body in chunks. */
  readonly strictProxy: boolean
  readonly trusted: TrustedProxies
  /** Silence after which a stream says its heartbeat, in milliseconds; 15 000 when absent. */
  readonly keepAliveMs?: number
  /** Time after which a reader that takes nothing is cut, in milliseconds; 180 000 when absent. */
  readonly sendTimeoutMs?: number
  /** Time for which requests of one turn are answered in it, in milliseconds; 10 when absent. */
  readonly turnMs?: number
  /** Connections beyond which new ones are closed as soon as they come; Infinity when absent. */
  readonly maxConnections?: number
  /** Told once a minute at most how many connections were closed for that since the last time. */
  readonly onRefusedConnections?: (count: number) => void
  /** A connection was opened (1) or closed (-1). */
  readonly onConnection?: (change: number) => void
  /** An exception reached the border to native code. The call has been cut; this only tells the log. */
  readonly onDefect: (error: unknown) => void
}

export interface UwsServer {
  readonly port: number
  /** Open connections, idle ones included. */
  connections(): number
  /** Calls that have arrived and are not settled. */
  inFlight(): number
  /**
   * Closes the listening socket; connections that are open stay. The kernel refuses new ones, and those that it had
   * accepted for us and not handed over are lost: a socket that only stops accepting cannot be had here.
   */
  stopListening(): void
  /** Listens again, where a port was given. Throws when the address has been taken meanwhile. */
  reopen(): void
  /** Stops accepting connections and says `Connection: close` in every further answer. */
  drain(): void
  /** Cuts streams with their closing frame and everything else without one; then closes every socket. */
  close(): void
}

/** How often deadlines and silent streams are looked at, in milliseconds. */
const SWEEP_MS = 250
const KEEP_ALIVE_MS = 15_000
/** A reader of 1 KB/s lets a socket buffer of 128 KiB stand still for two minutes. */
const SEND_TIMEOUT_MS = 180_000
/** While connections are scarce it has less. */
const SCARCE_SEND_TIMEOUT_MS = 15_000
const REFUSED_PERIOD_MS = 60_000

/**
 * Serves the routes on a socket of its own. Several processes may listen on the same port (SO_REUSEPORT).
 * Rejects when the address cannot be bound or the TLS files cannot be used.
 */
export async function serveUws(
  native: NativeServer,
  routes: readonly Route[],
  options: UwsOptions,
): Promise<UwsServer> {
  const app = options.tls === null ? native.App() : createTlsApp(native, options.tls)
  const sendTimeoutMs = options.sendTimeoutMs ?? SEND_TIMEOUT_MS
  const { onConnection, maxConnections = Number.POSITIVE_INFINITY } = options
  const budget = new ConnectionBudget(maxConnections, () => countConnections(port))
  const server: ServerState = {
    draining: false,
    shedsConnections: () => server.draining || budget.scarce,
    openExchanges: new LinkedList(),
    cutoff: new PipelineCutoff(),
    turn: new TurnBudget(options.turnMs),
    largeBodies: new LargeBodies(),
    keepAliveMs: options.keepAliveMs ?? KEEP_ALIVE_MS,
    sendTimeoutMs,
    trusted: options.trusted,
    onDefect: options.onDefect,
  }
  for (const route of routes) registerRoute(app, route, server, options)

  app.filter((res, change) => {
    onConnection?.(change)
    if (change < 0) {
      server.cutoff.clear()
      budget.closed()
    } else if (!budget.opened(() => res.getRemoteAddress())) {
      // At once: later nobody could tell whether this connection still lives.
      res.close()
    }
  })

  let socket: us_listen_socket | null = listen(app, options.host, options.port)
  const port = native.us_socket_local_port(socket)
  const stopListening = (): void => {
    if (socket !== null) native.us_listen_socket_close(socket)
    socket = null
  }
  let toldRefusedAt = Number.NEGATIVE_INFINITY
  const sweep = setInterval(() => {
    const now = performance.now()
    server.sendTimeoutMs = budget.scarce ? Math.min(SCARCE_SEND_TIMEOUT_MS, sendTimeoutMs) : sendTimeoutMs
    if (now - toldRefusedAt >= REFUSED_PERIOD_MS) {
      const refused = budget.takeRefused()
      if (refused > 0) {
        toldRefusedAt = now
        options.onRefusedConnections?.(refused)
      }
    }
    for (const exchange of server.openExchanges.members()) exchange.checkTime(now)
  }, SWEEP_MS)
  sweep.unref()
  return {
    port,
    connections: () => budget.open,
    inFlight: () => server.openExchanges.size,
    stopListening,
    reopen: () => {
      if (socket === null && !server.draining) socket = listen(app, options.host, port, ' again')
    },
    drain: () => {
      server.draining = true
      stopListening()
    },
    close: () => {
      clearInterval(sweep)
      for (const exchange of server.openExchanges.members()) exchange.cut()
      app.close()
    },
  }
}

/** Two servers of one process as one; its port is that of the first. */
export function asOneServer(first: UwsServer, second: UwsServer): UwsServer {
  const both = (act: (server: UwsServer) => void) => (): void => {
    act(first)
    act(second)
  }
  return {
    port: first.port,
    connections: () => first.connections() + second.connections(),
    inFlight: () => first.inFlight() + second.inFlight(),
    stopListening: both((server) => server.stopListening()),
    reopen: both((server) => server.reopen()),
    drain: both((server) => server.drain()),
    close: both((server) => server.close()),
  }
}

/** uWS answers within the call. */
function listen(app: TemplatedApp, host: string, port: number, again = ''): us_listen_socket {
  let socket = false as us_listen_socket | false
  app.listen(host, port, (opened) => {
    socket = opened
  })
  if (socket === false) throw new Error(`cannot listen on ${host}:${port}${again}`)
  return socket
}

function createTlsApp(
  native: NativeServer,
  { keyFile, certFile }: NonNullable<UwsOptions['tls']>,
): TemplatedApp {
  try {
    return native.SSLApp({ key_file_name: keyFile, cert_file_name: certFile })
  } catch (cause) {
    throw new Error(`cannot use the key ${keyFile} with the certificate ${certFile}`, { cause })
  }
}

const UWS_METHODS = {
  GET: 'get',
  HEAD: 'head',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'del',
  OPTIONS: 'options',
  '*': 'any',
} as const

function registerRoute(app: TemplatedApp, route: Route, server: ServerState, options: UwsOptions): void {
  const pattern = route.path.replace(/\{([^}]+)\}/g, ':$1')
  const verb = UWS_METHODS[route.method as keyof typeof UWS_METHODS]
  if (verb === undefined) throw new TypeError(`${route.method} ${route.path}: no such method`)
  app[verb](pattern, nativeHandler(route, server, options, HEAD_BY_METHOD[route.method] ?? neverHead))
  if (route.method === 'GET') app.head(pattern, nativeHandler(route, server, options, alwaysHead))
}

type IsHead = (req: HttpRequest) => boolean

const neverHead: IsHead = () => false
const alwaysHead: IsHead = () => true
/** Only where the method is open does the request have to be asked. */
const HEAD_BY_METHOD: Readonly<Record<string, IsHead>> = {
  HEAD: alwaysHead,
  '*': (req) => req.getCaseSensitiveMethod() === 'HEAD',
}

const isAMethod = (): boolean => true
/** uWS takes all up to the first blank for the method. */
const isToken = (req: HttpRequest): boolean => TOKEN.test(req.getCaseSensitiveMethod())

type NativeHandler = (res: HttpResponse, req: HttpRequest) => void

/** Everything a call of this route needs is bound here, once: per call there is no closure until it waits. */
function nativeHandler(
  route: Route,
  server: ServerState,
  options: UwsOptions,
  isHead: IsHead,
): NativeHandler {
  const guard = new FramingGuard(options.strictProxy)
  const declared = namesByLength(route.headers)
  /** The declared headers, names and values by turns, taken while the guard sees all of them anyway. */
  let fields: string[] = []
  /** All lines of the field: a proxy may add its own line below one that its caller made up. */
  let forwardedFor = ''
  const see =
    declared.length === 0 && !route.readsAddress
      ? (name: string, value: string): void => guard.addField(name, value)
      : (name: string, value: string): void => {
          guard.addField(name, value)
          const names = declared[name.length]
          if (names !== undefined) for (const each of names) if (each === name) fields.push(each, value)
          if (name === 'x-forwarded-for') forwardedFor += `,${value}`
        }
  const copy = requestCopier(route)
  const isMethod = route.method === '*' ? isToken : isAMethod
  const { cutoff } = server
  return (res, req) => {
    // Rule 12: not even counted.
    if (cutoff.awaitsClose && cutoff.discard(res)) return
    const exchange = new UwsExchange(res, route, server, isHead(req), performance.now())
    // Rule 7: no exception crosses into native code.
    try {
      route.onArrival(exchange.arrivedAt)
      guard.reset()
      // Each call gets an array of its own: it outlives the turn.
      if (declared.length > 0) fields = []
      forwardedFor = ''
      req.forEach(see)
      exchange.connectionEnd = guard.connectionEnd
      if (guard.isBroken() || !isMethod(req)) {
        exchange.refuseAndClose(route.refuse('bad-request', exchange), guard.bodyLength)
        return
      }
      exchange.headerFields = fields
      exchange.forwardedFor = forwardedFor
      copy(exchange, req) // rule 1
      exchange.begin(guard.bodyLength)
    } catch (error) {
      exchange.onDefect(error)
    }
  }
}

type RequestCopier = (exchange: UwsExchange, req: HttpRequest) => void

function requestCopier(route: Route): RequestCopier {
  const params = route.path.split('{').length - 1
  const { readsQuery, readsAddress } = route
  const isForAllPaths = route.path === '/*'
  return (exchange, req) => {
    if (isForAllPaths) exchange.firstParam = req.getUrl()
    if (params > 0) {
      exchange.firstParam = decodePathParam(req.getParameter(0) ?? '')
      if (params > 1) exchange.secondParam = decodePathParam(req.getParameter(1) ?? '')
    }
    if (readsQuery) exchange.query = req.getQuery() ?? ''
    if (readsAddress === true) exchange.copyAddress()
  }
}

function decodePathParam(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text // not valid percent-encoding: the schema judges the text as it was sent
  }
}
