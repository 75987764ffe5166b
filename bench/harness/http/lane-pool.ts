/** The connections of a load: opened before the start, more on demand, none of them asleep. */
import { type Destination, Lane, type LaneEvents, type Loss } from './lane.js'

interface PoolPorts {
  readonly to: Destination
  readonly most: number
  /** `answer` of a lane holds headers and body. */
  readonly keepsAnswers: boolean
  answered(lane: Lane, status: number): void
  /** A connection that had been open is gone; a request was under way when `lane.busy`. */
  lost(lane: Lane, why: Loss): void
  /** How many connections there are now, after one was opened. */
  grown(size: number): void
}

/** Servers commonly close a connection after ten idle seconds: it is given up before they may. */
const IDLE_LIMIT_MS = 8_000
/** So many at once, so that the listen queue of the server does not overflow. */
const AT_ONCE = 64
const OPENING_LIMIT_MS = 5_000

export class LanePool {
  readonly #ports: PoolPorts
  readonly #lanes = new Set<Lane>()
  #idle: Lane[] = []
  #opening = 0

  constructor(ports: PoolPorts) {
    this.#ports = ports
  }

  get opening(): number {
    return this.#opening
  }

  get empty(): boolean {
    return this.#lanes.size === 0
  }

  /** Every connection, open or being opened. */
  get lanes(): ReadonlySet<Lane> {
    return this.#lanes
  }

  /** Opens the first connections. Rejects when one of them is not accepted. */
  async openFirst(count: number): Promise<void> {
    for (let opened = 0; opened < count; opened += AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - opened) }, () => this.#openOne()))
    }
  }

  /** Opens one more unless there are too many; exactly one of the two is called, later. */
  openAnother(opened: (lane: Lane) => void, failed: () => void): void {
    if (this.#lanes.size >= this.#ports.most) return
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
  take(): Lane | null {
    for (;;) {
      const lane = this.#idle.shift()
      if (lane === undefined) return null
      if (!lane.open) continue
      if (performance.now() - lane.idleSince < IDLE_LIMIT_MS) return lane
      this.retire(lane)
    }
  }

  /** All that wait for work. */
  takeAll(): Lane[] {
    return this.#idle.splice(0)
  }

  giveBack(lane: Lane): void {
    lane.idleSince = performance.now()
    this.#idle.push(lane)
  }

  /** Closes one for good. */
  retire(lane: Lane): void {
    this.#lanes.delete(lane)
    lane.close()
  }

  close(): void {
    for (const lane of this.#lanes) lane.close()
  }

  #openOne(): Promise<void> {
    return new Promise((resolve, reject) => {
      const { address, port } = this.#ports.to
      const fail = () => reject(new Error(`nobody accepts connections on ${address} port ${port}`))
      const timer = setTimeout(fail, OPENING_LIMIT_MS)
      const opened = (lane: Lane): void => {
        clearTimeout(timer)
        this.giveBack(lane)
        resolve()
      }
      this.#open(opened, () => {
        clearTimeout(timer)
        fail()
      })
    })
  }

  #open(opened: (lane: Lane) => void, failed: () => void): void {
    let settled = false
    const events: LaneEvents = {
      opened: (lane) => {
        settled = true
        this.#ports.grown(this.#lanes.size)
        opened(lane)
      },
      answered: (lane, status) => this.#ports.answered(lane, status),
      lost: (lane, why) => {
        this.#lanes.delete(lane)
        if (settled) this.#ports.lost(lane, why)
        else failed()
      },
    }
    this.#lanes.add(new Lane(this.#ports.to, events, this.#ports.keepsAnswers))
  }
}
