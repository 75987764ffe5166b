/** The kernel, processors, memory, open files and clocks of this machine. */
import { readFileSync } from 'node:fs'
import { availableParallelism, release, totalmem } from 'node:os'
import { type Config, InvalidConfigError } from '../config/config.js'
import { cpuQuota, usableCores } from '../process/cgroup.js'
import { connectionBudget } from '../process/descriptors.js'
import { openFilesLimit } from '../process/open-files.js'
import { poolThreadsFor, workersFor } from '../process/topology.js'
import { type Finding, fail, ok, warn } from './finding.js'

const MIB = 2 ** 20
/** Of a worker that serves; measured: 94 MB at the start, 170 to 270 after millions of calls. */
const WORKER_MIB = 256
/** The setting takes no less. */
const LEAST_BODY_MIB = 16
/** Connections of a worker below which a crowd is turned away. */
const FEW_CONNECTIONS = 1_000
const LEAST_BACKLOG = 1_024
/** The oldest kernel that the supported versions of Node run on. */
const OLDEST_KERNEL = [4, 18] as const
const QUICK_CLOCKS = /^(?:tsc|kvm-clock|arch_sys_counter|hyperv_clocksource_tsc_page)$/
const CLOCK_WINDOW_MS = 250
/** NTP slews by half a millisecond a second; what moves more in the window was set. */
const CLOCK_STEP_MS = 50
/** What to do about a wall clock. */
export const CLOCK_REMEDY = 'let chrony or systemd-timesyncd keep it: ends of keys and tokens go by it'
/** Earlier than that this was not written. */
const OLDEST_NOW = Date.UTC(2026, 10, 1)

type MachineSettings = Pick<Config, 'workers' | 'poolThreads' | 'maxConnections' | 'bodyMemory'>

/** What the machine says of itself; every member may be replaced in a test. */
export interface MachineFigures {
  readonly platform: string
  readonly kernel: string
  readonly cores: number
  readonly cpuQuota: number | null
  readonly memoryBytes: number
  /** Null without a limit of the control group. */
  readonly memoryLimitBytes: number | null
  readonly openFiles: number
  /** `net.core.somaxconn`; null where it is not told. */
  readonly backlog: number | null
  /** Null where it is not told. */
  readonly clockSource: string | null
}

export function readMachine(): MachineFigures {
  const total = totalmem()
  const constrained = process.constrainedMemory()
  const backlog = textOf('/proc/sys/net/core/somaxconn')
  return {
    ...{ platform: process.platform, kernel: release(), cores: availableParallelism() },
    cpuQuota: cpuQuota(),
    memoryBytes: total,
    memoryLimitBytes: constrained > 0 && constrained < total ? constrained : null,
    openFiles: openFilesLimit(),
    backlog: backlog === null ? null : Number(backlog),
    clockSource: textOf('/sys/devices/system/clocksource/clocksource0/current_clocksource'),
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'latin1').trim()
  } catch {
    return null
  }
}

export function examineMachine(machine: MachineFigures, settings: MachineSettings): readonly Finding[] {
  const cores = usableCores(machine.cores, machine.cpuQuota)
  const workers = settings.workers === 'auto' ? workersFor(cores) : settings.workers
  const poolThreads = settings.poolThreads === 'auto' ? poolThreadsFor(cores, workers) : settings.poolThreads
  return [
    examineKernel(machine),
    examineBacklog(machine),
    examineCores(machine, cores, workers),
    examineMemory(machine, workers, settings),
    examineOpenFiles(machine, settings, workers, poolThreads),
    examineClockSource(machine),
  ]
}

function examineKernel({ platform, kernel }: MachineFigures): Finding {
  if (platform !== 'linux') return warn('kernel', `${platform} ${kernel}`, 'serve on Linux, which is tested')
  const [major = 0, minor = 0] = kernel.split('.').map(Number)
  const isOld = major < OLDEST_KERNEL[0] || (major === OLDEST_KERNEL[0] && minor < OLDEST_KERNEL[1])
  if (!isOld) return ok('kernel', `Linux ${kernel}`)
  return fail('kernel', `Linux ${kernel}`, `run ${OLDEST_KERNEL.join('.')} or newer, as Node itself wants`)
}

function examineBacklog({ backlog }: MachineFigures): Finding {
  if (backlog === null) return ok('backlog', 'not told here')
  const found = `${backlog} connections may wait to be accepted`
  if (backlog >= LEAST_BACKLOG) return ok('backlog', found)
  return warn('backlog', found, `sysctl net.core.somaxconn=${LEAST_BACKLOG * 4}, or crowds are refused`)
}

function examineCores({ cores, cpuQuota: quota }: MachineFigures, usable: number, workers: number): Finding {
  const limit = quota === null ? '' : `, of which the control group gives ${Math.round(quota * 100) / 100}`
  const found = `${cores} cores${limit}; ${workers} workers`
  if (quota !== null && quota < 1) {
    return warn('cpu', found, 'give it a whole core: below one, every call waits for the next period')
  }
  if (workers <= usable) return ok('cpu', found)
  return warn(
    'cpu',
    found,
    `set SLUICE_WORKERS to ${usable} at most: workers beyond the cores wait for each other`,
  )
}

function examineMemory(
  { memoryBytes, memoryLimitBytes }: MachineFigures,
  workers: number,
  { bodyMemory }: MachineSettings,
): Finding {
  const has = (memoryLimitBytes ?? memoryBytes) / MIB
  const where = memoryLimitBytes === null ? 'of the machine' : 'by the limit of the control group'
  const found = `${Math.round(has)} MiB ${where}, for ${workers} workers`
  // One more: the supervisor.
  const processes = WORKER_MIB * (workers + 1)
  if (has < processes) return warn('memory', found, `give it ${processes} MiB, or set SLUICE_WORKERS lower`)
  const bodies = Math.ceil((bodyMemory * workers) / MIB)
  if (has >= processes + bodies) return ok('memory', `${found} and ${bodies} MiB of request bodies`)
  const each = Math.floor((has - processes) / workers)
  const lower =
    each < LEAST_BODY_MIB
      ? 'SLUICE_WORKERS lower'
      : `SLUICE_BODY_MEMORY to ${each * MIB} (${each} MiB) at most`
  const most = `${found}, whose request bodies may take ${bodies} MiB`
  return warn('memory', most, `set ${lower}, or give it ${processes + bodies} MiB`)
}

function examineOpenFiles(
  { openFiles }: MachineFigures,
  { maxConnections }: MachineSettings,
  workers: number,
  poolThreads: number,
): Finding {
  const limit = Number.isFinite(openFiles) ? `${openFiles} at once` : 'no limit told'
  try {
    const each = connectionBudget(maxConnections, openFiles, workers, poolThreads)
    const found = `${limit}: ${each} connections for each worker`
    if (each >= FEW_CONNECTIONS || maxConnections !== 'auto') return ok('open files', found)
    return warn('open files', found, 'raise the limit: ulimit -n, LimitNOFILE= of systemd, --ulimit nofile=')
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error
    return fail('open files', limit, error.faults[0]!.problem)
  }
}

function examineClockSource({ clockSource }: MachineFigures): Finding {
  if (clockSource === null) return ok('clock source', 'not told here')
  if (QUICK_CLOCKS.test(clockSource)) return ok('clock source', clockSource)
  return warn(
    'clock source',
    `${clockSource}, which asks the kernel each time`,
    'choose tsc where it is stable',
  )
}

interface ClockReadings {
  readonly wallMs: () => number
  readonly monotonicMs: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** Whether the wall clock is plausible and goes as the monotonic one does, for a quarter of a second. */
export async function examineClocks({ wallMs, monotonicMs, sleep }: ClockReadings): Promise<Finding> {
  const wall = wallMs()
  const monotonic = monotonicMs()
  await sleep(CLOCK_WINDOW_MS)
  const drift = Math.round(wallMs() - wall - (monotonicMs() - monotonic))
  if (wall < OLDEST_NOW) return fail('clock', `it says ${new Date(wall).toISOString()}`, CLOCK_REMEDY)
  if (Math.abs(drift) < CLOCK_STEP_MS) return ok('clock', 'wall and monotonic clock go alike')
  return warn('clock', `the wall clock moved by ${drift} ms within ${CLOCK_WINDOW_MS} ms`, CLOCK_REMEDY)
}
