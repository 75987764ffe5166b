/** The configuration on its way to the workers, again with every reload. */
import { type Clock, unixMs } from '../base/clock.js'
import type { ConfigurationReport, ReloadAttempt } from '../base/configuration-report.js'
import type { Log } from '../base/log.js'
import { type Config, InvalidConfigError, settingsNeedingRestart } from '../config/config.js'
import type { MessageToWorker } from './ipc/messages.js'

interface ConfigRolloutPorts {
  readonly log: Log
  readonly clock: Clock
  readonly workers: number
  /** Reads the configuration again. Rejects with `InvalidConfigError`. */
  readonly reread: () => Promise<Config>
  readonly sendToWorker: (worker: number, message: MessageToWorker) => void
}

/** What a worker has, or was started with. */
interface Held {
  readonly generation: number
  readonly version: string
  readonly since: number
}

/** Generations count the reloads that were taken. */
export class ConfigRollout {
  readonly #ports: ConfigRolloutPorts
  /** As started; a reload renews its gateway part only. */
  #config: Config
  #generation = 0
  #loadedAt: number
  #lastReload: ReloadAttempt | null = null
  /** Settled when what was asked for has been read: one file after the other. */
  #reloaded: Promise<unknown> = Promise.resolve()
  /** A reading that has not begun: whoever asks before it does is served by it. */
  #next: Promise<ReloadAttempt> | null = null
  /** Told when the newest generation has arrived everywhere. */
  readonly #awaiting = new Set<() => void>()
  /** The generation that has arrived everywhere. */
  #arrived = 0
  /** By worker: what its process was started with, or null before it is told to start. */
  readonly #startedWith: (Held | null)[]
  /** By worker: what it works with, or null before it has said so. */
  readonly #applied: (Held | null)[]

  constructor(config: Config, ports: ConfigRolloutPorts) {
    this.#config = config
    this.#ports = ports
    this.#loadedAt = unixMs(ports.clock)
    this.#startedWith = Array.from({ length: ports.workers }, () => null)
    this.#applied = [...this.#startedWith]
  }

  get config(): Config {
    return this.#config
  }

  /**
   * Reads the file again and hands its gateway part to all workers. A bad file is refused whole and every fault
   * logged; the old configuration goes on. Safe at any time, also before the server is ready. Resolves when the file
   * has been read, which workers may not have heard of yet.
   */
  reload(): Promise<ReloadAttempt> {
    if (this.#next !== null) return this.#next
    const next = this.#reloaded.then(() => {
      this.#next = null
      return this.#reload()
    })
    this.#next = next
    this.#reloaded = next
    return next
  }

  /** What the workers have at this moment. */
  report(): ConfigurationReport {
    return {
      version: this.#config.gateway.version,
      loadedAt: this.#loadedAt,
      file: this.#config.file,
      workers: this.#applied.map((held, worker) => ({
        worker,
        version: held?.version ?? null,
        since: held?.since ?? null,
      })),
      lastReload: this.#lastReload,
    }
  }

  /** Resolves when all workers have the newest configuration, or when the time is over. */
  whenArrived(deadlineMs: number): Promise<void> {
    if (this.#arrived === this.#generation) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        cancel()
        this.#awaiting.delete(done)
        resolve()
      }
      const cancel = this.#ports.clock.runAfter(deadlineMs, done)
      this.#awaiting.add(done)
    })
  }

  async #reload(): Promise<ReloadAttempt> {
    const at = unixMs(this.#ports.clock)
    const read = await this.#reread()
    const taken = 'gateway' in read ? this.#take(read) : { faults: read, needsRestart: [] }
    this.#lastReload = { at, ...taken }
    return this.#lastReload
  }

  #take(read: Config): Pick<ReloadAttempt, 'faults' | 'needsRestart'> {
    const { log, sendToWorker } = this.#ports
    const settings = settingsNeedingRestart(this.#config, read)
    if (settings.length > 0) log.warn({ settings }, 'settings have changed that need a restart')
    const { gateway } = read
    this.#config = Object.freeze({ ...this.#config, gateway })
    this.#loadedAt = unixMs(this.#ports.clock)
    const generation = ++this.#generation
    for (const [worker, started] of this.#startedWith.entries()) {
      // A worker that has not been told to start gets the newest when it is.
      if (started !== null) sendToWorker(worker, { type: 'configuration', generation, gateway })
    }
    return { faults: [], needsRestart: settings }
  }

  /** A worker is told to start, with the newest configuration. */
  workerStarted(worker: number): void {
    const { version } = this.#config.gateway
    this.#startedWith[worker] = { generation: this.#generation, version, since: unixMs(this.#ports.clock) }
  }

  /** A worker serves with the configuration it was started with. */
  workerReady(worker: number): void {
    const started = this.#startedWith[worker]
    if (started != null) this.workerApplied(worker, started.generation, started.version)
  }

  workerDied(worker: number): void {
    this.#startedWith[worker] = null
    this.#applied[worker] = null
  }

  /** Says once per reload that it has arrived everywhere. */
  workerApplied(worker: number, generation: number, version: string): void {
    const held = this.#applied[worker]
    if (held == null || held.generation < generation)
      this.#applied[worker] = { generation, version, since: unixMs(this.#ports.clock) }
    if (this.#arrived === this.#generation) return
    if (this.#applied.some((applied) => applied === null || applied.generation < this.#generation)) return
    this.#arrived = this.#generation
    for (const done of this.#awaiting) done()
    const { models, providers } = this.#config.gateway
    const counts = { models: models.length, providers: Object.keys(providers).length }
    this.#ports.log.info(
      { workers: this.#ports.workers, ...counts },
      'all workers have the new configuration',
    )
  }

  /** The faults where it cannot be used. */
  async #reread(): Promise<Config | ReloadAttempt['faults']> {
    try {
      return await this.#ports.reread()
    } catch (error) {
      const { log } = this.#ports
      const faults = error instanceof InvalidConfigError ? error.faults : []
      for (const { source, problem } of faults) log.error({ source, problem }, 'bad setting')
      // A defect of ours while reading is no reason to stop serving either.
      const cause = error instanceof InvalidConfigError ? {} : { err: error }
      log.error({ faults: faults.length, ...cause }, 'configuration refused: the old one goes on')
      return error instanceof InvalidConfigError ? faults : [DEFECT]
    }
  }
}

const DEFECT = { source: 'configuration', problem: 'could not be read for a reason that the log tells' }
