import { readdirSync, readFileSync } from 'node:fs'

/** Figures of processes, read from /proc (Linux only). A process that has gone reads as absent, not as a fault. */

interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly state: string
  /** User and system time, in clock ticks. */
  readonly ticks: number
  /** Resident pages. */
  readonly pages: number
}

// USER_HZ and the page size are fixed on the Linux platforms Node has binaries for.
const MS_PER_TICK = 10
const PAGE_BYTES = 4096

function readRow(pid: number): ProcessRow | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The command name may hold spaces and parentheses: fields are counted from the last one.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return {
      pid,
      state: fields[0]!,
      parent: Number(fields[1]),
      group: Number(fields[2]),
      ticks: Number(fields[11]) + Number(fields[12]),
      pages: Number(fields[21]),
    }
  } catch {
    return null
  }
}

function allRows(): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readRow(Number(name)))
    .filter((row) => row !== null)
}

/** The live child processes of `pid`, zombies left out. */
export function childrenOf(pid: number): number[] {
  return allRows()
    .filter((row) => row.parent === pid && row.state !== 'Z')
    .map((row) => row.pid)
}

/** The live members of a process group, zombies left out. */
export function membersOf(group: number): number[] {
  return allRows()
    .filter((row) => row.group === group && row.state !== 'Z')
    .map((row) => row.pid)
}

/** CPU time that the given processes have used so far, milliseconds, in steps of 10 each. */
export function cpuMs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (readRow(pid)?.ticks ?? 0) * MS_PER_TICK, 0)
}

/** Resident memory of the given processes together, bytes; pages they share count once for each. */
export function residentBytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (readRow(pid)?.pages ?? 0) * PAGE_BYTES, 0)
}
