/** Figures of processes and of the machine, read from /proc (Linux only). A process that has gone reads as absent. */
import { readdirSync, readFileSync } from 'node:fs'

export interface ProcessCost {
  readonly cpuMs: number
  readonly rssBytes: number
}

/** Length of one tick in /proc/PID/stat: USER_HZ is part of the kernel's interface and 100 on all our platforms. */
const MS_PER_TICK = 10
/** Fixed on the Linux platforms Node has binaries for. */
const PAGE_BYTES = 4096

type ProcessStat = NonNullable<ReturnType<typeof readProcessStat>>

/** One line of /proc/PID/stat (proc(5)); null when the process has gone. */
function readProcessStat(pid: number | 'self') {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The command may itself hold spaces and brackets; what follows it begins with field 3.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const number = (field: number): number => Number(fields[field - 3])
    return {
      pid: pid === 'self' ? process.pid : pid,
      state: fields[0]!,
      parent: number(4),
      group: number(5),
      /** User and system time, in clock ticks. */
      ticks: number(14) + number(15),
      /** The same of the children that have ended and were waited for. */
      reapedTicks: number(16) + number(17),
      /** Resident pages. */
      pages: number(24),
    }
  } catch {
    return null
  }
}

function readAllProcessStats(): ProcessStat[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => readProcessStat(Number(name)))
      .filter((row) => row !== null)
  } catch {
    return []
  }
}

/** Whether a process lives: it is there and no zombie. */
export function isAlive(pid: number): boolean {
  const row = readProcessStat(pid)
  return row !== null && row.state !== 'Z'
}

/** The live child processes of `pid`, zombies left out, in rising order. */
export const childrenOf = (pid: number): number[] => livePidsWhere((row) => row.parent === pid)

/** The live members of a process group, zombies left out. */
export const membersOf = (group: number): number[] => livePidsWhere((row) => row.group === group)

function livePidsWhere(wanted: (row: ProcessStat) => boolean): number[] {
  const rows = readAllProcessStats().filter((row) => row.state !== 'Z' && wanted(row))
  return rows.map((row) => row.pid).sort((a, b) => a - b)
}

/** A process and all its descendants, parents first. Only the process itself where there is no /proc. */
export function processTree(root: number): number[] {
  const rows = readAllProcessStats()
  const tree = [root]
  for (let at = 0; at < tree.length; at++) {
    for (const { pid, parent } of rows) if (parent === tree[at]) tree.push(pid)
  }
  return tree
}

/** CPU time that the given processes have used so far, milliseconds, in steps of 10 each. */
export const cpuMs = (pids: readonly number[]): number => sumOver(pids, ({ ticks }) => ticks * MS_PER_TICK)

/** Resident memory of the given processes together, bytes; pages they share count once for each. */
export const residentBytes = (pids: readonly number[]): number =>
  sumOver(pids, ({ pages }) => pages * PAGE_BYTES)

/** Reads it every `everyMs`, of whoever `pids` names then; the returned function ends that and gives the readings. */
export function sampleResident(pids: () => readonly number[], everyMs: number): () => number[] {
  const samples: number[] = []
  const timer = setInterval(() => samples.push(residentBytes(pids())), everyMs)
  return () => {
    clearInterval(timer)
    return samples
  }
}

function sumOver(pids: readonly number[], of: (row: ProcessStat) => number): number {
  return pids.map(readProcessStat).reduce((sum, row) => sum + (row === null ? 0 : of(row)), 0)
}

/**
 * CPU time so far (user and system, with that of children already waited for, to 10 ms) and resident memory of
 * the processes together. Null when none of them can be read.
 */
export function readCost(pids: readonly number[]): ProcessCost | null {
  const rows = pids.map(readProcessStat).filter((row) => row !== null)
  if (rows.length === 0) return null
  return {
    cpuMs: rows.reduce((sum, { ticks, reapedTicks }) => sum + ticks + reapedTicks, 0) * MS_PER_TICK,
    rssBytes: rows.reduce((sum, { pages }) => sum + pages, 0) * PAGE_BYTES,
  }
}

/**
 * Milliseconds of all children of this process that have ended so far, with their own children, to 10 ms, as the kernel
 * adds them up for whoever waits for them (wait4). Null outside Linux. The difference around one child is what that
 * child used, however it was split among processes.
 */
export function reapedCpuMs(): number | null {
  const row = readProcessStat('self')
  return row === null ? null : row.reapedTicks * MS_PER_TICK
}

/** CPU time of this process so far, milliseconds. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** What was used between two readings; null when one of them could not be taken. */
export function costBetween(
  before: number | null | undefined,
  after: number | null | undefined,
): number | null {
  return typeof before === 'number' && typeof after === 'number' ? after - before : null
}
