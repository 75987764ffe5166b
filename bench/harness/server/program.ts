/** Programs of the bench that stand beside the server: started with a message channel, told their job by one message. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { pinnedCommand } from '../machine/pinning.js'
import type { ChildProcesses } from './child-processes.js'

/** Starts one on `cores`. */
export function startProgram(
  children: ChildProcesses,
  cores: readonly number[] | null,
  program: URL,
  args: readonly string[] = [],
): ChildProcess {
  return children.start(pinnedCommand(cores, [process.execPath, fileURLToPath(program), ...args]), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

/** Sends one message, when there is one, and waits for the next one back. Throws when the process leaves without. */
export async function exchangeMessage<Answer>(child: ChildProcess, message?: object): Promise<Answer> {
  const answer = once(child, 'message')
  const exit = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${child.spawnargs.at(-1)?.split('/').at(-1)} left with ${signal ?? code} and no answer`)
  })
  if (message !== undefined) child.send(message)
  const [value] = await Promise.race([answer, exit])
  return value as Answer
}

/** uWebSockets.js shares a port between processes only when the port was named: port 0 cannot be joined. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
