/** Memory of processes that share pages, each page counted once (Linux). Not in `proc.ts`, which the frozen floors load. */
import { readFileSync } from 'node:fs'

/** Resident bytes of all of them, where a page that several processes have counts in parts (`Pss`); 0 where the system does not tell. */
export function proportionalBytes(pids: readonly number[]): number {
  const shareOf = (pid: number): number => {
    try {
      const told = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))
      return Number(told?.[1] ?? 0) * 1024
    } catch {
      return 0
    }
  }
  return pids.reduce((sum, pid) => sum + shareOf(pid), 0)
}
