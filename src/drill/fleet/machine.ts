/** One machine of a fleet: the built server as a process with a folder, a port and a name that it keeps over restarts. */
import { execFileSync } from 'node:child_process'
import { ServerProcess } from '../../base/server-process.js'
import { freePort } from './free-port.js'
import { processTree, signalTree } from './process-tree.js'

const READY_MS = 60_000
const STOP_MS = 30_000

export interface MachineSettings {
  /** What starts the server: the program and its arguments. */
  readonly command: readonly string[]
  /** Its whole environment, beyond the settings that follow from the others; it wins over them. */
  readonly environment: Readonly<Record<string, string>>
  readonly name: string
  /** Exists, and outlives it. */
  readonly folder: string
  /** Of the store that all share; each machine may reach it by a proxy of its own. */
  readonly databaseUrl: string
}

export class FleetMachine {
  readonly name: string
  readonly port: number
  readonly folder: string
  readonly #settings: MachineSettings
  /** Of all its lives. */
  readonly #lives: ServerProcess[] = []

  private constructor(port: number, settings: MachineSettings) {
    this.#settings = settings
    this.name = settings.name
    this.port = port
    this.folder = settings.folder
  }

  /** A machine that is not started yet, with a port of 127.0.0.1 that is its own. */
  static async prepare(settings: MachineSettings): Promise<FleetMachine> {
    return new FleetMachine(await freePort(), settings)
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** The server of its present life, or of its last. */
  get server(): ServerProcess {
    return this.#lives.at(-1)!
  }

  /** What its lives have written to standard error, in order. */
  get log(): string {
    return this.#lives.map(({ stderr }) => stderr).join('')
  }

  /** Starts it, also after an end, and waits until it listens. Rejects with ServerNotReady. */
  async start(more: Readonly<Record<string, string>> = {}, left?: AbortSignal): Promise<void> {
    this.spawn(more)
    await this.server.untilListening(READY_MS, left)
  }

  /** Starts it and does not wait. */
  spawn(more: Readonly<Record<string, string>> = {}): void {
    const { command, environment, name, folder, databaseUrl } = this.#settings
    const env: Record<string, string> = {
      HOST: '127.0.0.1',
      SLUICE_WORKERS: '1',
      SLUICE_POOL_THREADS: '1',
      SLUICE_LOG_LEVEL: 'warn',
      PORT: String(this.port),
      SLUICE_DATA_DIR: folder,
      SLUICE_MACHINE: name,
      SLUICE_DATABASE_URL: databaseUrl,
      ...environment,
      ...more,
    }
    // env(1), because a test runner puts hooks of its own into the environment of all children.
    const settings = Object.entries(env).map(([key, value]) => `${key}=${value}`)
    this.#lives.push(new ServerProcess(['/usr/bin/env', '-i', ...settings, ...command], { cwd: folder }))
  }

  /** Ends all its processes at once, as a machine does that loses power. */
  async kill(): Promise<void> {
    this.killNow()
    await this.#lives.at(-1)?.closed
  }

  /** The same without waiting for it. */
  killNow(): void {
    const server = this.#lives.at(-1)
    if (server !== undefined && !server.hasExited) signalTree(server.pid, 'SIGKILL')
  }

  /** All its processes stand still. */
  freeze(): void {
    signalTree(this.server.pid, 'SIGSTOP')
  }

  thaw(): void {
    signalTree(this.server.pid, 'SIGCONT')
  }

  /** Its disk is full: no file of it may grow beyond so many bytes. Null gives it room again. */
  limitFiles(bytes: number | null): void {
    for (const pid of processTree(this.server.pid)) {
      execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes ?? 'unlimited'}:unlimited`])
    }
  }

  /** Ends it as an operator does; kills it when it is not gone after half a minute. Its exit code. */
  async stop(): Promise<number | null> {
    this.thaw()
    const { code } = await this.server.stop(STOP_MS, () => signalTree(this.server.pid, 'SIGKILL'))
    await this.server.closed
    return code
  }
}
