import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from '../../../src/base/histogram.js'
import { median } from '../../harness/figures/statistics.js'
import { Connection } from '../../harness/http/connection.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { quietRounds, watchProcesses } from '../disturbance.js'
import { failedRequests, openLoop } from '../load.js'
import { readItemRequest } from '../requests.js'
import { atLeast, atMost, exactly, figure, over, type Trial, type TrialContext } from '../trial.js'

const PER_SECOND = 2_000
const CONNECTIONS = 16
// The server closes a connection about 10 s after its last request: a crowd gathered in a second is complete for
// the whole window, so that refreshing it does not add requests to what is measured.
const SECONDS = 4
const SETTLE_MS = 2_000
const IDLE = 1_000
const HALF_OF_EACH_KIND = 100
const CLOSED_WITHIN_MS = 30_000

async function measureLoad(server: SluiceServer, context: TrialContext) {
  const endWatch = watchProcesses(context, server.pids)
  const seconds = Array.from({ length: SECONDS }, () => new Histogram())
  let start = 0
  const load = await openLoop({
    port: server.port,
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
    seconds: SECONDS,
    request: readItemRequest(1),
    onStart: () => {
      start = performance.now()
    },
    onAnswer: (_, ms) => seconds[Math.floor((performance.now() - start) / 1_000)]?.record(ms),
  })
  return {
    load,
    /**
     * The p99 of each second, milliseconds. Their median forgives the few seconds in which something else on the
     * machine stood in the way, which a p99 over everything would show and nothing else.
     */
    p99s: seconds.map((second) => second.quantile(0.99)),
    disturbed: endWatch(),
  }
}

/** Half a header block, and a body that stops half-way. */
const HALVES = {
  header: 'GET /api/v1/items/1 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Never-Finished: ',
  body:
    'POST /api/v1/items HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 200\r\n\r\n' +
    '{"name":"never finished","description":"',
}

/** Connections that asked once and then rest. Faults: ConnectionLost. */
async function gatherIdle(port: number): Promise<Connection[]> {
  const idle: Connection[] = []
  while (idle.length < IDLE) {
    const connection = await Connection.open(port)
    idle.push(connection)
    await connection.send(readItemRequest(1))
  }
  return idle
}

interface HalfSentRequest {
  readonly socket: Socket
  readonly kind: 'header' | 'body'
  readonly sentAt: number
  closedAt: number | null
}

/** Begins a request that never ends, on a connection of its own. Faults: the socket's error. */
function sendHalf(port: number, kind: HalfSentRequest['kind']): Promise<HalfSentRequest> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      const one: HalfSentRequest = { socket, kind, sentAt: performance.now(), closedAt: null }
      socket.removeListener('error', reject)
      // A reset is one of the ways in which the server may end it; 'close' follows and is what counts.
      socket.on('error', () => {})
      socket.on('close', () => (one.closedAt = performance.now()))
      socket.resume()
      socket.write(HALVES[kind], () => resolve(one))
    })
  })
}

/** Waits until the server has closed all of them, at most until the youngest is as old as one may get. */
async function awaitClosed(all: readonly HalfSentRequest[]): Promise<void> {
  const last = Math.max(...all.map(({ sentAt }) => sentAt)) + CLOSED_WITHIN_MS
  while (all.some(({ closedAt }) => closedAt === null) && performance.now() < last) await sleep(50)
}

/** The longest the server kept one of a kind, milliseconds; those still open count as kept until now. */
function longestKept(all: readonly HalfSentRequest[], wanted: HalfSentRequest['kind']): number {
  const own = all.filter(({ kind }) => kind === wanted)
  return Math.max(0, ...own.map(({ sentAt, closedAt }) => (closedAt ?? performance.now()) - sentAt))
}

/**
 * One pair; the order alternates, so that a drift of the machine does not favour one side. `halves` takes what is
 * begun.
 */
async function measurePair(
  round: number,
  halves: HalfSentRequest[],
  server: SluiceServer,
  context: TrialContext,
) {
  const early = round % 2 === 1 ? await measureLoad(server, context) : null
  const idle = await gatherIdle(server.port)
  for (let i = 0; i < HALF_OF_EACH_KIND; i++)
    for (const kind of ['header', 'body'] as const) halves.push(await sendHalf(server.port, kind))
  // What is asked is what a crowd costs that is there, not what its arrival costs both programs.
  await sleep(SETTLE_MS)
  const crowd = await measureLoad(server, context)
  /** Idle connections that were there from the beginning to the end of the window. */
  const stayed = idle.filter(({ usable }) => usable).length
  for (const connection of idle) connection.drop()
  await awaitClosed(halves)
  const baseline = early ?? (await measureLoad(server, context))
  return { baseline, crowd, stayed, disturbed: Math.max(baseline.disturbed, crowd.disturbed) }
}

export const idleCrowd: Trial = {
  name: 'idle-crowd',
  summary:
    '1,000 idle connections and 200 half-sent requests: p99 of the others within 10 %, the halves closed in 30 s',
  rounds: 5,
  roundLimitS: 360,
  pinned: true,
  run: async (context) => {
    const halves: HalfSentRequest[] = []
    const server = await context.staging.start({ seedItems: 100 })
    // Both programs compile their hot code during the first seconds; that is not to look like a loud baseline.
    for (let warmUp = 0; warmUp < 2; warmUp++) await measureLoad(server, context)
    const { kept, figures, notes } = await quietRounds(
      context,
      (round) => measurePair(round, halves, server, context),
      ({ baseline, crowd }) =>
        `p99 ${median(baseline.p99s).toFixed(3)} ms alone, ${median(crowd.p99s).toFixed(3)} ms among the crowd`,
    )
    await server.stop()
    type Side = 'baseline' | 'crowd'
    const p99 = (side: Side): number => median(kept.flatMap((pair) => pair[side].p99s))
    const overall = (side: Side, q: number) =>
      over(kept).median((pair) => pair[side].load.latency.quantile(q))
    const header = longestKept(halves, 'header')
    const body = longestKept(halves, 'body')
    for (const { socket } of halves) socket.destroy()
    const loads = over(kept.flatMap(({ baseline, crowd }) => [baseline.load, crowd.load]))
    const late = loads.median((load) => load.lateness.quantile(0.99))
    return {
      bars: [
        atMost('p99 among the crowd / p99 alone', p99('crowd') / p99('baseline'), 1.1),
        atLeast('idle connections that stayed', over(kept).min('stayed'), IDLE * 0.95),
        atMost('longest life of a half-sent request', Math.max(header, body), CLOSED_WITHIN_MS, 'ms'),
        exactly('failed requests', loads.sum(failedRequests), 0),
      ],
      figures: [
        figure('p99 of a second, alone', p99('baseline'), 'ms'),
        figure('p99 of a second, among the crowd', p99('crowd'), 'ms'),
        figure('p50 alone', overall('baseline', 0.5), 'ms'),
        figure('p50 among the crowd', overall('crowd', 0.5), 'ms'),
        figure('p99 of all seconds, alone', overall('baseline', 0.99), 'ms'),
        figure('p99 of all seconds, among the crowd', overall('crowd', 0.99), 'ms'),
        figure('half-sent requests', halves.length),
        figure('longest life of half a header block', header, 'ms'),
        figure('longest life of half a body', body, 'ms'),
        figure('requests sent late, p99', late, 'ms'),
        ...figures,
      ],
      notes,
    }
  },
}
