/**
 * Names a process so that no later one is taken for it: its number comes again, after a restart of the machine or of
 * a container at once, so the moment of its start goes with it.
 */
import { readFileSync } from 'node:fs'

const own = `${process.pid}.${processStartTicks(process.pid) ?? '0'}`

/** The mark of this process: digits and a dot. */
export function ownProcessIdentity(): string {
  return own
}

/** Whether the marked process is still at work; one that has ended and was not buried yet is not. */
export function isProcessAlive(mark: string): boolean {
  const [pid = '', start = ''] = mark.split('.')
  if (mark === own) return true
  const running = processStartTicks(Number(pid))
  if (running !== null) return running === start
  return start === '0' && respondsToSignal(Number(pid))
}

/** Ticks from the start of the machine to that of a process (proc(5), field 22); null where it is not known or over. */
function processStartTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is a name and may hold anything, brackets too.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null)
  } catch {
    return null
  }
}

/** For systems that tell no start: whether any process has the number. */
function respondsToSignal(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
