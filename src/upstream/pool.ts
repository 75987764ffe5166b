/** The connections to one origin, and the calls that wait for one. */
import type { Call, CallHome } from './call.js'
import type { PoolLimits } from './port.js'

/** One connection, opened when its first request comes, and opened again should the server have left meanwhile. */
export interface Connection {
  /** Writes the request of a call and tells the call what comes back. One at a time. */
  dispatch(call: Call): void
  /** Closes the socket in whatever state it is; it cannot be used again. */
  destroy(): void
}

/** Makes a connection. `left` is told when its socket has closed. */
type Connect = (left: (connection: Connection) => void) => Connection

/**
 * A connection serves one call at a time. The one used last serves next, so that spare ones grow old and close; a
 * pool without connections holds nothing.
 */
export class Pool implements CallHome {
  private readonly idle: Connection[] = []
  private readonly serving = new Map<Connection, Call | null>()
  private readonly waiting = new Set<Call>()

  constructor(
    readonly limits: PoolLimits,
    private readonly connect: Connect,
    private readonly over: (call: Call) => void,
    /** The last connection has closed and nobody waits. */
    private readonly unused: (pool: Pool) => void,
    readonly defect: (error: unknown) => void,
  ) {}

  start(call: Call): void {
    const connection = this.idle.pop() ?? this.another()
    if (connection === null) this.waiting.add(call)
    else this.serve(connection, call)
  }

  private another(): Connection | null {
    if (this.serving.size >= this.limits.connections) return null
    const connection = this.connect(this.left)
    this.serving.set(connection, null)
    return connection
  }

  private serve(connection: Connection, call: Call): void {
    this.serving.set(connection, call)
    call.given(connection)
    connection.dispatch(call)
  }

  finished(call: Call): void {
    this.over(call)
    const connection = call.connection as Connection
    call.connection = null
    const next = this.nextWaiting()
    if (next !== null) {
      this.serve(connection, next)
      return
    }
    this.serving.set(connection, null)
    this.idle.push(connection)
  }

  broken(call: Call): void {
    this.over(call)
    const connection = call.connection as Connection | null
    call.connection = null
    if (connection !== null) {
      this.drop(connection)
      return
    }
    this.waiting.delete(call)
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
    if (this.serving.size === 0 && this.waiting.size === 0) this.unused(this)
  }

  private nextWaiting(): Call | null {
    for (const call of this.waiting) {
      this.waiting.delete(call)
      return call
    }
    return null
  }

  /** A connection that serves a call opens again by itself; an idle one goes. */
  private readonly left = (connection: Connection): void => {
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
