import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onCore } from './cores.js'
import type { Staging } from './staging.js'

/** A program of the bench that stands beside the server under trial. It ends with the run. */
export interface HelperProcess {
  readonly pid: number
  end(): void
}

/**
 * Starts a program of the bench (`file`: relative to this folder) with a message channel, hands it `message` when there
 * is one, and waits for its first message. Faults: Error when it ends without one.
 */
export async function startHelper(
  staging: Staging,
  core: number | null,
  command: { readonly file: string; readonly args?: readonly string[]; readonly message?: object },
): Promise<HelperProcess> {
  const program = fileURLToPath(new URL(command.file, import.meta.url))
  const [first, ...rest] = onCore(core, [process.execPath, program, ...(command.args ?? [])])
  const child = spawn(first!, rest, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const forget = staging.alsoEnd(() => child.kill('SIGKILL'))
  child.once('exit', forget)
  if (command.message !== undefined) child.send(command.message)
  await ready(child, command.file)
  return { pid: child.pid!, end: () => child.kill('SIGKILL') }
}

async function ready(child: ChildProcess, file: string): Promise<void> {
  const gone = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${file} ended with ${signal ?? code} before it was ready`)
  })
  await Promise.race([once(child, 'message'), gone])
}
