/** All looks of `sluice doctor`, each with a deadline: it ends, whatever does not answer. */
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock, unixMs } from '../base/clock.js'
import { type Config, InvalidConfigError, SETTINGS } from '../config/config.js'
import {
  examineFileSystem,
  examineFormatMark,
  examineRoom,
  examineStore,
  examineSync,
  nearestFolder,
} from './data-folder.js'
import { type Finding, fail, look, ok } from './finding.js'
import { examineClocks, examineMachine, readMachine } from './machine.js'
import { examineDatabase, examineSandbox } from './neighbours.js'
import { examinePorts } from './ports.js'
import { examineProviders } from './providers.js'
import { examineNativeServer, examineNativeStore, examineThisNode } from './runtime.js'

type RuntimeSettings = Pick<Config, 'workers' | 'poolThreads' | 'maxConnections' | 'native' | 'bodyMemory'>

const SHORT_MS = 5_000
const STORE_MS = 30_000
const NETWORK_MS = 15_000
const SANDBOX_MS = 25_000
/** Settings under which the machine is looked at where those of the operator cannot be read. */
const DEFAULTS: RuntimeSettings = {
  ...{ workers: 'auto', poolThreads: 'auto', maxConnections: 'auto', native: 'auto' },
  bodyMemory: SETTINGS.bodyMemory.default,
}

interface Examination {
  readonly findings: readonly Finding[]
  /** Whether what is set could be read without a fault. */
  readonly isConfigured: boolean
}

/**
 * Looks at the machine, and at all that the settings name. Never rejects for what is found. Changes nothing: a file that
 * is written to time the disk is removed.
 * @param settings rejects with `InvalidConfigError`, every fault in it
 */
export async function examine(settings: () => Promise<Config>): Promise<Examination> {
  const read = await readSettings(settings)
  const config = 'faults' in read ? null : read
  const runtime = await examineRuntime(config ?? DEFAULTS, config?.dataDir ?? null)
  if (config === null) {
    const faults = 'faults' in read ? read.faults : []
    const unseen = ok(
      'not looked at',
      'data folder, ports, database, providers and sandbox: the settings name them',
    )
    return { findings: [...runtime, ...faults, unseen], isConfigured: false }
  }
  // Timed by itself: what the others do would be in its figures.
  const disk = await look(
    { check: 'disk sync', deadlineMs: SHORT_MS, remedy: 'look at the disk: a write does not come back' },
    () => examineSync(config),
  )
  const rest = await Promise.all([examineFolder(config), examineNeighbours(config)])
  const good = ok('configuration', 'all settings are good')
  return { findings: [...runtime, good, ...disk, ...rest.flat()], isConfigured: true }
}

async function readSettings(
  settings: () => Promise<Config>,
): Promise<Config | { readonly faults: readonly Finding[] }> {
  try {
    return await settings()
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error
    const faults = error.faults.map(({ source, problem }) => fail('configuration', source, problem))
    return { faults }
  }
}

/** @param dataDir null where the settings that name it cannot be read */
async function examineRuntime(config: RuntimeSettings, dataDir: string | null): Promise<readonly Finding[]> {
  const reinstall = 'install anew: npm ci in a clone, npm install beside the package'
  const found = [
    await look({ check: 'node', deadlineMs: SHORT_MS, remedy: 'run Node 22 or 24' }, examineThisNode),
    await look({ check: 'native server', deadlineMs: SHORT_MS, remedy: reinstall }, () =>
      examineNativeServer(config),
    ),
    await look({ check: 'native store', deadlineMs: SHORT_MS, remedy: reinstall }, () =>
      examineNativeStore(dataDir === null ? [tmpdir()] : [tmpdir(), nearestFolder(dataDir)]),
    ),
    await look({ check: 'machine', deadlineMs: SHORT_MS, remedy: 'serve on Linux' }, () =>
      examineMachine(readMachine(), config),
    ),
    await look({ check: 'clock', deadlineMs: SHORT_MS, remedy: 'look at the clock of the machine' }, () =>
      examineClocks({
        wallMs: () => unixMs(systemClock),
        monotonicMs: systemClock.monotonicMs,
        sleep: (ms) => sleep(ms),
      }),
    ),
  ]
  return found.flat()
}

async function examineFolder(config: Config): Promise<readonly Finding[]> {
  const remedy = 'name a folder that the user of the server may use (SLUICE_DATA_DIR)'
  const found = [
    await look({ check: 'data folder', deadlineMs: SHORT_MS, remedy }, () => examineFileSystem(config)),
    await look({ check: 'disk room', deadlineMs: SHORT_MS, remedy }, () => examineRoom(config)),
    await look({ check: 'data folder', deadlineMs: SHORT_MS, remedy }, () => examineFormatMark(config)),
    await look({ check: 'databases', deadlineMs: STORE_MS, remedy }, () => examineStore(config)),
  ]
  return found.flat()
}

async function examineNeighbours(config: Config): Promise<readonly Finding[]> {
  const ending = new AbortController()
  const sandbox = {
    check: 'sandbox',
    deadlineMs: SANDBOX_MS,
    remedy: 'use a remote sandbox (tools.bash.url)',
  }
  const found = await Promise.all([
    look({ check: 'port', deadlineMs: SHORT_MS, remedy: 'choose another port or host' }, (signal) =>
      examinePorts(config, signal),
    ),
    look({ check: 'database', deadlineMs: NETWORK_MS, remedy: 'see to the way to PostgreSQL' }, () =>
      examineDatabase(config),
    ),
    look({ check: 'providers', deadlineMs: NETWORK_MS, remedy: 'see to the way there' }, () =>
      examineProviders(config.gateway),
    ),
    look(sandbox, () => examineSandbox(config, ending.signal)),
  ])
  ending.abort()
  return found.flat()
}
