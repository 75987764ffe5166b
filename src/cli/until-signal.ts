/** Commands that run until they are told to end. */
import { CommandFailure, type CommandOutput } from './command.js'

/** As shells tell an end by SIGINT. */
const EXIT_INTERRUPTED = 130

/** Runs until it is done or the process is told to end; what comes of it then is not printed. */
export async function untilSignal(
  run: (signal: AbortSignal) => Promise<CommandOutput>,
): Promise<CommandOutput> {
  const leaving = new AbortController()
  const leave = (): void => leaving.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, leave)
  try {
    const output = await run(leaving.signal)
    return leaving.signal.aborted ? { text: '', code: EXIT_INTERRUPTED } : output
  } catch (error) {
    if (!leaving.signal.aborted || !(error instanceof CommandFailure)) throw error
    return { text: '', code: EXIT_INTERRUPTED }
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, leave)
  }
}
