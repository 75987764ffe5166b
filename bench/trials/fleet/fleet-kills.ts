import { setTimeout as sleep } from 'node:timers/promises'
import { auditBank, auditBooks } from '../../../src/drill/fleet/books.js'
import { awaitRecovery } from '../../../src/drill/fleet/fleet-drill.js'
import type { FleetStage } from '../../../src/drill/fleet/stage.js'
import { atLeast, atMost, exactly, figure, playRounds, type Trial } from '../trial.js'
import { statusCounts, withFleet } from './fleet-trial.js'

const PER_SECOND = 300
/** More than the whole trial can spend. */
const CREDIT_CALLS = 1_000_000
const SNAPSHOT_MS = 250
const RECOVERY_MS = 5_000
/** In turn: what is over soon, and what a machine is declared expired for. */
const LASTS_MS = [1_500, 5_000]
const STALENESS_MS = 3_000
const STEADY_MS = 500

/** What fails, with what mends it. `machine`: whose turn it is. */
type Strike = (stage: FleetStage, machine: number) => Promise<() => void | Promise<void>>

const STRIKES: Readonly<Record<string, Strike>> = {
  'machine killed': async ({ fleet }, machine) => {
    await fleet.machines[machine]!.kill()
    return () => fleet.machines[machine]!.start()
  },
  'machine frozen': async ({ fleet }, machine) => {
    fleet.machines[machine]!.freeze()
    return () => fleet.machines[machine]!.thaw()
  },
  'machine cut off': async ({ fleet }, machine) => {
    fleet.links[machine]!.fault = { kind: 'freeze' }
    return () => {
      fleet.links[machine]!.fault = { kind: 'none' }
    }
  },
  'machine restarted': async ({ fleet }, machine) => {
    await fleet.machines[machine]!.stop()
    return () => fleet.machines[machine]!.start()
  },
  'connections reset': async ({ fleet }) => {
    for (const link of fleet.links) link.resetAll()
    return () => {}
  },
  'answers to the intake lost': async ({ fleet }, machine) => {
    fleet.links[machine]!.fault = { kind: 'cut-after-answer', to: 'take_journals' }
    return () => {
      fleet.links[machine]!.fault = { kind: 'none' }
    }
  },
  'PostgreSQL killed': async ({ cluster }) => {
    await cluster.kill()
    return () => cluster.start()
  },
  'PostgreSQL frozen': async ({ cluster }) => {
    cluster.freeze()
    return () => cluster.thaw()
  },
  'PostgreSQL restarted': async ({ cluster }) => {
    await cluster.stop()
    await cluster.start()
    return () => {}
  },
}

const NAMES = Object.keys(STRIKES)
const ENVIRONMENT = { SLUICE_FLEET_STALENESS_MS: String(STALENESS_MS) }

/** Looks at the bank again and again; what it finds wrong, and how often it got to see it. */
function watchBank(stage: FleetStage) {
  const wrong = new Set<string>()
  let snapshots = 0
  let running = true
  const watching = (async () => {
    for (; running; await sleep(SNAPSHOT_MS)) {
      // While PostgreSQL is away there is nothing to see.
      const found = await auditBank(stage).catch(() => null)
      if (found === null) continue
      snapshots++
      for (const sentence of found) wrong.add(sentence)
    }
  })()
  return async () => {
    running = false
    await watching
    return { wrong: [...wrong], snapshots }
  }
}

export const fleetKills: Trial = {
  name: 'fleet-kills',
  summary:
    'machines and PostgreSQL killed, frozen, cut off and restarted under 300 calls a second: nothing lost',
  rounds: 100,
  roundLimitS: 60,
  run: (context) =>
    withFleet(context, { environment: ENVIRONMENT }, async (stage) => {
      const payer = await stage.addPayer(CREDIT_CALLS)
      const load = stage.load(payer, PER_SECOND)
      const endWatch = watchBank(stage)
      await sleep(STEADY_MS)
      const all = await playRounds(
        context,
        async (number) => {
          const name = NAMES[number % NAMES.length]!
          // Each time round, every strike meets the next machine, and lasts for the other time.
          const round = Math.floor(number / NAMES.length)
          const machine = (number + round) % stage.fleet.machines.length
          const lastsMs = LASTS_MS[round % LASTS_MS.length]!
          const mend = await STRIKES[name]!(stage, machine)
          await sleep(lastsMs)
          await mend()
          const recoveryMs = (await awaitRecovery(load, performance.now())) ?? Number.POSITIVE_INFINITY
          await sleep(STEADY_MS)
          return { name, machine, lastsMs, recoveryMs }
        },
        ({ name, machine, lastsMs, recoveryMs }) =>
          `${name} for ${lastsMs} ms (machine ${machine + 1}): back after ${Math.round(recoveryMs)} ms`,
      )
      await load.stop()
      const books = await auditBooks(stage, payer, load.calls)
      const { wrong, snapshots } = await endWatch()
      const counts = statusCounts(load.calls)
      const strange = load.calls.filter(({ status }) => ![0, 200, 503].includes(status)).length
      const slowest = Math.max(...all.map(({ recoveryMs }) => recoveryMs))
      return {
        bars: [
          exactly('snapshots of the bank that are wrong', wrong.length, 0),
          atLeast('snapshots of the bank', snapshots, context.rounds),
          exactly('disagreements of ledger and calls', books.length, 0),
          atMost('slowest recovery', slowest, RECOVERY_MS, 'ms'),
          exactly('calls answered with neither 200 nor 503', strange, 0),
        ],
        figures: [
          figure('calls served', counts.get(200) ?? 0),
          figure('calls refused with 503', counts.get(503) ?? 0),
          figure('calls that broke off', counts.get(0) ?? 0),
          figure('calls left out because a machine owed too many answers', load.skipped),
        ],
        notes: [...wrong, ...books].slice(0, 20),
      }
    }),
}
