/** The connections to one origin, and the calls that wait for one. */
import type { CallOwner, OngoingUpstreamCall } from './ongoing-call.js'
import type { ConnectionPoolLimits } from './port.js'

/** One connection, opened when its first request comes, and opened again should the server have left meanwhile. */
export interface PooledConnection {
  /** Writes the request of a call and tells the call what comes back. One at a time. */
  dispatch(call: OngoingUpstreamCall): void
  /** Closes the socket in any state; it cannot be used again. */
  destroy(): void
}

/** Makes a connection. `left` is told when its socket has closed. */
type OpenConnection = (left: (connection: PooledConnection) => void) => PooledConnection

/**
 * A connection serves one call at a time. The one used last serves next, so that spare ones grow old and close; a
 * pool without connections holds nothing.
 */
export class ConnectionPool implements CallOwner {
  private readonly idle: PooledConnection[] = []
  private readonly serving = new Map<PooledConnection, OngoingUpstreamCall | null>()
  private readonly waiting = new Set<OngoingUpstreamCall>()

  constructor(
    readonly limits: ConnectionPoolLimits,
    private readonly connect: OpenConnection,
    private readonly onCallEnd: (call: OngoingUpstreamCall) => void,
    /** The last connection has closed and no call waits. */
    private readonly onUnused: (pool: ConnectionPool) => void,
    readonly onDefect: (error: unknown) => void,
  ) {}

  start(call: OngoingUpstreamCall): void {
    const connection = this.idle.pop() ?? this.openAnother()
    if (connection === null) this.waiting.add(call)
    else this.serve(connection, call)
  }

  private openAnother(): PooledConnection | null {
    if (this.serving.size >= this.limits.connections) return null
    const connection = this.connect(this.onSocketClose)
    this.serving.set(connection, null)
    return connection
  }

  private serve(connection: PooledConnection, call: OngoingUpstreamCall): void {
    this.serving.set(connection, call)
    call.assignConnection(connection)
    connection.dispatch(call)
  }

  onFinished(call: OngoingUpstreamCall): void {
    this.onCallEnd(call)
    const connection = call.connection as PooledConnection
    call.connection = null
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
    const connection = call.connection as PooledConnection | null
    call.connection = null
    if (connection !== null) {
      this.drop(connection)
      return
    }
    this.waiting.delete(call)
    this.leaveWhenUnused()
  }

  private drop(connection: PooledConnection): void {
    this.serving.delete(connection)
    connection.destroy()
    const next = this.nextWaiting()
    if (next !== null) this.start(next)
    else this.leaveWhenUnused()
  }

  private leaveWhenUnused(): void {
    if (this.serving.size === 0 && this.waiting.size === 0) this.onUnused(this)
  }

  private nextWaiting(): OngoingUpstreamCall | null {
    for (const call of this.waiting) {
      this.waiting.delete(call)
      return call
    }
    return null
  }

  /** A connection that serves a call opens again by itself; an idle one goes. */
  private readonly onSocketClose = (connection: PooledConnection): void => {
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
