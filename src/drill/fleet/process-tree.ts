/** The processes of a machine of the drill: a server with all it has started. Linux, by /proc. */
import { readFileSync } from 'node:fs'

/** A process and everything below it, the process itself first. */
export function processTree(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(processTree)]
}

/** Empty for a process that has gone. */
function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Sends a signal to a process and to everything below it; parents first, so that nobody starts another. */
export function signalTree(pid: number, signal: NodeJS.Signals): void {
  if (signal === 'SIGKILL') {
    // Nobody can tell whose children they were once their parent is dead: all stand still before the first one dies.
    signalTree(pid, 'SIGSTOP')
    for (const each of processTree(pid)) signalIfAlive(each, signal)
    return
  }
  signalIfAlive(pid, signal)
  for (const child of childrenOf(pid)) signalTree(child, signal)
}

/** False when it has gone; 0 as a signal only asks. */
export function signalIfAlive(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
