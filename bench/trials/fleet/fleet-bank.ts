import { setTimeout as sleep } from 'node:timers/promises'
import { PostgresCluster } from '../../../src/drill/fleet/postgres-cluster.js'
import type { Quota } from '../../../src/limits/quota.js'
import { quantile } from '../../harness/figures/statistics.js'
import { below, exactly, figure, playRounds, type Trial } from '../trial.js'
import { BankWorld } from './bank-world.js'
import type { SimulatedMachine } from './simulated-machine.js'

const MACHINES = 200
const KEYS = 3
/** Of each machine, in all. */
const CALLS_PER_S = 4
const WARM_S = 20
const STEADY_S = 40
const OFFERED = 5_000
const AFFORDABLE = 1_000
const MINUTE_MS = 60_000

/** What a call claims: a share of the organization's credits, which all machines draw from, and of its key's limits. */
const CREDITS: Quota = { name: '$oacme never', capacity: 1e12, windowMs: 0 }
const COST = 1_000
const keyQuotas = (key: number): readonly Quota[] => [
  { name: `$kkey${key} monthly1`, capacity: 1e10, windowMs: 0 },
  { name: `rkey${key}`, capacity: 1e6, windowMs: MINUTE_MS },
]

interface BankRound {
  readonly perMachineSecond: number
  readonly p50: number
  readonly p99: number
  readonly refused: number
  readonly answered: number
  readonly spent: number
  readonly faults: number
}

/** Calls at its rate until `until`, each with all its claims. Resolves with how many were refused. */
async function work(machine: SimulatedMachine, until: number): Promise<number> {
  let refused = 0
  await sleep((1000 / CALLS_PER_S) * Math.random())
  while (performance.now() < until) {
    const key = Math.floor(Math.random() * KEYS)
    for (const quota of [CREDITS, ...keyQuotas(key)]) {
      const amount = quota.windowMs > 0 ? 1 : COST
      if ((await machine.call(quota, amount, amount)) !== 'answered') refused++
    }
    await sleep((1000 / CALLS_PER_S) * (0.5 + Math.random()))
  }
  return refused
}

/** All machines at once want the last of the credits. */
async function exhaust(world: BankWorld): Promise<number> {
  const quota = { name: '$oother never', capacity: AFFORDABLE, windowMs: 0 }
  let answered = 0
  const offer = async (machine: SimulatedMachine): Promise<void> => {
    for (let call = 0; call < OFFERED / MACHINES; call++) {
      for (;;) {
        const outcome = await machine.call(quota, 1, 1)
        if (outcome === 'answered') answered++
        if (outcome !== 'unknown') break
        await sleep(1_000)
      }
    }
  }
  await Promise.all(world.machines.map(offer))
  return answered
}

async function playRound(url: string): Promise<BankRound> {
  const world = await BankWorld.open({
    ...{ url, machines: MACHINES, connections: 20, intakeMs: 1_000, beatMs: 1_000 },
  })
  const startedAt = performance.now()
  const until = startedAt + (WARM_S + STEADY_S) * 1000
  const working = world.machines.map((machine) => work(machine, until))
  await sleep(WARM_S * 1000)
  for (const { exchangesMs } of world.machines) exchangesMs.length = 0
  const refused = (await Promise.all(working)).reduce((sum, each) => sum + each, 0)
  const tookMs = world.machines.flatMap(({ exchangesMs }) => exchangesMs)
  const answered = await exhaust(world)
  await Promise.all(world.machines.map((machine) => machine.intake()))
  const { spent } = await world.balance('$oother never')
  const faults = await world.faults()
  await world.close()
  return {
    perMachineSecond: tookMs.length / MACHINES / STEADY_S,
    p50: quantile(tookMs, 0.5),
    p99: quantile(tookMs, 0.99),
    ...{ refused, answered, spent, faults: faults.length },
  }
}

export const fleetBank: Trial = {
  name: 'fleet-bank',
  summary: '200 simulated machines on one bank: exact, few statements, one organization on all of them',
  rounds: 1,
  roundLimitS: 180,
  run: async (context) => {
    const cluster = await PostgresCluster.create(['fsync=on', 'max_connections=60'])
    try {
      const [round] = await playRounds(
        context,
        async () => playRound(await cluster.database()),
        ({ perMachineSecond, answered }) =>
          `${perMachineSecond.toFixed(3)} statements per machine and second, ${answered} of ${AFFORDABLE} answered`,
      )
      const { perMachineSecond, p50, p99, refused, answered, spent, faults } = round!
      return {
        bars: [
          exactly('answered of credits for 1,000 calls offered 5,000', answered, AFFORDABLE),
          exactly('spent of them, in the ledger', spent, AFFORDABLE),
          exactly('moments in which the books did not add up', faults, 0),
          exactly('refused though there was plenty', refused, 0),
          below('statements to the bank per machine and second', perMachineSecond, 0.25),
        ],
        figures: [
          figure('quotas of a machine', 1 + 2 * KEYS),
          figure('statement of the bank, p50', p50, 'ms'),
          figure('statement of the bank, p99', p99, 'ms'),
        ],
      }
    } finally {
      await cluster.remove()
    }
  },
}
