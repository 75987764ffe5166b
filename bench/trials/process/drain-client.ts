import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { Connection, type ConnectionLossKind, ConnectionLost } from '../../harness/http/connection.js'
import { bodylessRequest, hashRequest, jsonRequest, readItemRequest } from '../requests.js'

/** A request that the server was bound to answer and did not. */
export interface DrainFailure {
  readonly operation: string
  readonly kind: ConnectionLossKind
  /** When it was sent, milliseconds after the signal; negative before it. */
  readonly sentAt: number
  /** When it was lost, milliseconds after the signal. */
  readonly lostAt: number
  readonly bytes: number
}

interface DrainOperation {
  readonly name: string
  readonly request: () => Buffer
  readonly status: number
}

const OPERATIONS: readonly DrainOperation[] = [
  { name: 'read_item', request: () => readItemRequest(1 + Math.floor(Math.random() * 10)), status: 200 },
  {
    name: 'create_item',
    request: () =>
      jsonRequest('POST', '/api/v1/items', { name: 'drain', description: 'x'.repeat(200), price: 1 }),
    status: 201,
  },
  { name: 'report', request: () => bodylessRequest('GET', '/api/v1/report?items=5'), status: 200 },
  { name: 'hash', request: () => hashRequest('drain', 2_000), status: 200 },
]

/** Books what happened to every request around one SIGTERM. */
export class DrainTally {
  readonly failures: DrainFailure[] = []
  /** Answers with another status than the operation's own, by `operation status`. */
  readonly refusals = new Map<string, number>()
  answeredBefore = 0
  inFlightAtSignal = 0
  answeredAfter = 0
  /** Requests sent after the signal that were answered without `Connection: close`. */
  unannounced = 0
  /** Connections the server ended while they were idle, after the signal. */
  closedIdle = 0
  #signalledAt = Number.POSITIVE_INFINITY
  #underWay = 0

  /** The signal is being sent now. */
  signalled(): void {
    this.#signalledAt = performance.now()
    this.inFlightAtSignal = this.#underWay
  }

  get draining(): boolean {
    return performance.now() >= this.#signalledAt
  }

  /** Sends one request and books its outcome; false when the connection is of no further use. */
  async ask(connection: Connection, operation: DrainOperation): Promise<boolean> {
    const sent = performance.now()
    this.#underWay++
    try {
      const answer = await connection.send(operation.request())
      if (answer.status !== operation.status) this.#refused(`${operation.name} ${answer.status}`)
      if (this.draining) this.answeredAfter++
      else this.answeredBefore++
      if (sent > this.#signalledAt && !answer.closes) this.unannounced++
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      this.failures.push({
        operation: operation.name,
        kind: error.kind,
        sentAt: sent - this.#signalledAt,
        lostAt: performance.now() - this.#signalledAt,
        bytes: error.bytes,
      })
    } finally {
      this.#underWay--
    }
    return connection.usable
  }

  #refused(key: string): void {
    this.refusals.set(key, (this.refusals.get(key) ?? 0) + 1)
  }
}

async function openWatched(port: number, tally: DrainTally): Promise<Connection | null> {
  try {
    const connection = await Connection.open(port)
    connection.onIdleEnd(() => {
      if (tally.draining) tally.closedIdle++
    })
    return connection
  } catch (error) {
    // A new connection may be refused after the signal, and only then.
    if (error instanceof ConnectionLost && tally.draining) return null
    throw error
  }
}

/**
 * Closed loop on one connection until the server announces or makes its end. Before each request one turn of the
 * event loop passes, so that a FIN that has already arrived is seen: a request sent after it would prove nothing.
 */
export async function busyClient(port: number, tally: DrainTally, first: number): Promise<void> {
  let connection = await openWatched(port, tally)
  for (let turn = first; connection !== null; turn++) {
    await nextTurn()
    if (connection.usable && (await tally.ask(connection, OPERATIONS[turn % OPERATIONS.length]!))) continue
    if (tally.draining) return
    connection = await openWatched(port, tally)
  }
}

/** A kept-alive connection that asked once and then rests until the server ends it. */
export async function silentClient(port: number, tally: DrainTally): Promise<void> {
  const connection = await openWatched(port, tally)
  if (connection) await tally.ask(connection, OPERATIONS[0]!)
}

/** A kept-alive connection that rests when the signal comes and asks once, `afterMs` later, unless it was closed. */
export async function restingClient(
  port: number,
  tally: DrainTally,
  signal: Promise<void>,
  afterMs: number,
): Promise<void> {
  const connection = await openWatched(port, tally)
  if (!connection) return
  await tally.ask(connection, OPERATIONS[0]!)
  await signal
  await sleep(afterMs)
  await nextTurn()
  if (connection.usable) await tally.ask(connection, OPERATIONS[0]!)
  connection.drop()
}
