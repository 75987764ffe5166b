import { Connection } from '../../harness/http/connection.js'
import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import type { DocumentFetches } from '../../performance/federation/local-issuer.js'
import { sweepStats } from '../stats-body.js'
import {
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialBar,
  type TrialContext,
  type TrialOutcome,
} from '../trial.js'
import { stageFederation, trustedIssuer } from './federation-stage.js'

const EXCHANGES = 500
/** The issuer takes its time, so that all of them come while the fetches are under way. */
const ISSUER_DELAY_MS = 300

interface StampedeResult {
  readonly fetches: DocumentFetches
  readonly issued: number
  readonly slowestMs: number
  /** Exchanges of the worker that had the fewest. */
  readonly fewest: number
}

async function runStampede(context: TrialContext, workers: number): Promise<StampedeResult> {
  const stage = await stageFederation(context, workers)
  const { port } = stage.server
  const { issuer, trust } = await trustedIssuer(stage)
  issuer.delayMs = ISSUER_DELAY_MS
  const requests = Array.from({ length: EXCHANGES }, (_, index) =>
    exchangeBytes(trust.policyId, issuer.token({ jti: `stampede-${index}` })),
  )
  const connections = await Connection.openAll(port, EXCHANGES)
  const begun = performance.now()
  const one = async (connection: Connection, index: number): Promise<number | null> => {
    const { status } = await connection.send(requests[index]!)
    return status === 200 ? performance.now() - begun : null
  }
  const times = (await Promise.all(connections.map(one))).filter((ms) => ms !== null)
  for (const connection of connections) connection.drop()
  const sweep = await sweepStats(port, workers)
  const counts = sweep.workers.map(({ operations }) => operations.create_oauth_token?.count ?? 0)
  const fetches = issuer.fetches()
  await stage.stop()
  return { fetches, issued: times.length, slowestMs: Math.max(0, ...times), fewest: Math.min(...counts) }
}

function barsOf(workers: number, rounds: readonly StampedeResult[]): TrialBar[] {
  const who = workers === 1 ? 'one worker' : `${workers} workers`
  const most = (value: (one: StampedeResult) => number): number => Math.max(...rounds.map(value))
  const refused = rounds.reduce((sum, { issued }) => sum + EXCHANGES - issued, 0)
  return [
    atMost(
      `${who}: discovery fetches`,
      most(({ fetches }) => fetches.discovery),
      workers,
    ),
    atMost(
      `${who}: key set fetches`,
      most(({ fetches }) => fetches.jwks),
      workers,
    ),
    exactly(`${who}: exchanges refused`, refused, 0),
  ]
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const alone: StampedeResult[] = []
  const together: StampedeResult[] = []
  for (let round = 1; round <= context.rounds; round++) {
    alone.push(await runStampede(context, 1))
    together.push(await runStampede(context, 2))
    context.progress(`round ${round}/${context.rounds}: ${EXCHANGES} exchanges at once, twice`)
  }
  const slowest = (rounds: readonly StampedeResult[]) => Math.max(...rounds.map(({ slowestMs }) => slowestMs))
  return {
    bars: [...barsOf(1, alone), ...barsOf(2, together)],
    figures: [
      figure('exchanges at once', EXCHANGES),
      figure('delay of each document', ISSUER_DELAY_MS, 'ms'),
      figure('last answer, one worker', slowest(alone), 'ms'),
      figure('last answer, 2 workers', slowest(together), 'ms'),
      figure('exchanges of the less used of 2 workers', Math.min(...together.map(({ fewest }) => fewest))),
    ],
    notes: [],
  }
}

export const federationStampede: Trial = {
  name: 'federation-stampede',
  summary: '500 exchanges at once on a cold server: one discovery and one key set for each worker at most',
  rounds: 3,
  roundLimitS: 60,
  run,
}
