/** The limit of open files. Imports nothing of ours: it is asked before anything else is loaded. */
import { readFileSync } from 'node:fs'

const readLimits = (): string => readFileSync('/proc/self/limits', 'latin1')

/** How many files this process may open (Node has raised it as far as it may); Infinity where it cannot be known. */
export function openFilesLimit(read = readLimits): number {
  try {
    const found = /^Max open files +(\d+)/m.exec(read())
    return found === null ? Number.POSITIVE_INFINITY : Number(found[1])
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
