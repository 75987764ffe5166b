/** What every command that drives load has in common: a progress line, and an interruption that keeps what there is. */

export interface Interruptible {
  /** Ends the run early; what was measured so far is reported. */
  interrupt(): void
}

export const INTERRUPTED = 130

/**
 * Runs `work` with a line per second on stderr (`line` says what) and with Ctrl-C ending it early but orderly. A second
 * Ctrl-C ends the program at once.
 */
export async function withProgress<T>(
  load: Interruptible,
  line: () => string,
  quiet: boolean,
  work: () => Promise<T>,
): Promise<T> {
  const { isTTY } = process.stderr
  const timer = quiet
    ? undefined
    : setInterval(() => process.stderr.write(isTTY ? `\r\x1b[K${line()}` : `${line()}\n`), 1000)
  let asked = false
  const onSignal = (): void => {
    if (asked) process.exit(INTERRUPTED)
    asked = true
    process.stderr.write('\ninterrupted: this is what was measured so far\n')
    load.interrupt()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (isTTY && !quiet) process.stderr.write('\r\x1b[K')
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}
