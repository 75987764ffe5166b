/**
 * How a journal lies on the disk. It is a row of files, its segments, named after it and numbered. A segment is a
 * row of batches, each behind its length and its checksum; what follows the last one is zeros, written in advance so
 * that a batch always finds room. A batch whose checksum is wrong is not there (yet).
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'

/** Length and checksum, 32 bits each. */
export const HEAD_BYTES = 8
/** Stands for the length where the next segment goes on. */
export const CONTINUED = 0xffff_ffff
const SUFFIX = '.journal'

/** Where the ledger and its journals lie in the folder of the store. */
export function ledgerPaths(dataDir: string): { readonly database: string; readonly journals: string } {
  const database = join(dataDir, 'ledger')
  return { database, journals: join(database, 'journals') }
}

/** Names of journals hold the process that writes them: `<unix ms>-<pid>-<number of the worker>`. */
export function journalName(unixMs: number, pid: number, worker: number): string {
  return `${unixMs}-${pid}-${worker}`
}

/** Process id of a journal's writer. */
export function writerPid(journal: string): number {
  return Number(journal.split('-')[1])
}

/** A process id is given again one day, to something that is no worker of ours. */
const NODE_COMMAND = /node/

/** Whether the process that writes a journal is still there. */
export function isWriterAlive(journal: string): boolean {
  const pid = writerPid(journal)
  try {
    process.kill(pid, 0)
  } catch (error) {
    // A process of another user is there, though.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && NODE_COMMAND.test(commandLineOf(pid))
  }
  return NODE_COMMAND.test(commandLineOf(pid))
}

/** Where there is no /proc, any process of that id is taken for the writer. */
function commandLineOf(pid: number): string {
  try {
    // A process that has ended and was not waited for yet has no command line.
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch (error) {
    return process.platform === 'linux' && (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : 'node'
  }
}

export function segmentPath(folder: string, journal: string, segment: number): string {
  return join(folder, `${journal}.${segment}${SUFFIX}`)
}

/** Journals of which there are files, with the numbers of their segments, ascending. */
export function listJournals(folder: string): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const name of readdirSync(folder)) {
    const match = /^(\d+-\d+-\d+)\.(\d+)\.journal$/.exec(name)
    if (match === null) continue
    const [, journal, segment] = match as unknown as [string, string, string]
    found.set(
      journal,
      [...(found.get(journal) ?? []), Number(segment)].sort((a, b) => a - b),
    )
  }
  return found
}

/** How long the file of a segment is, with the room at its end; 0 where there is none. */
export function segmentBytes(folder: string, journal: string, segment: number): number {
  return statSync(segmentPath(folder, journal, segment), { throwIfNoEntry: false })?.size ?? 0
}

/** Removes the files of segments from `from` on and before `to`; those that are not there are no error. */
export function removeSegments(folder: string, journal: string, from: number, to: number): void {
  for (let segment = from; segment < to; segment++) {
    rmSync(segmentPath(folder, journal, segment), { force: true })
  }
}

/** A character has at most so many bytes. */
const MAX_BYTES_PER_CHARACTER = 3
/** Batches are made here, one at a time, unless one is longer. */
const SCRATCH = Buffer.allocUnsafeSlow(256 * 1024)

/** Bytes of a batch, head included. They are good until the next call. */
export function batchBytes(text: string): Buffer {
  const most = HEAD_BYTES + MAX_BYTES_PER_CHARACTER * text.length
  const bytes = most <= SCRATCH.length ? SCRATCH : Buffer.allocUnsafe(most)
  const length = bytes.write(text, HEAD_BYTES)
  bytes.writeUInt32LE(length, 0)
  bytes.writeUInt32LE(crc32(bytes.subarray(HEAD_BYTES, HEAD_BYTES + length)), 4)
  return bytes.subarray(0, HEAD_BYTES + length)
}

/** The mark that the journal goes on in its next segment. */
export function continuationMark(): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES)
  bytes.writeUInt32LE(CONTINUED, 0)
  return bytes
}
