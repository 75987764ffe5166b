/** Our server as every bench starts it: the built files, on 127.0.0.1, with no setting of this shell. */
import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ProcessExit,
  type ReadyLine,
  ServerNotReady,
  ServerProcess,
} from '../../../src/base/server-process.js'
import { pinnedCommand } from '../machine/pinning.js'
import { childrenOf, membersOf } from '../machine/proc.js'

export interface ServerSettings {
  /** Path of the built command line program. */
  readonly program: string
  /** Options behind `serve`. */
  readonly options?: readonly string[]
  readonly workers: number
  /** As shipped unless it says: one for each core that it may use, and at least one. */
  readonly poolThreads?: number
  /** Any free one unless it says. */
  readonly port?: number
  /** Also its working folder. */
  readonly dataFolder: string
  readonly seedItems?: number
  /** The only cores its processes may use. */
  readonly cores?: readonly number[] | null
  /** Settings of ours besides those. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Something that runs and can be loaded. */
export interface LoadTarget {
  readonly origin: string
  readonly pids: readonly number[]
  /** True once it has left without being asked. */
  gone(): boolean
  stop(): Promise<unknown>
}

/** Seeding 100,000 durable items is the longest start there is. */
const READY_LIMIT_MS = 120_000
const STOP_LIMIT_MS = 15_000
const LOG_TAIL = 8_000

/** A server under test: the supervisor that was spawned and the workers below it, in a process group of their own. */
export class SluiceServer implements LoadTarget {
  /** `performance.now()` at the spawn. */
  readonly spawnedAt = performance.now()
  /** Resolves when the ready line was printed; rejects when the process ends or stays silent before. */
  readonly ready: Promise<ReadyLine>
  readonly exited: Promise<ProcessExit>
  readonly #process: ServerProcess
  #port: number
  #orphans = 0

  /** Spawns it and returns at once. */
  constructor(settings: ServerSettings) {
    const { program, options = [], cores = null, dataFolder } = settings
    const env = serverEnvironment(settings)
    // A test runner adds hooks of its own to the options of whatever is started, and they allocate with every call.
    const server = ['env', `NODE_OPTIONS=${env.NODE_OPTIONS ?? ''}`, process.execPath, program, 'serve']
    const command = pinnedCommand(cores, [...server, ...options])
    this.#process = new ServerProcess(boundToParent(command), {
      cwd: dataFolder,
      env,
      detached: true,
      keptChars: LOG_TAIL,
    })
    this.#port = settings.port ?? 0
    this.exited = this.#process.exited.then((exit) => {
      // A worker that outlives its supervisor is worth knowing, but must not stay on the machine.
      this.#orphans = this.pid === 0 ? 0 : membersOf(this.pid).length
      if (this.#orphans > 0) this.killGroup()
      return exit
    })
    this.ready = this.#untilReady()
    // A trial that kills a server before it was ready does not wait for `ready`.
    this.ready.catch(() => {})
  }

  get pid(): number {
    return this.#process.pid
  }

  /** As set, or as the ready line told. */
  get port(): number {
    return this.#port
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Process ids of the supervisor and its workers. */
  get pids(): number[] {
    return membersOf(this.pid)
  }

  /** Process ids of the workers that live now. */
  get workers(): number[] {
    return childrenOf(this.pid)
  }

  /** How many of its processes were still there when the supervisor had ended. */
  get orphans(): number {
    return this.#orphans
  }

  /** True once the supervisor has ended. */
  gone(): boolean {
    return this.#process.hasExited
  }

  /** Sends a signal to the supervisor alone. */
  signal(signal: NodeJS.Signals): void {
    this.#process.signal(signal)
  }

  /** SIGKILL to supervisor and workers at once. */
  killGroup(): void {
    if (this.pid === 0) return
    try {
      process.kill(-this.pid, 'SIGKILL')
    } catch {
      // The group has already gone, which is what the signal was to bring about.
    }
  }

  /** Resolves when the supervisor and every process of its group have gone. Faults: Error after 5 s. */
  async allGone(): Promise<void> {
    await this.exited
    for (const limit = performance.now() + 5_000; this.pids.length > 0; await sleep(2)) {
      if (performance.now() > limit) throw new Error('processes of a killed group are still there')
    }
  }

  /** Asks for an orderly end, and forces one after 15 s. */
  async stop(): Promise<ProcessExit> {
    await this.#process.stop(STOP_LIMIT_MS, () => this.killGroup())
    return this.exited
  }

  async #untilReady(): Promise<ReadyLine> {
    try {
      const listening = await this.#process.untilListening(READY_LIMIT_MS)
      this.#port = listening.port
      return listening
    } catch (error) {
      if (!(error instanceof ServerNotReady)) throw error
      throw new Error(`the server ${error.message}`)
    }
  }
}

/**
 * The kernel itself ends the supervisor when this process dies, even by SIGKILL; its workers then leave because
 * their channel to it closes.
 */
function boundToParent(command: readonly string[]): readonly string[] {
  return spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0
    ? ['setpriv', '--pdeathsig', 'KILL', '--', ...command]
    : command
}

/**
 * The environment minus every setting of ours that a shell may carry: a bench must not depend on it. What is measured is
 * what a user gets: only what a run needs is set.
 */
function serverEnvironment(settings: ServerSettings): NodeJS.ProcessEnv {
  const foreign = Object.entries(process.env).filter(([name]) => !/^(SLUICE_|PORT$|HOST$)/.test(name))
  return {
    ...Object.fromEntries(foreign),
    HOST: '127.0.0.1',
    PORT: String(settings.port ?? 0),
    SLUICE_WORKERS: String(settings.workers),
    ...(settings.poolThreads !== undefined && { SLUICE_POOL_THREADS: String(settings.poolThreads) }),
    SLUICE_DATA_DIR: settings.dataFolder,
    ...(settings.seedItems !== undefined && { SLUICE_SEED_ITEMS: String(settings.seedItems) }),
    ...settings.environment,
  }
}
