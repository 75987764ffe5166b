/** What commands print. */
import { writeSync } from 'node:fs'

/**
 * Written at once and whole, so that an exit right after loses nothing: a pipe takes a long text in pieces. A reader who
 * has gone wants no more; that is no failure of ours.
 */
export function writeFully(fd: 1 | 2, text: string): void {
  let rest = Buffer.from(text)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EPIPE') return
      // The reader of the pipe is slower than we are.
      if (code !== 'EAGAIN') throw error
    }
  }
}
