/** The only importer of undici: HTTP/1.1 calls with limits per phase, without retries, redirects or decompression. */
import { Client, type Dispatcher } from 'undici'
import { LinkedList } from '../base/linked-list.js'
import type { AddressGuard, DnsLookup } from './address-guard.js'
import { SocketConnector, SocketGauge } from './connector.js'
import type { EngineSocket } from './engine-socket.js'
import { type CallConnection, type CallOwner, OngoingUpstreamCall } from './ongoing-call.js'
import type {
  ConnectionPoolLimits,
  UpstreamCall,
  UpstreamClient,
  UpstreamReceiver,
  UpstreamRequest,
} from './port.js'

const SWEEP_MS = 50

export interface UpstreamOptions {
  /** Further trusted certificate authorities in PEM, instead of those of Node. */
  readonly authorities?: string
  /** Which addresses may be dialled; all of them when absent. */
  readonly guard?: AddressGuard
  /** Resolves names for a guard; asks the name servers of the system when absent. */
  readonly resolve?: DnsLookup
  /**
   * Told what a receiver throws, which is a bug of ours; a call still under way then fails with `protocol`. Without
   * it the error ends the process.
   */
  readonly onDefect?: (error: unknown) => void
}

/** A client with no connection yet. One per worker serves all origins. */
export function createUpstreamClient(options: UpstreamOptions = {}): UpstreamClient {
  return new PooledUpstreamClient(options)
}

class PooledUpstreamClient implements UpstreamClient {
  private readonly pools = new Map<string, ConnectionPool[]>()
  private readonly calls = new LinkedList<OngoingUpstreamCall>()
  private readonly gauge = new SocketGauge()
  private sweeper: NodeJS.Timeout | null = null
  private closing = false

  constructor(private readonly options: UpstreamOptions) {}

  call(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall {
    const pool = this.poolOf(request)
    const call = new OngoingUpstreamCall(request, receiver, pool)
    this.calls.add(call)
    this.sweeper ??= setInterval(this.sweep, SWEEP_MS).unref()
    if (this.closing) call.failAs('closing')
    else {
      try {
        pool.start(call)
      } catch (error) {
        call.failWith(error)
      }
    }
    call.started()
    return call
  }

  /** Origins are few; those with several limits are the reloads of a configuration. */
  private poolOf({ origin, limits }: UpstreamRequest): ConnectionPool {
    const pools = this.pools.get(origin)
    for (const pool of pools ?? []) if (sameLimits(pool.limits, limits)) return pool
    return this.addPool(origin, limits)
  }

  private addPool(origin: string, limits: ConnectionPoolLimits): ConnectionPool {
    const { authorities, guard, resolve } = this.options
    const connector = new SocketConnector(authorities, this.gauge, guard, resolve)
    const pool = new ConnectionPool(
      limits,
      origin,
      connector,
      (call) => this.calls.delete(call),
      () => this.removePool(origin, pool),
      this.options.onDefect ?? throwInNextTurn,
    )
    this.pools.set(origin, [...(this.pools.get(origin) ?? []), pool])
    return pool
  }

  private removePool(origin: string, pool: ConnectionPool): void {
    const rest = (this.pools.get(origin) ?? []).filter((other) => other !== pool)
    if (rest.length === 0) this.pools.delete(origin)
    else this.pools.set(origin, rest)
  }

  /** Visits every call, and goes to sleep when there is none. */
  private readonly sweep = (): void => {
    const now = performance.now()
    for (const call of this.calls.members()) call.checkLimits(now)
    if (this.calls.size > 0 || this.sweeper === null) return
    clearInterval(this.sweeper)
    this.sweeper = null
  }

  sockets(): number {
    return this.gauge.open
  }

  inFlight(): number {
    return this.calls.size
  }

  async close(): Promise<void> {
    this.closing = true
    for (const call of this.calls.members()) call.failAs('closing')
    for (const pools of [...this.pools.values()]) for (const pool of pools) pool.close()
    await this.gauge.untilEmpty()
  }
}

function sameLimits(a: ConnectionPoolLimits, b: ConnectionPoolLimits): boolean {
  return a === b || (a.connections === b.connections && a.keepAliveMs === b.keepAliveMs)
}

function throwInNextTurn(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}

/** This part of the connections is left to callers who hold less than half of those in use. */
const KEPT_FOR_OTHERS = 0.1

/**
 * A connection serves one call at a time. The one used last serves next, so that spare ones grow old and close; a
 * pool without connections holds nothing.
 */
class ConnectionPool implements CallOwner {
  private readonly idle: Connection[] = []
  private readonly serving = new Map<Connection, OngoingUpstreamCall | null>()
  /** By caller, the one that was served longest ago first. No set is empty. */
  private readonly waiting = new Map<string, Set<OngoingUpstreamCall>>()
  /** Connections that serve each caller. */
  private readonly held = new Map<string, number>()
  private inUse = 0

  constructor(
    readonly limits: ConnectionPoolLimits,
    private readonly origin: string,
    private readonly connector: SocketConnector,
    private readonly onCallEnd: (call: OngoingUpstreamCall) => void,
    /** The last connection has closed and no call waits. */
    private readonly onUnused: (pool: ConnectionPool) => void,
    readonly onDefect: (error: unknown) => void,
  ) {}

  start(call: OngoingUpstreamCall): void {
    const { caller } = call.request
    const connection = this.mayServe(caller) ? (this.idle.pop() ?? this.openAnother()) : null
    if (connection !== null) {
      this.serve(connection, call)
      if (this.waiting.size > 0) this.startWaiting()
      return
    }
    const calls = this.waiting.get(caller)
    if (calls === undefined) this.waiting.set(caller, new Set([call]))
    else calls.add(call)
  }

  /**
   * Whether the caller may have another connection, if there is one. Whoever has them may keep them for minutes, so the
   * last ones are kept for those who have few (contract/decisions 64). Calls that are nobody's never wait for that.
   */
  private mayServe(caller: string): boolean {
    return (
      caller === '' ||
      this.inUse < this.limits.connections * (1 - KEPT_FOR_OTHERS) ||
      (this.held.get(caller) ?? 0) * 2 < this.inUse
    )
  }

  private countHeld(caller: string, change: 1 | -1): void {
    this.inUse += change
    const held = (this.held.get(caller) ?? 0) + change
    if (held > 0) this.held.set(caller, held)
    else this.held.delete(caller)
  }

  private openAnother(): Connection | null {
    if (this.serving.size >= this.limits.connections) return null
    const connection = new Connection(this.origin, this.limits, this.connector, this.onSocketClose)
    this.serving.set(connection, null)
    return connection
  }

  private serve(connection: Connection, call: OngoingUpstreamCall): void {
    this.serving.set(connection, call)
    this.countHeld(call.request.caller, 1)
    call.assignConnection(connection)
    connection.dispatch(call)
  }

  /** The broken connection leaves its place to the one that it is sent on now. */
  repeatOnFresh(call: OngoingUpstreamCall): void {
    const stale = call.connection as Connection
    this.countHeld(call.request.caller, -1)
    this.serving.delete(stale)
    stale.destroy()
    this.serve(this.openAnother()!, call)
  }

  onFinished(call: OngoingUpstreamCall): void {
    this.onCallEnd(call)
    const connection = call.connection as Connection
    connection.hasServed = true
    call.connection = null
    this.countHeld(call.request.caller, -1)
    const next = this.nextWaiting()
    if (next !== null) {
      this.serve(connection, next)
      return
    }
    this.serving.set(connection, null)
    this.idle.push(connection)
  }

  onBroken(call: OngoingUpstreamCall): void {
    this.onCallEnd(call)
    const connection = call.connection as Connection | null
    call.connection = null
    if (connection !== null) {
      this.countHeld(call.request.caller, -1)
      this.drop(connection)
      return
    }
    this.takeFromLine(call)
    this.leaveWhenUnused()
  }

  private drop(connection: Connection): void {
    this.serving.delete(connection)
    connection.destroy()
    const next = this.nextWaiting()
    if (next !== null) this.start(next)
    else this.leaveWhenUnused()
  }

  private leaveWhenUnused(): void {
    if (this.serving.size === 0 && this.waiting.size === 0) this.onUnused(this)
  }

  private takeFromLine(call: OngoingUpstreamCall): void {
    const { caller } = call.request
    const calls = this.waiting.get(caller)
    if (calls?.delete(call) === true && calls.size === 0) this.waiting.delete(caller)
  }

  /** The more connections are in use, the more may one caller hold: who waited for that goes on. */
  private startWaiting(): void {
    if (this.idle.length === 0 && this.serving.size >= this.limits.connections) return
    const next = this.nextWaiting()
    if (next !== null) this.start(next)
  }

  private nextWaiting(): OngoingUpstreamCall | null {
    for (const [caller, calls] of this.waiting) {
      if (!this.mayServe(caller)) continue
      const [call] = calls
      this.waiting.delete(caller)
      calls.delete(call!)
      if (calls.size > 0) this.waiting.set(caller, calls)
      return call!
    }
    return null
  }

  /** A connection that serves a call opens again by itself; an idle one goes. */
  private readonly onSocketClose = (connection: Connection): void => {
    if (this.serving.get(connection) !== null) return
    const at = this.idle.indexOf(connection)
    if (at >= 0) this.idle.splice(at, 1)
    this.drop(connection)
  }

  close(): void {
    for (const connection of [...this.serving.keys()]) this.drop(connection)
    this.idle.length = 0
  }
}

/** The engine takes an iterable, and its types a stream, which is one. */
function undiciBody(body: UpstreamRequest['body']): string | Buffer | null {
  return typeof body === 'object' && body !== null && 'read' in body
    ? (body.read() as unknown as Buffer)
    : (body as string | Buffer | null)
}

const ignore = (): void => {}

/**
 * One undici client, which is one connection: opened when its first request comes, and again should the server have
 * left meanwhile. Pools of undici are not used: aborting a request makes their client
 * connect again for nothing, a request that waits for a connection cannot be taken back, and the socket that is being
 * opened cannot be reached.
 */
class Connection implements CallConnection {
  private readonly client: Client
  private socket: EngineSocket | null = null
  /** A call has been answered over the socket of now. */
  hasServed = false

  constructor(
    origin: string,
    limits: ConnectionPoolLimits,
    connector: SocketConnector,
    onClose: (connection: Connection) => void,
  ) {
    this.client = new Client(origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      keepAliveMaxTimeout: limits.keepAliveMs,
      allowH2: false,
      connect: (address, opened) => {
        this.socket = connector.open(address, opened as Parameters<SocketConnector['open']>[1])
        this.hasServed = false
      },
    })
    this.client.on('disconnect', () => onClose(this))
  }

  get isSilentSinceReuse(): boolean {
    return this.hasServed && this.socket?.filter.heard === false
  }

  awaitReadEnd(call: OngoingUpstreamCall): void {
    this.socket!.awaitReadEnd(call)
  }

  dispatch(call: OngoingUpstreamCall): void {
    const { method, path, headers, body } = call.request
    this.socket?.filter.expectAnswer()
    this.client.dispatch(
      { method, path, headers: headers as string[], body: undiciBody(body) },
      call as unknown as Dispatcher.DispatchHandler,
    )
  }

  destroy(): void {
    this.client.destroy(ignore)
    this.socket?.socket.destroy()
  }
}
