/** Reads a tape in a server that goes on serving, and says beforehand whether a file can be read at all. */
import { statSync } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { LONGEST_LINE, LONGEST_TAPE, TapeDefect, type TapedStream, TapeLines } from './tape.js'

/** Bytes of one read: what they hold is parsed in a turn of the loop, a few milliseconds at most. */
const SLICE = 64 * 1024
const NEWLINE = 10
const TOO_LONG = 'the tape has more than 64 MiB'

interface ReadTape {
  readonly streams: readonly TapedStream[]
  /** Of its text. */
  readonly bytes: number
}

/**
 * Slice by slice: each is read by another thread, so that the loop has its turns in between. Throws a `TapeDefect`
 * that says what is wrong and where.
 */
export async function readTapeFile(path: string): Promise<ReadTape> {
  let file: FileHandle | null = null
  try {
    const { size } = await regularFile(path)
    if (size > LONGEST_TAPE) throw new TapeDefect(TOO_LONG)
    file = await open(path)
    return await readSlices(file)
  } catch (cause) {
    if (cause instanceof TapeDefect) throw cause
    throw new TapeDefect((cause as Error).message, { cause })
  } finally {
    await file?.close()
  }
}

/** A pipe would have to be waited for, by as many threads as there are. */
async function regularFile(path: string): Promise<{ readonly size: number }> {
  const found = await stat(path)
  if (!found.isFile()) throw new TapeDefect('it is no file')
  return found
}

async function readSlices(file: FileHandle): Promise<ReadTape> {
  const lines = new TapeLines()
  const slice = Buffer.allocUnsafe(SLICE)
  /** Of the line that has not ended yet. */
  let begun: Buffer[] = []
  let begunBytes = 0
  let bytes = 0
  const endLine = (rest: Buffer): void => {
    const whole = begun.length === 0 ? rest : Buffer.concat([...begun, rest])
    begun = []
    begunBytes = 0
    lines.push(whole.toString())
  }
  for (;;) {
    const { bytesRead } = await file.read(slice, 0, SLICE)
    if (bytesRead === 0) break
    if ((bytes += bytesRead) > LONGEST_TAPE) throw new TapeDefect(TOO_LONG)
    const read = slice.subarray(0, bytesRead)
    let from = 0
    for (let at = read.indexOf(NEWLINE); at !== -1; at = read.indexOf(NEWLINE, from)) {
      endLine(read.subarray(from, at))
      from = at + 1
    }
    // Of a line that is too long no more is kept than shows it.
    if (begunBytes <= LONGEST_LINE * 4) begun.push(Buffer.from(read.subarray(from)))
    begunBytes += read.length - from
  }
  if (begunBytes > 0) endLine(Buffer.alloc(0))
  return { streams: lines.streams, bytes }
}

/** Whether a file or a folder is there, for whoever reads a configuration. */
export function isThere(path: string, kind: 'file' | 'folder'): boolean {
  try {
    const found = statSync(path)
    return kind === 'file' ? found.isFile() : found.isDirectory()
  } catch {
    return false
  }
}
