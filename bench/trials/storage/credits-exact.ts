import { Connection, ConnectionLost } from '../../harness/http/connection.js'
import { sweepStats } from '../stats-body.js'
import { atLeast, exactly, figure, type Trial, type TrialContext, type TrialOutcome } from '../trial.js'
import { CALL_PRICE, chatCall, createOrganization, exactEnvironment, readCredits } from './ledger-stage.js'

const WORKERS = 2
const CALLS = 500
const AFFORDABLE = 100

interface CreditsRound {
  readonly statuses: ReadonlyMap<number, number>
  readonly balance: number
  readonly seconds: number
}

async function callAll(connections: Connection[], request: Buffer): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  await Promise.all(
    connections.map(async (connection) => {
      const status = await connection.send(request).then(
        (answer) => answer.status,
        (error: unknown) => {
          if (error instanceof ConnectionLost) return 0
          throw error
        },
      )
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }),
  )
  return statuses
}

async function playRound(port: number): Promise<CreditsRound> {
  const organization = await createOrganization(port, AFFORDABLE * CALL_PRICE)
  const connections = await Promise.all(Array.from({ length: CALLS }, () => Connection.open(port)))
  const startedAt = performance.now()
  const statuses = await callAll(connections, chatCall(organization.key))
  const seconds = (performance.now() - startedAt) / 1000
  for (const connection of connections) connection.drop()
  const { total_credits, total_usage } = await readCredits(port, organization.management)
  return { statuses, balance: Math.round((total_credits - total_usage) * 1e9), seconds }
}

async function run({ staging, rounds, progress }: TrialContext): Promise<TrialOutcome> {
  const environment = exactEnvironment(staging)
  const server = await staging.start({ workers: WORKERS, poolThreads: 1, environment })
  const all: CreditsRound[] = []
  for (let round = 1; round <= rounds; round++) {
    const one = await playRound(server.port)
    all.push(one)
    progress(`round ${round}/${rounds}: ${JSON.stringify([...one.statuses])}, balance ${one.balance}`)
  }
  const { workers } = await sweepStats(server.port, WORKERS)
  await server.stop()
  const count = (round: CreditsRound, status: number): number => round.statuses.get(status) ?? 0
  return {
    bars: [
      exactly(
        `rounds in which exactly ${AFFORDABLE} of ${CALLS} calls succeeded`,
        all.filter((round) => count(round, 200) === AFFORDABLE).length,
        rounds,
      ),
      exactly(
        'rounds in which all others were refused with 402',
        all.filter((round) => count(round, 402) === CALLS - AFFORDABLE).length,
        rounds,
      ),
      exactly(
        'rounds that ended with a balance of 0',
        all.filter(({ balance }) => balance === 0).length,
        rounds,
      ),
      atLeast(
        'requests of the less used worker',
        Math.min(...workers.map(({ requests }) => requests.total)),
        50,
      ),
    ],
    figures: [figure('longest round', Math.max(...all.map(({ seconds }) => seconds)), 's')],
    notes: [],
  }
}

export const creditsExact: Trial = {
  name: 'credits-exact',
  summary: '500 calls at once against credits for exactly 100, two workers: 100 succeed, nothing is left',
  rounds: 20,
  roundLimitS: 30,
  run,
}
