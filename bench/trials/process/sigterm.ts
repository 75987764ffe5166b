import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { Connection, type ConnectionLossKind, ConnectionLost } from '../../harness/http/connection.js'
import { apiRequest, hashRequest, readItemRequest } from '../requests.js'
import { atMost, exactly, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'

/** A request that the server was bound to answer and did not. */
interface DrainFailure {
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
    request: () => apiRequest('POST', '/items', { name: 'drain', description: 'x'.repeat(200), price: 1 }),
    status: 201,
  },
  { name: 'report', request: () => apiRequest('GET', '/report?items=5'), status: 200 },
  { name: 'hash', request: () => hashRequest('drain', 2_000), status: 200 },
]

/** Books what happened to every request around one SIGTERM. */
class DrainTally {
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
async function busyClient(port: number, tally: DrainTally, first: number): Promise<void> {
  let connection = await openWatched(port, tally)
  for (let turn = first; connection !== null; turn++) {
    await nextTurn()
    if (connection.usable && (await tally.ask(connection, OPERATIONS[turn % OPERATIONS.length]!))) continue
    if (tally.draining) return
    connection = await openWatched(port, tally)
  }
}

/** A kept-alive connection that asked once and then rests until the server ends it. */
async function silentClient(port: number, tally: DrainTally): Promise<void> {
  const connection = await openWatched(port, tally)
  if (connection) await tally.ask(connection, OPERATIONS[0]!)
}

/** A kept-alive connection that rests when the signal comes and asks once, `afterMs` later, unless it was closed. */
async function restingClient(port: number, tally: DrainTally, signal: Promise<void>, afterMs: number) {
  const connection = await openWatched(port, tally)
  if (!connection) return
  await tally.ask(connection, OPERATIONS[0]!)
  await signal
  await sleep(afterMs)
  await nextTurn()
  if (connection.usable) await tally.ask(connection, OPERATIONS[0]!)
  connection.drop()
}

const BUSY = 64
const RESTING = 16
const SILENT = 4
/** The server's default drain deadline. */
const DEADLINE_MS = 10_000

/**
 * One server, one signal. The resting connections ask `restMs` apart from each other after it; the silent ones
 * never ask again, as the spare connections of a client's pool do.
 */
async function drainOnce({ staging }: TrialContext, restMs: number) {
  const server = await staging.start({ workers: 2, seedItems: 10 })
  const tally = new DrainTally()
  let signalSent = (): void => {}
  const signal = new Promise<void>((resolve) => {
    signalSent = resolve
  })
  const lanes = Promise.all([
    ...Array.from({ length: BUSY }, (_, i) => busyClient(server.port, tally, i)),
    ...Array.from({ length: RESTING }, (_, i) => restingClient(server.port, tally, signal, i * restMs)),
    ...Array.from({ length: SILENT }, () => silentClient(server.port, tally)),
  ])
  // A lane that fails before it is awaited below must not end the process; the await reports it.
  lanes.catch(() => {})
  await sleep(700 + Math.random() * 600)
  const since = performance.now()
  tally.signalled()
  server.signal('SIGTERM')
  signalSent()
  const forced = setTimeout(() => server.killGroup(), DEADLINE_MS + 5_000)
  const { code } = await server.exited
  clearTimeout(forced)
  const exitMs = performance.now() - since
  await lanes
  return { tally, exitMs, code, orphans: server.orphans }
}

function describeFailure(failure: DrainFailure): string {
  const { operation, kind, sentAt, lostAt, bytes } = failure
  return `${operation} sent at ${sentAt.toFixed(1)} ms, ${kind} at ${lostAt.toFixed(1)} ms, ${bytes} bytes of an answer`
}

export const sigterm: Trial = {
  name: 'sigterm',
  summary: 'SIGTERM under 64 busy and 16 resting connections: every request is answered, exit 0 within 10 s',
  rounds: 20,
  roundLimitS: 40,
  run: async (context) => {
    const drains = await playRounds(
      context,
      (round) => drainOnce(context, round % 2 === 1 ? 25 : 150),
      ({ exitMs, code, tally: { answeredAfter, failures } }) =>
        `left after ${exitMs.toFixed(0)} ms with ${code}, ${answeredAfter} answered after the signal, ${failures.length} failed`,
    )
    const tallies = drains.map(({ tally }) => tally)
    const { sum } = over(tallies)
    const { sum: total, max, median } = over(drains)
    const failures = tallies.flatMap((tally) => tally.failures)
    const refusals = tallies.flatMap((tally) => [...tally.refusals])
    const refused = refusals.reduce((count, [, more]) => count + more, 0)
    const unclean = drains.filter((drain) => drain.code !== 0).length
    const hasty = failures.filter((one) => one.lostAt - one.sentAt < 2).length
    return {
      bars: [
        exactly('requests failed', failures.length, 0),
        exactly('requests answered with another status', refused, 0),
        exactly('drains that did not exit with 0', unclean, 0),
        atMost('slowest exit', max('exitMs'), DEADLINE_MS, 'ms'),
        exactly('processes left behind', total('orphans'), 0),
      ],
      figures: [
        figure('drains', drains.length),
        figure('answered before the signals', sum('answeredBefore')),
        figure('in flight at the signals', sum('inFlightAtSignal')),
        figure('answered after the signals', sum('answeredAfter')),
        figure('sent after a signal, answered without "Connection: close"', sum('unannounced')),
        figure('connections the server ended while idle', sum('closedIdle')),
        figure('failed within 2 ms of being sent', hasty),
        figure('median exit', median('exitMs'), 'ms'),
      ],
      notes: [
        ...failures.slice(0, 5).map(describeFailure),
        ...refusals.slice(0, 5).map(([key, count]) => `${count} answers of ${key}`),
      ],
    }
  },
}
