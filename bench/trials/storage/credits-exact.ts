import { Connection, ConnectionLost } from '../../harness/http/connection.js'
import { sweepStats } from '../stats-body.js'
import { atLeast, exactly, figure, over, playRounds, type Trial } from '../trial.js'
import { CALL_PRICE, chatCall, createOrganization, exactEnvironment, readCredits } from './ledger-stage.js'

const WORKERS = 2
const CALLS = 500
const AFFORDABLE = 100

async function callAll(connections: readonly Connection[], request: Buffer): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  const call = async (connection: Connection): Promise<void> => {
    const answer = await connection.send(request).catch((error: unknown) => {
      if (error instanceof ConnectionLost) return { status: 0 }
      throw error
    })
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
  }
  await Promise.all(connections.map(call))
  return statuses
}

async function playRound(origin: string, port: number) {
  const { admin, key } = await createOrganization(origin, AFFORDABLE * CALL_PRICE)
  const connections = await Connection.openAll(port, CALLS)
  const startedAt = performance.now()
  const statuses = await callAll(connections, chatCall(key))
  const seconds = (performance.now() - startedAt) / 1000
  for (const connection of connections) connection.drop()
  const { total_credits, total_usage } = await readCredits(admin)
  return {
    /** How many calls had which status; 0 is no answer. */
    statuses,
    balance: Math.round((total_credits - total_usage) * 1e9),
    seconds,
  }
}

export const creditsExact: Trial = {
  name: 'credits-exact',
  summary: '500 calls at once against credits for exactly 100, two workers: 100 succeed, nothing is left',
  rounds: 20,
  roundLimitS: 30,
  run: async (context) => {
    const { staging, rounds } = context
    const server = await staging.start({ workers: WORKERS, environment: exactEnvironment(staging) })
    const all = await playRounds(
      context,
      () => playRound(server.origin, server.port),
      ({ statuses, balance }) => `${JSON.stringify([...statuses])}, balance ${balance}`,
    )
    const { leastRequests } = await sweepStats(server.port, WORKERS)
    await server.stop()
    const withCount = (status: number, count: number) =>
      all.filter(({ statuses }) => statuses.get(status) === count).length
    const exact = withCount(200, AFFORDABLE)
    const refused = withCount(402, CALLS - AFFORDABLE)
    const spent = all.filter(({ balance }) => balance === 0).length
    return {
      bars: [
        exactly(`rounds in which exactly ${AFFORDABLE} of ${CALLS} calls succeeded`, exact, rounds),
        exactly('rounds in which all others were refused with 402', refused, rounds),
        exactly('rounds that ended with a balance of 0', spent, rounds),
        atLeast('requests of the less used worker', leastRequests, 50),
      ],
      figures: [figure('longest round', over(all).max('seconds'), 's')],
    }
  },
}
