/** One connection of the HTTP driver: at most one request under way. */
import { connect, type Socket } from 'node:net'
import { AnswerFraming, BadAnswer } from './answer-framing.js'

/** Where the load goes: an address, not a name, so that no connection waits for a look-up. */
export interface Destination {
  readonly address: string
  readonly port: number
}

/** Why a request got no answer. `refused`: no connection could be opened. `closed`: the server ended it early. */
export type Loss = 'refused' | 'reset' | 'closed' | 'garbled' | 'timeout'

export interface LaneEvents {
  opened(lane: Lane): void
  answered(lane: Lane, status: number): void
  /** The connection is gone. A request was under way when `lane.busy`. */
  lost(lane: Lane, why: Loss): void
}

/** Reads happen one after the other and are used up before the next: one buffer serves all connections. */
const SHARED = Buffer.allocUnsafe(256 * 1024)

export class Lane {
  busy = false
  open = false
  /** Of the request under way, a time of `performance.now()`. */
  dueAt = 0
  kind = 0
  /** Requests this connection has carried. */
  carried = 0
  /** Since when it waits for work. */
  idleSince = 0
  readonly #socket: Socket
  readonly #framing = new AnswerFraming()
  readonly #events: LaneEvents
  #gone = false

  constructor(to: Destination, events: LaneEvents) {
    this.#events = events
    const callback = (length: number): boolean => {
      this.#read(SHARED.subarray(0, length))
      return true
    }
    const onread = { buffer: SHARED, callback }
    this.#socket = connect({ host: to.address, port: to.port, noDelay: true, onread })
    this.#socket.once('connect', () => {
      this.open = true
      events.opened(this)
    })
    this.#socket.on('end', () => this.#ended())
    this.#socket.on('error', () => this.#lose(this.open ? 'reset' : 'refused'))
    this.#socket.on('close', () => this.#lose(this.open ? 'closed' : 'refused'))
  }

  /** Sends a head and perhaps a body, as one write. */
  send(head: string, body: Buffer | null): void {
    this.busy = true
    this.carried++
    if (body === null) {
      this.#socket.write(head, 'latin1')
      return
    }
    this.#socket.cork()
    this.#socket.write(head, 'latin1')
    this.#socket.write(body)
    this.#socket.uncork()
  }

  /** Ends the connection without a further event; the server sees an orderly end, or a reset with work under way. */
  close(): void {
    this.#gone = true
    if (this.busy) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  #read(bytes: Buffer): void {
    try {
      if (this.#framing.feed(bytes)) this.#complete()
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error
      this.#lose('garbled')
    }
  }

  #complete(): void {
    // An answer that nobody asked for.
    if (!this.busy) {
      this.#lose('garbled')
      return
    }
    const { closes, status } = this.#framing
    this.busy = false
    if (closes) this.open = false
    this.#events.answered(this, status)
    if (closes) this.close()
  }

  #ended(): void {
    if (this.busy && this.#framing.endedByClose()) this.#complete()
    else this.#lose('closed')
  }

  #lose(why: Loss): void {
    if (this.#gone) return
    this.#gone = true
    this.open = false
    this.#socket.destroy()
    this.#events.lost(this, why)
  }
}
