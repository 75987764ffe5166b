import type { SluiceServer } from '../../harness/server/sluice-server.js'
import type { Staging } from '../staging.js'
import { awaitRecovery, type Recovery } from './recovery.js'

/** Who died, and from when on (`performance.now()`) it counts how long the server needs to be back. */
interface ServerKill {
  readonly killed: readonly number[]
  readonly since: number
}

const WORKERS = 2

/** A server of two workers that is killed again and again, and comes back at the same port with the same data. */
export class KilledServer {
  readonly #restart: () => SluiceServer
  #running: SluiceServer

  private constructor(running: SluiceServer, restart: () => SluiceServer) {
    this.#running = running
    this.#restart = restart
  }

  static async start(staging: Staging, dataFolder: string, environment = {}): Promise<KilledServer> {
    const settings = { workers: WORKERS, port: await staging.freePort(), dataFolder, environment }
    return new KilledServer(await staging.start(settings), () => staging.spawn(settings))
  }

  /** The one that runs now. */
  get running(): SluiceServer {
    return this.#running
  }

  /** SIGKILL of one worker. Faults: Error when not all were there. */
  killWorker(): ServerKill {
    const { workers } = this.#running
    if (workers.length < WORKERS) throw new Error(`only ${workers.length} workers were there to be killed`)
    const victim = workers[Math.floor(Math.random() * workers.length)]!
    process.kill(victim, 'SIGKILL')
    return { killed: [victim], since: performance.now() }
  }

  /** SIGKILL of supervisor and workers at once; then it is started anew, and counts from there. */
  async killGroup(): Promise<ServerKill> {
    const killed = this.#running.pids
    this.#running.killGroup()
    await this.#running.allGone()
    this.#running = this.#restart()
    return { killed, since: this.#running.spawnedAt }
  }

  /** How it came back. Faults: Error with the end of the log of a new start that does not serve. */
  async recovered({ killed, since }: ServerKill): Promise<Recovery> {
    const recovery = await awaitRecovery(this.#running.port, since, WORKERS, killed)
    if (!Number.isFinite(recovery.servingMs)) await this.#running.ready
    return recovery
  }
}
