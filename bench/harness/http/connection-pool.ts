/** The connections of a load: opened before the start, more on demand, none of them asleep. */
import {
  type Destination,
  RawConnection,
  type RawConnectionEvents,
  type RequestLoss,
} from './raw-connection.js'

interface PoolEvents {
  readonly to: Destination
  readonly maxConnections: number
  /** `response` of a lane holds headers and body. */
  readonly keepsAnswers: boolean
  answered(lane: RawConnection, status: number): void
  /** A connection that had been open is gone; a request was under way when `lane.busy`. */
  lost(lane: RawConnection, why: RequestLoss): void
  /** How many connections there are now, after one was opened. */
  opened(size: number): void
}

/** Servers commonly close a connection after ten idle seconds: it is given up before they may. */
const IDLE_LIMIT_MS = 8_000
/** So many at once, so that the listen queue of the server does not overflow. */
const CONNECTS_AT_ONCE = 64
const OPENING_LIMIT_MS = 5_000

export class ConnectionPool {
  readonly #events: PoolEvents
  readonly #connections = new Set<RawConnection>()
  #idle: RawConnection[] = []
  #opening = 0

  constructor(ports: PoolEvents) {
    this.#events = ports
  }

  get opening(): number {
    return this.#opening
  }

  get empty(): boolean {
    return this.#connections.size === 0
  }

  /** Every connection, open or being opened. */
  get connections(): ReadonlySet<RawConnection> {
    return this.#connections
  }

  /** Opens the first connections. Rejects when one of them is not accepted. */
  async openFirst(count: number): Promise<void> {
    for (let opened = 0; opened < count; opened += CONNECTS_AT_ONCE) {
      await Promise.all(
        Array.from({ length: Math.min(CONNECTS_AT_ONCE, count - opened) }, () => this.#openOne()),
      )
    }
  }

  /** Opens one more unless there are too many; exactly one of the two is called, later. */
  openAnother(opened: (lane: RawConnection) => void, failed: () => void): void {
    if (this.#connections.size >= this.#events.maxConnections) return
    this.#opening++
    this.#open(
      (lane) => {
        this.#opening--
        opened(lane)
      },
      () => {
        this.#opening--
        failed()
      },
    )
  }

  /** The one that waited longest, so that none falls asleep; those that waited too long are given up. */
  acquire(): RawConnection | null {
    for (;;) {
      const lane = this.#idle.shift()
      if (lane === undefined) return null
      if (!lane.open) continue
      if (performance.now() - lane.idleSince < IDLE_LIMIT_MS) return lane
      this.retire(lane)
    }
  }

  /** All that wait for work. */
  acquireAll(): RawConnection[] {
    return this.#idle.splice(0)
  }

  release(lane: RawConnection): void {
    lane.idleSince = performance.now()
    this.#idle.push(lane)
  }

  /** Closes one for good; the server sees a reset when an answer was under way. */
  retire(lane: RawConnection): void {
    this.#connections.delete(lane)
    lane.close(lane.busy)
  }

  /** Closes all of them; the server sees a reset where an answer was under way. */
  close(): void {
    for (const lane of this.#connections) lane.close(lane.busy)
  }

  #openOne(): Promise<void> {
    return new Promise((resolve, reject) => {
      const { address, port } = this.#events.to
      const fail = () => reject(new Error(`nobody accepts connections on ${address} port ${port}`))
      const timer = setTimeout(fail, OPENING_LIMIT_MS)
      const opened = (lane: RawConnection): void => {
        clearTimeout(timer)
        this.release(lane)
        resolve()
      }
      this.#open(opened, () => {
        clearTimeout(timer)
        fail()
      })
    })
  }

  #open(opened: (lane: RawConnection) => void, failed: () => void): void {
    let settled = false
    const events: RawConnectionEvents = {
      opened: (lane) => {
        settled = true
        this.#events.opened(this.#connections.size)
        opened(lane)
      },
      answered: (lane, status) => this.#events.answered(lane, status),
      lost: (lane, why) => {
        this.#connections.delete(lane)
        if (settled) this.#events.lost(lane, why)
        else failed()
      },
    }
    const { to, keepsAnswers } = this.#events
    this.#connections.add(new RawConnection(to, events, { keepsAnswers }))
  }
}
