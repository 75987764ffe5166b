import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Which core the server and which the generator runs on; null when the machine offers no such choice. */
export interface CorePlan {
  readonly server: number
  readonly generator: number
}

/** Expands a kernel list such as `0-2,5`. */
function expandCoreList(text: string): number[] {
  return text
    .trim()
    .split(',')
    .flatMap((part) => {
      const [first = Number.NaN, last = first] = part.split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, i) => first + i)
    })
}

function allowedCores(): number[] {
  try {
    const line = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))
    return line ? expandCoreList(line[1]!) : []
  } catch {
    return []
  }
}

/** Server on the first allowed core, generator on the second; null without two cores or without `taskset`. */
export function planCores(): CorePlan | null {
  const [server, generator] = allowedCores()
  if (server === undefined || generator === undefined) return null
  return spawnSync('taskset', ['-V']).status === 0 ? { server, generator } : null
}

/** Moves this process, with all its threads, to the given cores. */
function moveSelf(cores: readonly number[]): void {
  spawnSync('taskset', ['-a', '-c', '-p', cores.join(','), String(process.pid)], { stdio: 'ignore' })
}

/** Runs `work` with the generator held on its core, and frees it again whatever happens. */
export async function onGeneratorCore<T>(plan: CorePlan | null, work: () => Promise<T>): Promise<T> {
  if (!plan) return work()
  const before = allowedCores()
  moveSelf([plan.generator])
  try {
    return await work()
  } finally {
    moveSelf(before)
  }
}

/** The command line that starts `command` on one core, or the command itself when `core` is null. */
export function onCore(core: number | null, command: readonly string[]): readonly string[] {
  return core === null ? command : ['taskset', '-c', String(core), ...command]
}
