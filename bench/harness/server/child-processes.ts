/** The processes of one run, and the programs of the bench among them: none of them outlives it. */

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { pinnedCommand, programRuns } from '../machine/pinning.js'
import { processTree } from '../machine/proc.js'
import { type ServerSettings, SluiceServer } from './sluice-server.js'

const GRACE_MS = 8_000

export class ChildProcesses {
  readonly #running = new Set<ChildProcess>()
  readonly #servers = new Set<SluiceServer>()
  /** On Linux the kernel itself ends a child whose parent dies, also when the parent was killed with SIGKILL. */
  readonly #leash: readonly string[] = programRuns('setpriv', '--version')
    ? ['setpriv', '--pdeathsig', 'TERM', '--']
    : []

  /** Starts a command that is ended with this run. Throws when the program cannot be started. */
  start(command: readonly string[], options: SpawnOptions): ChildProcess {
    const [program, ...args] = [...this.#leash, ...command]
    const child = spawn(program!, args, options)
    this.#running.add(child)
    child.once('exit', () => this.#running.delete(child))
    // Without a listener a failed start would surface as an uncaught event; the exit is noticed by whoever waits.
    child.once('error', () => this.#running.delete(child))
    return child
  }

  /** Spawns a server of ours that is ended with this run; `ready` on it tells when it listens. */
  spawnServer(settings: ServerSettings): SluiceServer {
    const server = new SluiceServer(settings)
    this.#servers.add(server)
    void server.exited.then(() => this.#servers.delete(server))
    return server
  }

  /** The same, and waits until it listens. Rejects with the end of its log when it does not get there. */
  async startServer(settings: ServerSettings): Promise<SluiceServer> {
    const server = this.spawnServer(settings)
    await server.ready
    return server
  }

  /** Asks a child to leave (SIGTERM) and makes it leave, with its descendants, when it has not after 8 s. */
  async stop(child: ChildProcess): Promise<void> {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const root = child.pid
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    const timer = setTimeout(() => killProcesses(processTree(root)), GRACE_MS)
    await gone
    clearTimeout(timer)
  }

  /** Stops everything that still runs. */
  async stopAll(): Promise<void> {
    const stopped = [...this.#running].map((child) => this.stop(child))
    await Promise.all([...stopped, ...[...this.#servers].map((server) => server.stop())])
  }

  /** Last resort, for an exit handler: kills every tree at once. */
  killAll(): void {
    for (const child of this.#running) if (child.pid !== undefined) killProcesses(processTree(child.pid))
    for (const server of this.#servers) server.killGroup()
  }
}

function killProcesses(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // Gone already, which is what was wanted.
    }
  }
}

/**
 * Starts a program of the bench that stands beside the server, on `cores`, with a message channel: it is told its job
 * by one message.
 */
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
