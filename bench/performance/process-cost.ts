/** CPU time and memory of processes, read from /proc; there is none outside Linux. */
import { readdirSync, readFileSync } from 'node:fs'

export interface ProcessCost {
  readonly cpuMs: number
  readonly rssBytes: number
}

/** Length of one tick in /proc/PID/stat: USER_HZ is part of the kernel's interface and 100 on all our platforms. */
const MS_PER_TICK = 10

/** The fields of /proc/PID/stat after the command, which may itself hold spaces and brackets. Null when gone. */
function statFields(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}

function residentBytes(pid: number): number {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    return Number(kilobytes ?? 0) * 1024
  } catch {
    return 0
  }
}

/**
 * CPU time so far (user and system, with that of children already waited for, to 10 ms) and resident memory of
 * the processes together. Null when none of them can be read.
 */
export function readCost(pids: readonly number[]): ProcessCost | null {
  let ticks = 0
  let rssBytes = 0
  let alive = 0
  for (const pid of pids) {
    const fields = statFields(pid)
    if (fields === null) continue
    alive++
    // utime, stime, cutime, cstime are fields 14 to 17; the slice above begins with field 3.
    for (const index of [11, 12, 13, 14]) ticks += Number(fields[index])
    rssBytes += residentBytes(pid)
  }
  return alive === 0 ? null : { cpuMs: ticks * MS_PER_TICK, rssBytes }
}

/**
 * CPU time all programs of the machine used so far, stolen time included; null where there is no /proc. Time in
 * interrupts is left out: kernels differ in whether a process is charged for it.
 */
export function readMachineCpuMs(): number | null {
  try {
    const [user, nice, system, , , , , steal] = readFileSync('/proc/stat', 'latin1')
      .split('\n')[0]!
      .split(/\s+/)
      .slice(1)
      .map(Number)
    return (user! + nice! + system! + (steal ?? 0)) * MS_PER_TICK
  } catch {
    return null
  }
}

/** What was used between two readings; null when one of them could not be taken. */
export function costBetween(
  before: number | null | undefined,
  after: number | null | undefined,
): number | null {
  return typeof before === 'number' && typeof after === 'number' ? after - before : null
}

/** A process and all its descendants, parents first. Only the process itself where there is no /proc. */
export function processTree(root: number): number[] {
  const childrenOf = new Map<number, number[]>()
  for (const pid of allPids()) {
    const parent = Number(statFields(pid)?.[1] ?? 0)
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), pid])
  }
  const tree = [root]
  for (let at = 0; at < tree.length; at++) tree.push(...(childrenOf.get(tree[at]!) ?? []))
  return tree
}

function allPids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}
