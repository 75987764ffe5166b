/** The configuration on its way to the workers, again with every reload. */
import type { Log } from '../base/log.js'
import { type Config, InvalidConfigError, settingsNeedingRestart } from '../config/config.js'
import type { MessageToWorker } from './ipc/messages.js'

interface ConfigRolloutPorts {
  readonly log: Log
  readonly workers: number
  /** Reads the configuration again. Rejects with `InvalidConfigError`. */
  readonly reread: () => Promise<Config>
  readonly sendToWorker: (worker: number, message: MessageToWorker) => void
}

/** Generations count the reloads that were taken. */
export class ConfigRollout {
  readonly #ports: ConfigRolloutPorts
  /** As started; a reload renews its gateway part only. */
  #config: Config
  #generation = 0
  /** Settled when what was asked for has been read: one file after the other. */
  #reloaded: Promise<void> = Promise.resolve()
  /** The generation that has arrived everywhere. */
  #arrived = 0
  /** By worker: the generation its process was started with, or null before it is told to start. */
  readonly #startedWith: (number | null)[]
  /** By worker: the generation it works with, or null before it has said so. */
  readonly #applied: (number | null)[]

  constructor(config: Config, ports: ConfigRolloutPorts) {
    this.#config = config
    this.#ports = ports
    this.#startedWith = Array.from({ length: ports.workers }, () => null)
    this.#applied = [...this.#startedWith]
  }

  get config(): Config {
    return this.#config
  }

  /**
   * Reads the file again and hands its gateway part to all workers. A bad file is refused whole and every fault
   * logged; the old configuration goes on. Safe at any time, also before the server is ready.
   */
  reload(): void {
    this.#reloaded = this.#reloaded.then(() => this.#reload())
  }

  async #reload(): Promise<void> {
    const read = await this.#reread()
    if (read === null) return
    const { log, sendToWorker } = this.#ports
    const settings = settingsNeedingRestart(this.#config, read)
    if (settings.length > 0) log.warn({ settings }, 'settings have changed that need a restart')
    const { gateway } = read
    this.#config = Object.freeze({ ...this.#config, gateway })
    const generation = ++this.#generation
    for (const [worker, started] of this.#startedWith.entries()) {
      // A worker that has not been told to start gets the newest when it is.
      if (started !== null) sendToWorker(worker, { type: 'configuration', generation, gateway })
    }
  }

  /** A worker is told to start, with the newest configuration. */
  workerStarted(worker: number): void {
    this.#startedWith[worker] = this.#generation
  }

  /** A worker serves with the configuration it was started with. */
  workerReady(worker: number): void {
    this.workerApplied(worker, this.#startedWith[worker] ?? 0)
  }

  workerDied(worker: number): void {
    this.#startedWith[worker] = null
    this.#applied[worker] = null
  }

  /** Says once per reload that it has arrived everywhere. */
  workerApplied(worker: number, generation: number): void {
    this.#applied[worker] = Math.max(this.#applied[worker] ?? 0, generation)
    if (this.#arrived === this.#generation) return
    if (this.#applied.some((applied) => applied === null || applied < this.#generation)) return
    this.#arrived = this.#generation
    const { models, providers } = this.#config.gateway
    const counts = { models: models.length, providers: Object.keys(providers).length }
    this.#ports.log.info(
      { workers: this.#ports.workers, ...counts },
      'all workers have the new configuration',
    )
  }

  async #reread(): Promise<Config | null> {
    try {
      return await this.#ports.reread()
    } catch (error) {
      const { log } = this.#ports
      const faults = error instanceof InvalidConfigError ? error.faults : []
      for (const { source, problem } of faults) log.error({ source, problem }, 'bad setting')
      // A defect of ours while reading is no reason to stop serving either.
      const cause = error instanceof InvalidConfigError ? {} : { err: error }
      log.error({ faults: faults.length, ...cause }, 'configuration refused: the old one goes on')
      return null
    }
  }
}
