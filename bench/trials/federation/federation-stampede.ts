import { Connection } from '../../harness/http/connection.js'
import { sweepStats } from '../stats-body.js'
import {
  atMost,
  exactly,
  figure,
  over,
  playRounds,
  type Trial,
  type TrialBar,
  type TrialContext,
} from '../trial.js'
import { stageFederation } from './federation-stage.js'

const EXCHANGES = 500
/** The issuer takes its time, so that all of them come while the fetches are under way. */
const ISSUER_DELAY_MS = 300

type StampedeResult = Awaited<ReturnType<typeof runStampede>>

async function runStampede(context: TrialContext, workers: number) {
  const stage = await stageFederation(context, workers)
  const { port } = stage.server
  const trusted = await stage.newIssuer()
  trusted.issuer.delayMs = ISSUER_DELAY_MS
  const requests = Array.from({ length: EXCHANGES }, (_, index) =>
    trusted.exchange({ jti: `stampede-${index}` }),
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
  const fewest = over(sweep.workers).min(({ operations }) => operations.create_oauth_token?.count ?? 0)
  const fetches = trusted.issuer.fetches()
  await stage.stop()
  return {
    ...fetches,
    refused: EXCHANGES - times.length,
    slowestMs: Math.max(0, ...times),
    /** Exchanges of the worker that had the fewest. */
    fewest,
  }
}

function barsOf(workers: number, rounds: readonly StampedeResult[]): TrialBar[] {
  const who = workers === 1 ? 'one worker' : `${workers} workers`
  const { sum, max } = over(rounds)
  return [
    atMost(`${who}: discovery fetches`, max('discovery'), workers),
    atMost(`${who}: key set fetches`, max('jwks'), workers),
    exactly(`${who}: exchanges refused`, sum('refused'), 0),
  ]
}

export const federationStampede: Trial = {
  name: 'federation-stampede',
  summary: '500 exchanges at once on a cold server: one discovery and one key set for each worker at most',
  rounds: 3,
  roundLimitS: 60,
  run: async (context) => {
    const play = async () => ({
      alone: await runStampede(context, 1),
      together: await runStampede(context, 2),
    })
    const rounds = await playRounds(context, play, () => `${EXCHANGES} exchanges at once, twice`)
    const alone = rounds.map((round) => round.alone)
    const together = rounds.map((round) => round.together)
    return {
      bars: [...barsOf(1, alone), ...barsOf(2, together)],
      figures: [
        figure('exchanges at once', EXCHANGES),
        figure('delay of each document', ISSUER_DELAY_MS, 'ms'),
        figure('last answer, one worker', over(alone).max('slowestMs'), 'ms'),
        figure('last answer, 2 workers', over(together).max('slowestMs'), 'ms'),
        figure('exchanges of the less used of 2 workers', over(together).min('fewest')),
      ],
    }
  },
}
