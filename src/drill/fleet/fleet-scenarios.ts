/** The scenarios of the fleet drill, as data: rows of the failure table. Their ids stay what they are. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DRILL_MACHINES,
  type FleetScenario,
  GRANTED_MS,
  SERVING_MS,
  type SpareKey,
  STALENESS_MS,
} from './fleet-scenario.js'
import type { FleetStage, Payer } from './stage.js'

/** Short enough that nobody has to refuse. */
const BRIEF_MS = 2_500
/** Long enough that a machine that does not reach the store refuses by itself. */
const LONG_MS = STALENESS_MS + 3_000
/** Long enough that the others go on without a machine. */
const BEYOND_GRANT_MS = GRANTED_MS + 2_500
const ALL = Array.from({ length: DRILL_MACHINES }, (_, machine) => machine)
/** The machine that something happens to, and those beside it. */
const STRUCK = 1
const OTHERS = ALL.filter((machine) => machine !== STRUCK)
const SLOW_MS = 150
/** Room for a machine that has other things to do. */
const MANAGE_SLACK_MS = 2_500
/** In which a machine has to give up a name that is taken. */
const NAMESAKE_MS = 20_000
/** Of calls with a key that is disabled meanwhile. */
const WATCH_PER_SECOND = 60

export const FLEET_SCENARIOS: readonly FleetScenario[] = [
  {
    id: 'F01',
    row: 'database-down',
    name: 'PostgreSQL is killed, and soon back',
    about: 'every call is served meanwhile',
    lastsMs: BRIEF_MS,
    serving: ALL,
    servingMs: SERVING_MS,
    strike: async ({ cluster }) => {
      await cluster.kill()
      return () => cluster.start()
    },
  },
  {
    id: 'F02',
    row: 'database-down',
    name: 'PostgreSQL is away for longer than machines trust what they know',
    about:
      'calls are served, then refused with 503 and Retry-After; /health stays 200, management answers 503',
    lastsMs: LONG_MS,
    serving: ALL,
    servingMs: SERVING_MS,
    strike: async ({ cluster }) => {
      await cluster.kill()
      return () => cluster.start()
    },
    meanwhile: askWhileStoreIsAway,
  },
  {
    id: 'F03',
    row: 'database-frozen',
    name: 'PostgreSQL accepts and never answers',
    about: 'every call is served meanwhile, none waits for the store',
    lastsMs: BRIEF_MS,
    serving: ALL,
    servingMs: SERVING_MS,
    strike: async ({ cluster }) => {
      cluster.freeze()
      return () => cluster.thaw()
    },
  },
  {
    id: 'F04',
    row: 'database-slow',
    name: `each answer of PostgreSQL takes ${2 * SLOW_MS} ms longer`,
    about: 'every call is served',
    lastsMs: BRIEF_MS,
    serving: ALL,
    servingMs: SERVING_MS,
    strike: async ({ fleet: { links } }) => {
      for (const link of links) link.fault = { kind: 'delay', ms: SLOW_MS }
      return () => {
        for (const link of links) link.fault = { kind: 'none' }
      }
    },
  },
  {
    id: 'F05',
    row: 'database-restarted',
    name: 'PostgreSQL is restarted',
    about: 'every call is served',
    lastsMs: 0,
    serving: ALL,
    servingMs: SERVING_MS,
    strike: async ({ cluster }) => {
      await cluster.stop()
      await cluster.start()
      return () => {}
    },
  },
  {
    id: 'F06',
    row: 'database-restarted',
    name: 'answers to commits are lost',
    about: 'what PostgreSQL has done and nobody heard of is done once',
    lastsMs: BRIEF_MS,
    serving: ALL,
    servingMs: SERVING_MS,
    strike: async ({ fleet: { links } }) => {
      for (const link of links) link.fault = { kind: 'cut-after-answer', to: 'take_journals' }
      return () => {
        for (const link of links) link.fault = { kind: 'none' }
      }
    },
  },
  {
    id: 'F07',
    row: 'database-failed-over',
    name: 'PostgreSQL fails over to a synchronous standby',
    about: 'no grant and no row is lost',
    lastsMs: 0,
    serving: [],
    strike: async (stage) => {
      const standby = await stage.addStandby()
      await stage.cluster.kill()
      await standby.promote()
      stage.moveTo(standby)
      return () => {}
    },
  },
  {
    id: 'F08',
    row: 'machine-killed',
    name: 'a machine is killed, and started again with its folder',
    about: 'the others serve; what it had not handed in is taken in, once',
    lastsMs: BRIEF_MS,
    serving: OTHERS,
    struck: STRUCK,
    strike: async ({ fleet }) => {
      await fleet.machines[STRUCK]!.kill()
      return () => fleet.machines[STRUCK]!.start()
    },
  },
  {
    id: 'F09',
    row: 'machine-frozen',
    name: 'a machine stands still, and a key is disabled meanwhile',
    about:
      'the change is answered when the machine is no longer trusted; nobody lets the key in from then on',
    lastsMs: BEYOND_GRANT_MS,
    serving: OTHERS,
    struck: STRUCK,
    strike: async ({ fleet }) => {
      fleet.machines[STRUCK]!.freeze()
      return () => fleet.machines[STRUCK]!.thaw()
    },
    meanwhile: disableKey,
  },
  {
    id: 'F10',
    row: 'machine-cut-off',
    name: 'a machine is cut off from PostgreSQL, and a key is disabled meanwhile',
    about: 'as when it stands still; the machine itself serves, then refuses with 503',
    lastsMs: BEYOND_GRANT_MS,
    serving: OTHERS,
    strike: async ({ fleet }) => {
      fleet.links[STRUCK]!.fault = { kind: 'freeze' }
      return () => {
        fleet.links[STRUCK]!.fault = { kind: 'none' }
      }
    },
    meanwhile: disableKey,
  },
  {
    id: 'F11',
    row: 'machine-cut-off',
    name: 'the connections of a machine to PostgreSQL die and nobody tells it',
    about: 'it notices by itself and connects anew',
    lastsMs: BRIEF_MS,
    serving: OTHERS,
    strike: async ({ fleet }) => {
      fleet.links[STRUCK]!.fault = { kind: 'half-open' }
      return () => {
        fleet.links[STRUCK]!.fault = { kind: 'none' }
      }
    },
  },
  {
    id: 'F12',
    row: 'same-name',
    name: 'another machine comes under a name that is taken',
    about: 'it does not start, says why in one sentence and ends with 2; the first one serves',
    lastsMs: 0,
    serving: ALL,
    strike: async () => () => {},
    meanwhile: startNamesake,
  },
  {
    id: 'F13',
    row: 'machine-killed',
    name: 'all machines are killed at once, and come back',
    about: 'everything answered is in the ledger, and money is exact',
    lastsMs: 0,
    serving: [],
    breaksAll: true,
    strike: async ({ fleet }) => {
      await Promise.all(fleet.machines.map((machine) => machine.kill()))
      return () => fleet.start()
    },
  },
  {
    id: 'F14',
    row: 'machine-disk-full',
    name: 'the disk of a machine is full',
    about: 'the others serve; the machine refuses what it could not write down',
    lastsMs: BRIEF_MS,
    serving: OTHERS,
    strike: async ({ fleet }) => {
      fleet.machines[STRUCK]!.limitFiles(0)
      return () => fleet.machines[STRUCK]!.limitFiles(null)
    },
  },
]

// ── Asked meanwhile ─────────────────────────────────────────────────────────

/** /health stays 200, and management is refused in time. */
async function askWhileStoreIsAway(stage: FleetStage, payer: Payer): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const machine of ALL) {
    const health = await stage.manage(machine, 'GET', '/health')
    if (health.status !== 200) wrong.push(`/health of machine ${machine + 1} answers ${health.status}`)
    const { status, ms } = await stage.manage(machine, 'POST', '/keys', { name: 'x' }, payer.managementKey)
    if (status !== 503) wrong.push(`a new key is answered with ${status} by machine ${machine + 1}`)
    if (ms > 3_000) wrong.push(`a refusal of management took ${Math.round(ms)} ms`)
  }
  return wrong
}

/** Disables a key that all machines are called with: none may be served that was sent after the answer. */
async function disableKey(stage: FleetStage, payer: Payer, spare: SpareKey): Promise<readonly string[]> {
  const watched = stage.load(spare, WATCH_PER_SECOND)
  await sleep(300)
  const body = { disabled: true }
  const { status, ms } = await stage.manage(0, 'PATCH', `/keys/${spare.keyHash}`, body, payer.managementKey)
  const answeredAt = performance.now()
  await sleep(1_000)
  await watched.stop()
  const after = watched.served.filter(({ sentAt }) => sentAt > answeredAt).length
  return [
    ...(status === 200 ? [] : [`disabling the key was answered with ${status}`]),
    ...(ms <= GRANTED_MS + MANAGE_SLACK_MS ? [] : [`disabling the key took ${Math.round(ms)} ms`]),
    ...(after === 0 ? [] : [`${after} calls were served that began after the key was disabled`]),
  ]
}

/** Another machine with the name of the first one, and a folder of its own. */
async function startNamesake({ fleet }: FleetStage): Promise<readonly string[]> {
  const namesake = await fleet.addMachine('namesake', { SLUICE_MACHINE: fleet.machines[0]!.name })
  namesake.spawn()
  // One that does not end by itself is ended.
  const patience = setTimeout(() => namesake.killNow(), NAMESAKE_MS)
  const { code } = await namesake.server.closed
  clearTimeout(patience)
  const said = namesake.log.trim()
  return [
    ...(code === 2 ? [] : [`it ended with ${code}`]),
    ...(said.includes(fleet.machines[0]!.name) ? [] : ['it does not say which name']),
    ...(said.split('\n').length <= 1 ? [] : [`it said more than a sentence: ${said.slice(0, 300)}`]),
  ]
}
