import { setTimeout as sleep } from 'node:timers/promises'
import type { FleetStage } from '../../../src/drill/fleet/stage.js'
import { atLeast, atMost, figure, over, playRounds, type Trial } from '../trial.js'
import { withFleet } from './fleet-trial.js'

const MACHINES = 3
const PER_SECOND = 1_200
const SECONDS = 20
const SETTLE_MS = 5_000
const COUNTING = ['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.track_utility=on']

/** All statements that PostgreSQL has run in the fleet's database, begins and commits included, but these of ours. */
async function countStatements(stage: FleetStage): Promise<number> {
  const [[count = '0'] = []] = await stage.sql(`
    SELECT sum(calls) FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND query NOT LIKE '%pg_stat_statements%'`)
  return Number(count)
}

async function during(stage: FleetStage, work: () => Promise<void>) {
  const before = await countStatements(stage)
  const begun = performance.now()
  await work()
  const seconds = (performance.now() - begun) / 1_000
  return { statements: (await countStatements(stage)) - before, seconds }
}

export const fleetStatements: Trial = {
  name: 'fleet-statements',
  summary:
    'statements of PostgreSQL per 1,000 calls at 1,200 calls a second over three machines, beyond the idle rate',
  rounds: 3,
  roundLimitS: 120,
  run: (context) =>
    withFleet(context, { size: MACHINES, database: COUNTING }, async (stage) => {
      await stage.sql('CREATE EXTENSION pg_stat_statements')
      const payer = await stage.addPayer(1_000_000)
      const all = await playRounds(
        context,
        async () => {
          await sleep(SETTLE_MS)
          const idle = await during(stage, () => sleep(SECONDS * 1_000))
          const idlePerSecond = idle.statements / idle.seconds
          const load = stage.load(payer, PER_SECOND)
          // What a lease needs in the beginning is no steady state.
          await sleep(SETTLE_MS)
          const servedBefore = load.served.length
          const busy = await during(stage, () => sleep(SECONDS * 1_000))
          const calls = load.served.length - servedBefore
          await load.stop()
          return {
            idlePerSecond,
            callsPerSecond: calls / busy.seconds,
            perThousand: ((busy.statements - idlePerSecond * busy.seconds) / calls) * 1_000,
          }
        },
        ({ idlePerSecond, callsPerSecond, perThousand }) =>
          `${perThousand.toFixed(2)} per 1,000 calls at ${Math.round(callsPerSecond)} calls/s, idle ${idlePerSecond.toFixed(1)}/s`,
      )
      const most = await stage.sql(`
        SELECT calls, left(regexp_replace(query, '\\s+', ' ', 'g'), 80) FROM pg_stat_statements
        ORDER BY calls DESC LIMIT 8`)
      return {
        bars: [
          atMost('statements per 1,000 calls beyond the idle rate', over(all).max('perThousand'), 5),
          atLeast('calls a second', over(all).min('callsPerSecond'), 1_000),
        ],
        figures: [
          figure('idle statements per machine and second', over(all).median('idlePerSecond') / MACHINES),
        ],
        notes: most.map(([calls, query]) => `${calls} × ${query}`),
      }
    }),
}
