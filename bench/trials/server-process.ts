import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { onCore } from './cores.js'
import { childrenOf, membersOf } from './process-tree.js'

/** How a server under trial is started. */
export interface ServerSettings {
  readonly workers: number
  readonly poolThreads: number
  readonly port: number
  readonly dataFolder: string
  readonly seedItems?: number
  /** The only core its processes may use. */
  readonly core?: number | null
  /** Settings of ours besides those. */
  readonly environment?: Readonly<Record<string, string>>
}

/** How a process ended. */
export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const READY_LINE = /^sluice listening on http:\/\/\S+:(\d+) \(workers: (\d+), pool threads: (\d+)\)$/m
const READY_LIMIT_MS = 90_000
const LOG_TAIL = 4_000

/**
 * The kernel itself ends the supervisor when this process dies, even by SIGKILL; its workers then leave because
 * their channel to it closes.
 */
function diesWithParent(command: readonly string[]): readonly string[] {
  return spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0
    ? ['setpriv', '--pdeathsig', 'KILL', '--', ...command]
    : command
}

function environment(settings: ServerSettings): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SLUICE_'))
  return {
    ...Object.fromEntries(inherited),
    HOST: '127.0.0.1',
    PORT: String(settings.port),
    SLUICE_WORKERS: String(settings.workers),
    SLUICE_POOL_THREADS: String(settings.poolThreads),
    SLUICE_DATA_DIR: settings.dataFolder,
    SLUICE_SEED_ITEMS: String(settings.seedItems ?? 0),
    SLUICE_LOG_LEVEL: 'warn',
    ...settings.environment,
  }
}

function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has already gone, which is what the signal was to bring about.
  }
}

/** A server under trial: the supervisor that was spawned and the workers below it, in a process group of their own. */
export class ServerProcess {
  readonly pid: number
  readonly port: number
  /** `performance.now()` at the spawn. */
  readonly spawnedAt: number
  /** Resolves when the ready line was printed; rejects when the process ends or stays silent before. */
  readonly ready: Promise<void>
  readonly exited: Promise<Ending>
  readonly #child: ChildProcess
  #orphans = 0
  #out = ''
  #log = ''

  constructor(program: string, settings: ServerSettings) {
    const [command, ...args] = diesWithParent(
      onCore(settings.core ?? null, [process.execPath, program, 'serve']),
    )
    this.spawnedAt = performance.now()
    this.#child = spawn(command!, args, {
      env: environment(settings),
      cwd: settings.dataFolder,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    if (this.#child.pid === undefined) throw new Error(`${command} could not be started`)
    this.pid = this.#child.pid
    this.port = settings.port
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        // A worker that outlives its supervisor is worth knowing, but must not stay on the machine.
        this.#orphans = membersOf(this.pid).length
        if (this.#orphans > 0) this.killGroup()
        resolve({ code, signal })
      })
    })
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-LOG_TAIL)
    })
    this.ready = this.#untilReady()
    // A trial that kills a server before it was ready does not wait for `ready`.
    this.ready.catch(() => {})
  }

  /** The last characters the server logged. */
  get log(): string {
    return this.#log
  }

  /** How many of its processes were still there when the supervisor had ended. */
  get orphans(): number {
    return this.#orphans
  }

  /** Process ids of the workers that live now. */
  workers(): number[] {
    return childrenOf(this.pid)
  }

  /** Process ids of the supervisor and its workers. */
  processes(): number[] {
    return membersOf(this.pid)
  }

  /** Sends a signal to the supervisor alone. */
  signal(signal: NodeJS.Signals): void {
    signalQuietly(this.pid, signal)
  }

  /** SIGKILL to supervisor and workers at once. */
  killGroup(): void {
    signalQuietly(-this.pid, 'SIGKILL')
  }

  /** Resolves when the supervisor and every process of its group have gone. Faults: Error after 5 s. */
  async gone(): Promise<void> {
    await this.exited
    for (const limit = performance.now() + 5_000; membersOf(this.pid).length > 0; await sleep(2)) {
      if (performance.now() > limit) throw new Error('processes of a killed group are still there')
    }
  }

  /** Asks for an orderly end, and forces one after `limitMs`. */
  async stop(limitMs = 15_000): Promise<Ending> {
    const timer = setTimeout(() => this.killGroup(), limitMs)
    this.signal('SIGTERM')
    const ending = await this.exited
    clearTimeout(timer)
    return ending
  }

  #untilReady(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => fail('printed no ready line'), READY_LIMIT_MS)
      const fail = (what: string): void => {
        clearTimeout(timer)
        reject(new Error(`the server ${what}; its log ends with: ${this.#log || '(nothing)'}`))
      }
      void this.exited.then(({ code, signal }) => fail(`ended before it was ready (${signal ?? code})`))
      this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
        this.#out = (this.#out + text).slice(-LOG_TAIL)
        if (!READY_LINE.test(this.#out)) return
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
