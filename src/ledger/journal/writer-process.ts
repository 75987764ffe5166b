/** Whether the process that writes a journal is still there. */
import { readFileSync } from 'node:fs'
import { writerOf } from './segment-format.js'

/** A process id is given again one day, to something that is no worker of ours. */
const OURS = /node/

export function isWritten(journal: string): boolean {
  const pid = writerOf(journal)
  try {
    process.kill(pid, 0)
  } catch (error) {
    // One that belongs to somebody else is there, though.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && OURS.test(commandOf(pid))
  }
  return OURS.test(commandOf(pid))
}

/** Where there is no /proc nobody can tell, and the process is taken for the writer. */
function commandOf(pid: number): string {
  try {
    // A process that has ended and was not waited for yet has no command line.
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch (error) {
    return process.platform === 'linux' && (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : 'node'
  }
}
