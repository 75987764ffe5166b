/** Standard error as the place of a log that nobody has to read: writing to it never waits. */
import { constants, fstatSync, openSync, writeSync } from 'node:fs'

/** Bytes of lines that wait for a reader; what comes beyond them is left out and counted. */
const MAX_WAITING_BYTES = 1024 * 1024
/** What a pipe takes in one piece, so that lines of several processes do not mix (PIPE_BUF of Linux). */
const PIECE_BYTES = 4096
/** How soon a refused piece is offered again. */
const RETRY_MS = 100
/** How long the end of a process waits for a reader who is only slow. */
const FLUSH_MS = 500
const FLUSH_POLL_MS = 5

/** Takes bytes as `fs.writeSync` does: returns how many it took, throws as the system refuses. */
type TakeBytes = (bytes: Uint8Array) => number
type RunLater = (ms: number, task: () => void) => void

interface LogOutputOptions {
  readonly take?: TakeBytes
  /** Lines are gathered up to this size before they are written, for a quarter of a second at most; 0: not at all. */
  readonly gatherBytes?: number
  readonly runLater?: RunLater
}

const GATHER_MS = 250

/**
 * Writes lines at once as long as the system takes them, so that the last one before a crash is not lost. When it does
 * not (a full pipe, a full disk, a reader who has gone), lines wait up to a bound, and what comes beyond it is counted:
 * whoever reads the log must not be able to stop the process by not reading.
 */
export class LogOutput {
  readonly #take: TakeBytes
  readonly #gatherBytes: number
  readonly #runLater: RunLater
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #dropped = 0
  #isTimerSet = false
  #isFlushedAtExit = false
  /** The last piece was refused. */
  #isRefused = false
  /** Called with their number when lines were left out and it can write again. */
  onRecovered: ((dropped: number) => void) | null = null

  constructor(options: LogOutputOptions = {}) {
    this.#take = options.take ?? standardError()
    this.#gatherBytes = options.gatherBytes ?? 0
    this.#runLater = options.runLater ?? ((ms, task) => void setTimeout(task, ms).unref())
  }

  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#dropped++
      return
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#isRefused) return
    if (this.#waitingBytes < this.#gatherBytes) this.#setTimer(GATHER_MS)
    else this.#send()
  }

  /** For the end of a process, and for the line that says why it ends: waits a moment for a slow reader. */
  flushSync(): void {
    const until = performance.now() + FLUSH_MS
    while (this.#send() === 'EAGAIN' && performance.now() < until) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FLUSH_POLL_MS)
    }
  }

  /** Writes what waits; the code of the refusal, or null when nothing waits any more. */
  #send(): string | null {
    while (this.#waiting.length > 0) {
      const [count, piece] = this.#nextPiece()
      try {
        const taken = this.#take(piece)
        this.#waitingBytes -= taken
        const rest = taken < piece.length ? [piece.subarray(taken)] : []
        this.#waiting.splice(0, count, ...rest)
      } catch (error) {
        this.#isRefused = true
        this.#setTimer(RETRY_MS)
        return (error as NodeJS.ErrnoException).code ?? 'unknown'
      }
    }
    this.#isRefused = false
    this.#tellDropped()
    return null
  }

  /** Whole lines, as many as stay one piece for a pipe; at least one. */
  #nextPiece(): readonly [lines: number, piece: Uint8Array] {
    let count = 1
    let bytes = this.#waiting[0]!.length
    while (count < this.#waiting.length && bytes + this.#waiting[count]!.length <= PIECE_BYTES) {
      bytes += this.#waiting[count++]!.length
    }
    return [count, count === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting.slice(0, count))]
  }

  #tellDropped(): void {
    const dropped = this.#dropped
    if (dropped === 0) return
    this.#dropped = 0
    this.onRecovered?.(dropped)
  }

  #setTimer(ms: number): void {
    if (this.#isTimerSet) return
    this.#isTimerSet = true
    if (!this.#isFlushedAtExit) {
      this.#isFlushedAtExit = true
      // Before other listeners: one of them may kill the process.
      process.prependListener('exit', () => this.flushSync())
    }
    this.#runLater(ms, () => {
      this.#isTimerSet = false
      this.#send()
    })
  }
}

/**
 * Standard error that refuses instead of waiting. A pipe or a terminal is opened once more, so that the programs we
 * share it with do not find it changed. Where that cannot be (a socket, or one of another user), Node's own stream is
 * made, which switches the shared one. A file takes what it is given.
 */
function standardError(): TakeBytes {
  if (fstatSync(2).isFile()) return (bytes) => writeSync(2, bytes)
  const fd = reopenStandardError()
  // Whoever reads it may leave, and Node's own warnings go there too.
  if (fd === 2) process.stderr.on('error', () => {})
  return (bytes) => writeSync(fd, bytes)
}

function reopenStandardError(): number {
  try {
    return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return 2
  }
}
