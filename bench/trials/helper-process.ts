import { exchangeMessage, startProgram } from '../harness/server/program.js'
import type { Staging } from './staging.js'

/** A program of the bench that stands beside the server under trial. It ends with the run. */
export interface HelperProcess {
  readonly pid: number
  end(): void
}

/**
 * Starts a program of the bench with a message channel, hands it `message` when there is one, and waits for its first
 * message. Faults: Error when it ends without one.
 */
export async function startHelper(
  staging: Staging,
  core: number | null,
  command: { readonly program: URL; readonly args?: readonly string[]; readonly message?: object },
): Promise<HelperProcess> {
  const cores = core === null ? null : [core]
  const child = startProgram(staging.children, cores, command.program, command.args)
  await exchangeMessage(child, command.message)
  return { pid: child.pid!, end: () => child.kill('SIGKILL') }
}
