/** Who runs on which core. Server and generator on one core measure each other, so they are kept apart. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export interface Pinning {
  /** Null: not pinned. */
  readonly serverCores: readonly number[] | null
  readonly generatorCores: readonly number[] | null
  readonly warnings: readonly string[]
}

/** Chooses cores for a server with `workers` processes: the first for the server, the next for the generator. */
export function planPinning(workers: number): Pinning {
  const cores = allowedCores()
  if (!programRuns('taskset', '--version')) return withoutPinning('taskset is not installed')
  if (cores.length < 2) return withoutPinning('fewer than two cores may be used here')
  const forServer = Math.min(workers, cores.length - 1)
  const warnings =
    forServer < workers
      ? [`${workers} workers share ${forServer} core(s): the generator needs one of its own`]
      : []
  return { serverCores: cores.slice(0, forServer), generatorCores: [cores[forServer]!], warnings }
}

/** Cores in a line of a report. */
export const coresText = (cores: readonly number[] | null): string =>
  cores === null ? 'not pinned' : `core ${cores.join(', ')}`

function withoutPinning(reason: string): Pinning {
  return {
    serverCores: null,
    generatorCores: null,
    warnings: [
      `server and generator are NOT pinned (${reason}); they disturb each other, trust no figure here`,
    ],
  }
}

/** The core of a server that needs one only, and that of its generator. */
export interface CorePlan {
  readonly server: number
  readonly generator: number
}

/** Server on the first allowed core, generator on the second; null where they cannot be kept apart. */
export function planCores(): CorePlan | null {
  const { serverCores, generatorCores } = planPinning(1)
  if (serverCores === null || generatorCores === null) return null
  return { server: serverCores[0]!, generator: generatorCores[0]! }
}

/** Runs `work` with this process, as the generator, held on its core, and frees it again whatever happens. */
export async function onGeneratorCore<T>(plan: CorePlan | null, work: () => Promise<T>): Promise<T> {
  if (plan === null) return work()
  const before = allowedCores()
  pinThisProcess([plan.generator])
  try {
    return await work()
  } finally {
    pinThisProcess(before)
  }
}

/** Moves this process, with all its threads, to the given cores. */
function pinThisProcess(cores: readonly number[]): void {
  spawnSync('taskset', ['-a', '-c', '-p', cores.join(','), String(process.pid)], { stdio: 'ignore' })
}

/** A command with its arguments, bound to cores when `cores` is not null. The process id stays the command's own. */
export function pinnedCommand(cores: readonly number[] | null, command: readonly string[]): string[] {
  return cores === null ? [...command] : ['taskset', '-c', cores.join(','), ...command]
}

/** The cores this process may use, from /proc; empty where there is none. */
function allowedCores(): number[] {
  try {
    return coresOfList(
      /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? '',
    )
  } catch {
    return []
  }
}

/** `0-2,5` as numbers. */
export const coresOfList = (list: string): number[] => list.split(',').flatMap(coresOfRange)

function coresOfRange(range: string): number[] {
  const [first, last = first] = range.split('-').map(Number)
  if (first === undefined || last === undefined || Number.isNaN(first)) return []
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}

/** Whether a program starts and ends well with one argument. */
export function programRuns(program: string, argument: string): boolean {
  return spawnSync(program, [argument], { stdio: 'ignore' }).status === 0
}
