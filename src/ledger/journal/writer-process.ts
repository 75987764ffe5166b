/** Whether the process that writes a journal is still there. */
import { readFileSync } from 'node:fs'
import { writerPid } from './segment-format.js'

/** A process id is given again one day, to something that is no worker of ours. */
const NODE_COMMAND = /node/

export function isWriterAlive(journal: string): boolean {
  const pid = writerPid(journal)
  try {
    process.kill(pid, 0)
  } catch (error) {
    // One that belongs to somebody else is there, though.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && NODE_COMMAND.test(commandLineOf(pid))
  }
  return NODE_COMMAND.test(commandLineOf(pid))
}

/** Where there is no /proc nobody can tell, and the process is taken for the writer. */
function commandLineOf(pid: number): string {
  try {
    // A process that has ended and was not waited for yet has no command line.
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch (error) {
    return process.platform === 'linux' && (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : 'node'
  }
}
