/** The only importer of undici: HTTP/1.1 calls with limits per phase, without retries, redirects or decompression. */
import type { Socket } from 'node:net'
import { Client, type Dispatcher } from 'undici'
import { LinkedList } from '../base/linked-list.js'
import type { AddressGuard } from './address-guard.js'
import { SocketConnector, SocketGauge } from './connector.js'
import { OngoingUpstreamCall } from './ongoing-call.js'
import { ConnectionPool, type PooledConnection } from './pool.js'
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
    else this.begin(pool, call)
    call.started()
    return call
  }

  private begin(pool: ConnectionPool, call: OngoingUpstreamCall): void {
    try {
      pool.start(call)
    } catch (error) {
      call.failWith(error)
    }
  }

  /** Origins are few; those with several limits are the reloads of a configuration. */
  private poolOf({ origin, limits }: UpstreamRequest): ConnectionPool {
    const pools = this.pools.get(origin)
    for (const pool of pools ?? []) if (sameLimits(pool.limits, limits)) return pool
    return this.addPool(origin, limits)
  }

  private addPool(origin: string, limits: ConnectionPoolLimits): ConnectionPool {
    const connector = new SocketConnector(this.options.authorities, this.gauge, this.options.guard)
    const pool = new ConnectionPool(
      limits,
      (left) => new UndiciConnection(origin, limits, connector, left),
      (call) => this.calls.delete(call),
      () => this.removePool(origin, pool),
      this.options.onDefect ?? throwInNextTurn,
    )
    const pools = this.pools.get(origin)
    if (pools === undefined) this.pools.set(origin, [pool])
    else pools.push(pool)
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

/** The engine takes an iterable, and its types a stream, which is one. */
function undiciBody(body: UpstreamRequest['body']): string | Buffer | null {
  return typeof body === 'object' && body !== null && 'read' in body
    ? (body.read() as unknown as Buffer)
    : (body as string | Buffer | null)
}

const ignore = (): void => {}

/**
 * One undici client, which is one connection. Pools of undici are not used: aborting a request makes their client
 * connect again for nothing, a request that waits for a connection cannot be taken back, and the socket that is being
 * opened cannot be reached.
 */
class UndiciConnection implements PooledConnection {
  private readonly client: Client
  private socket: Socket | null = null

  constructor(
    origin: string,
    limits: ConnectionPoolLimits,
    connector: SocketConnector,
    left: (connection: PooledConnection) => void,
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
      },
    })
    this.client.on('disconnect', () => left(this))
  }

  dispatch(call: OngoingUpstreamCall): void {
    const { method, path, headers, body } = call.request
    this.client.dispatch(
      { method, path, headers: headers as string[], body: undiciBody(body) },
      call as unknown as Dispatcher.DispatchHandler,
    )
  }

  destroy(): void {
    this.client.destroy(ignore)
    this.socket?.destroy()
  }
}
