import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, ConnectionLost } from '../../harness/http/connection.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { HEALTH, STATS } from '../requests.js'
import type { Staging } from '../staging.js'

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

/** How a server came back after a kill; milliseconds since the moment the caller named. */
export type Recovery = Awaited<ReturnType<typeof awaitRecovery>>

const PROBE_GAP_MS = 4
const PROBE_TIMEOUT_MS = 2_000
const LIMIT_MS = 15_000
/** So many probes in a row have to succeed before the server counts as serving. */
const CALM_PROBES = 25

/** Asks for health and, on the same connection, for the worker's process id; null when either fails. */
async function probeServer(port: number): Promise<{ servedAt: number; pid: number } | null> {
  let connection: Connection | undefined
  try {
    connection = await Connection.open(port, PROBE_TIMEOUT_MS)
    const health = await connection.send(HEALTH, PROBE_TIMEOUT_MS)
    const servedAt = performance.now()
    if (health.status !== 200) return null
    const stats = await connection.send(STATS, PROBE_TIMEOUT_MS)
    const { pid } = JSON.parse(stats.body.toString('utf8')) as { pid: number }
    return stats.status === 200 ? { servedAt, pid } : null
  } catch (error) {
    if (error instanceof ConnectionLost || error instanceof SyntaxError) return null
    throw error
  } finally {
    connection?.drop()
  }
}

/**
 * Probes with fresh connections until `workers` different processes, none of them in `killed`, have answered and
 * a row of probes succeeded without a failure; gives up after 15 s. `since` is a `performance.now()` value.
 */
async function awaitRecovery(port: number, since: number, workers: number, killed: readonly number[]) {
  const seen = new Set<number>()
  let servingMs = Number.POSITIVE_INFINITY
  let completeMs: number | null = null
  let probes = 0
  let failedProbes = 0
  for (let calm = 0; calm < CALM_PROBES || completeMs === null; await sleep(PROBE_GAP_MS)) {
    if (performance.now() - since > LIMIT_MS) break
    probes++
    const answer = await probeServer(port)
    if (!answer) {
      failedProbes++
      calm = 0
      servingMs = Number.POSITIVE_INFINITY
      continue
    }
    if (calm++ === 0) servingMs = answer.servedAt - since
    if (!killed.includes(answer.pid)) seen.add(answer.pid)
    if (seen.size >= workers) completeMs ??= performance.now() - since
  }
  return {
    /** From then on every fresh connection was served. */
    servingMs,
    /** Enough different workers had answered; null when that did not happen in time. */
    completeMs,
    probes,
    failedProbes,
  }
}
