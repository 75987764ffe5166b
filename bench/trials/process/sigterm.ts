import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../harness/figures/statistics.js'
import { atMost, exactly, figure, type Trial, type TrialContext, type TrialOutcome } from '../trial.js'
import { busyClient, type DrainFailure, DrainTally, restingClient, silentClient } from './drain-client.js'

const BUSY = 64
const RESTING = 16
const SILENT = 4
/** The server's default drain deadline. */
const DEADLINE_MS = 10_000

interface DrainResult {
  readonly tally: DrainTally
  readonly exitMs: number
  readonly code: number | null
  readonly orphans: number
}

/**
 * One server, one signal. The resting connections ask `restMs` apart from each other after it; the silent ones
 * never ask again, as the spare connections of a client's pool do.
 */
async function drainOnce({ staging }: TrialContext, restMs: number): Promise<DrainResult> {
  const server = await staging.start({ workers: 2, poolThreads: 1, seedItems: 10 })
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

async function run(context: TrialContext): Promise<TrialOutcome> {
  const drains: DrainResult[] = []
  for (let round = 1; round <= context.rounds; round++) {
    const drain = await drainOnce(context, round % 2 === 1 ? 25 : 150)
    drains.push(drain)
    const { failures, answeredAfter } = drain.tally
    context.progress(
      `drain ${round}/${context.rounds}: left after ${drain.exitMs.toFixed(0)} ms with ${drain.code}, ` +
        `${answeredAfter} answered after the signal, ${failures.length} failed`,
    )
  }
  const tallies = drains.map((drain) => drain.tally)
  const total = (value: (tally: DrainTally) => number): number =>
    tallies.reduce((sum, tally) => sum + value(tally), 0)
  const failures = tallies.flatMap((tally) => tally.failures)
  const refusals = tallies.flatMap((tally) => [...tally.refusals])
  const refused = refusals.reduce((sum, [, count]) => sum + count, 0)
  const unclean = drains.filter((drain) => drain.code !== 0).length
  const orphans = drains.reduce((sum, drain) => sum + drain.orphans, 0)
  const exits = drains.map((drain) => drain.exitMs)
  const hasty = failures.filter((one) => one.lostAt - one.sentAt < 2).length
  return {
    bars: [
      exactly('requests failed', failures.length, 0),
      exactly('requests answered with another status', refused, 0),
      exactly('drains that did not exit with 0', unclean, 0),
      atMost('slowest exit', Math.max(...exits), DEADLINE_MS, 'ms'),
      exactly('processes left behind', orphans, 0),
    ],
    figures: [
      figure('drains', drains.length),
      ...METERS.map(([name, value]) => figure(name, total(value))),
      figure('failed within 2 ms of being sent', hasty),
      figure('median exit', median(exits), 'ms'),
    ],
    notes: [
      ...failures.slice(0, 5).map(describeFailure),
      ...refusals.slice(0, 5).map(([key, count]) => `${count} answers of ${key}`),
    ],
  }
}

/** Sums over all drains. */
const METERS: readonly (readonly [name: string, value: (tally: DrainTally) => number])[] = [
  ['answered before the signals', (tally) => tally.answeredBefore],
  ['in flight at the signals', (tally) => tally.inFlightAtSignal],
  ['answered after the signals', (tally) => tally.answeredAfter],
  ['sent after a signal, answered without "Connection: close"', (tally) => tally.unannounced],
  ['connections the server ended while idle', (tally) => tally.closedIdle],
]

export const sigterm: Trial = {
  name: 'sigterm',
  summary: 'SIGTERM under 64 busy and 16 resting connections: every request is answered, exit 0 within 10 s',
  rounds: 20,
  roundLimitS: 40,
  run,
}
