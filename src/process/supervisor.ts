/**
 * The primary process: proves the port free, starts the workers, restarts those that die, gathers their
 * snapshots, and turns signals into a drain. It keeps the limits that workers share and writes the ledger; calls of
 * the API are served by workers alone.
 */

import cluster, { type Worker as ClusterWorker } from 'node:cluster'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { exchangeRule } from '../compose/exchange-limit.js'
import { type Config, InvalidConfigError, settingsNeedingRestart } from '../config/config.js'
import { listeningUrl } from '../config/listening-url.js'
import type { RoutingUpdate } from '../gateway/routing/routing-update.js'
import { TokenBank } from '../limits/token-bank.js'
import type { WorkerSnapshot } from '../telemetry/counters/worker-stats.js'
import { type MetricsServer, serveMetrics } from '../telemetry/prometheus/metrics-server.js'
import type { MessageToSupervisor, MessageToWorker } from './ipc/messages.js'
import { LabSupervisor } from './lab-supervisor.js'
import { LedgerCoordinator } from './ledger-coordinator.js'
import { probePort } from './port-probe.js'
import { RestartPolicy } from './restart-policy.js'
import { SnapshotGatherer } from './snapshot-gatherer.js'
import { restrictStoreAccess } from './store-privacy.js'
import { poolThreadsFor, workersFor } from './topology.js'

const WORKER_MODULE = fileURLToPath(new URL('./worker.js', import.meta.url))
/** What a worker gets beyond the drain deadline before it is ended by force. */
const FORCE_AFTER_MS = 2_000
/** How long the ledger gets to take what the workers have left. */
const CLOSE_MS = 5_000

/**
 * One press of Ctrl-C reaches a process twice when its parent (npm, timeout) passes on what the terminal has sent
 * to the whole group already. Two signals this close are one.
 */
const SAME_SIGNAL_MS = 300

interface WorkerSlot {
  /** Index of the worker; a restarted one keeps it. */
  readonly index: number
  process: ClusterWorker | null
  readyAt: number | null
  /** Generation of the configuration the process was started with; -1 before it is told to start. */
  started: number
  /** Generation of the configuration it works with; -1 before it has said so. */
  generation: number
  /** Name of the journal that the process writes; null before it is told to start. */
  journal: string | null
}

interface SupervisorPorts {
  readonly log: Log
  /** Writes a line on standard output: keys made on the first start, and then that the server listens. */
  readonly announce: (line: string) => void
  /** Says to a person why the server gives up, whatever the log level. */
  readonly complain: (sentence: string) => void
  /** Reads the configuration again. Throws `BadConfig`. */
  readonly reread: () => Config
  /** Ends the process. */
  readonly exit: (code: number) => void
}

export class Supervisor {
  /** As started; a reload renews its gateway part only. */
  #config: Config
  /** Counts reloads that were taken. */
  #generation = 0
  /** The generation that has arrived everywhere. */
  #arrived = 0
  readonly #ports: SupervisorPorts
  readonly #policy = new RestartPolicy()
  readonly #gatherer = new SnapshotGatherer()
  /** Exchanges by client address, for all workers together. */
  readonly #exchanges: TokenBank
  /** Null before the start. */
  #accounting: LedgerCoordinator | null = null
  readonly #seats: WorkerSlot[]
  readonly #poolThreads: number
  #port = 0
  #metrics: MetricsServer | null = null
  #lab: LabSupervisor | null = null
  #round: Promise<readonly WorkerSnapshot[]> | null = null
  #announced = false
  #leaving = false
  #ended = false
  #signalledAt = Number.NEGATIVE_INFINITY
  #exitCode = 0

  constructor(config: Config, ports: SupervisorPorts) {
    this.#config = config
    this.#ports = ports
    this.#exchanges = new TokenBank(exchangeRule(config), systemClock)
    const cores = availableParallelism()
    const workers = config.workers === 'auto' ? workersFor(cores) : config.workers
    this.#poolThreads = config.poolThreads === 'auto' ? poolThreadsFor(cores, workers) : config.poolThreads
    this.#seats = Array.from({ length: workers }, (_, index) => ({
      index,
      process: null,
      readyAt: null,
      started: -1,
      generation: -1,
      journal: null,
    }))
  }

  /** Starts everything. Rejects when the port is taken or the metrics address cannot be bound. */
  async start(): Promise<void> {
    this.#port = await probePort(this.#config.host, this.#config.port)
    this.#closeToOthers()
    // Nothing is sold before it is known what has been spent.
    await this.#openBooks()
    if (this.#leaving) return
    cluster.setupPrimary({ exec: WORKER_MODULE, args: [] })
    this.#metrics = await serveMetrics(this.#config.metrics, () => this.#snapshots())
    this.#lab = await LabSupervisor.start(this.#config, {
      readyWorkers: () =>
        this.#ready().map(({ index, child }) => ({
          worker: index,
          send: (message) => sendToWorker(child, message),
        })),
      snapshots: (deadlineMs) => this.#gather(deadlineMs),
      workers: this.#seats.length,
      poolThreads: this.#poolThreads,
    })
    for (const seat of this.#seats) this.#fork(seat)
  }

  #closeToOthers(): void {
    const { closed, open } = restrictStoreAccess(this.#config.dataDir)
    const { log } = this.#ports
    if (closed > 0) log.warn({ closed }, 'took the store from the reach of other users of this machine')
    if (open.length > 0) log.warn({ open }, 'other users of this machine may reach the store')
  }

  async #openBooks(): Promise<void> {
    try {
      this.#accounting = new LedgerCoordinator(this.#config, systemClock, this.#ports.log)
      await this.#accounting.start()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#ports.log.fatal({ reason }, 'the ledger cannot be opened')
      throw error
    }
  }

  /** First signal: drain, then exit 0. Second signal: end at once with exit code 1. */
  signal(name: string): void {
    const now = performance.now()
    if (this.#leaving) {
      if (now - this.#signalledAt < SAME_SIGNAL_MS) return
      this.#ports.log.warn({ signal: name }, 'second signal: ending at once')
      this.#killAll()
      void this.#endNow()
      return
    }
    this.#signalledAt = now
    this.#ports.log.info({ signal: name, deadlineMs: this.#config.drainDeadlineMs }, 'draining')
    this.#leave(0)
  }

  /**
   * Reads the file again and hands its gateway part to all workers. A bad file is refused whole and every fault
   * logged; the old configuration goes on. Safe at any time, also before the server is ready.
   */
  reload(): void {
    const { log } = this.#ports
    if (this.#leaving) return
    const read = this.#reread()
    if (read === null) return
    const restart = settingsNeedingRestart(this.#config, read)
    if (restart.length > 0) log.warn({ settings: restart }, 'settings have changed that need a restart')
    this.#config = Object.freeze({ ...this.#config, gateway: read.gateway })
    this.#generation++
    for (const seat of this.#seats) this.#tellConfiguration(seat)
  }

  #reread(): Config | null {
    try {
      return this.#ports.reread()
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

  /** A worker that has not been told to start gets the newest when it is. */
  #tellConfiguration(seat: WorkerSlot): void {
    if (seat.process === null || seat.started < 0) return
    sendToWorker(seat.process, {
      type: 'configure',
      generation: this.#generation,
      gateway: this.#config.gateway,
    })
  }

  /** Says once per reload that it has arrived everywhere. */
  #took(seat: WorkerSlot, generation: number): void {
    seat.generation = Math.max(seat.generation, generation)
    if (this.#arrived === this.#generation) return
    if (this.#seats.some((each) => each.generation < this.#generation)) return
    this.#arrived = this.#generation
    const { models, providers } = this.#config.gateway
    const counts = { models: models.length, providers: Object.keys(providers).length }
    this.#ports.log.info({ workers: this.#seats.length, ...counts }, 'all workers have the new configuration')
  }

  #leave(code: number): void {
    this.#leaving = true
    this.#exitCode = code
    this.#metrics?.close()
    this.#lab?.close()
    for (const { process: child } of this.#seats) if (child !== null) sendToWorker(child, { type: 'drain' })
    setTimeout(() => this.#force(), this.#config.drainDeadlineMs + FORCE_AFTER_MS).unref()
    this.#exitWhenEmpty()
  }

  /** A worker that did not leave by itself may have left something undone: that is no clean end. */
  #force(): void {
    this.#ports.log.warn('workers did not leave in time: ending them')
    this.#exitCode = 1
    this.#killAll()
  }

  #killAll(): void {
    for (const { process: child } of this.#seats) child?.process.kill('SIGKILL')
  }

  #exitWhenEmpty(): void {
    if (this.#ended || this.#seats.some(({ process: child }) => child !== null)) return
    this.#ended = true
    void this.#end()
  }

  /** What the ledger does not take now, it takes at the next start. */
  async #end(): Promise<void> {
    const late = new Promise((resolve) => setTimeout(resolve, CLOSE_MS))
    await Promise.race([this.#accounting?.close().catch(() => {}), late])
    await this.#accounting?.whenIdle()
    this.#ports.exit(this.#exitCode)
  }

  async #endNow(): Promise<void> {
    await this.#accounting?.whenIdle()
    this.#ports.exit(1)
  }

  #fork(seat: WorkerSlot): void {
    const child = cluster.fork()
    seat.process = child
    seat.readyAt = null
    seat.started = -1
    seat.generation = -1
    child.on('message', (message: MessageToSupervisor) => this.#hear(seat, child, message))
    child.on('exit', (code, signal) => this.#gone(seat, child, signal ?? `exit code ${code}`))
    // A process that could not be started at all (no memory, too many processes) has no exit.
    child.on('error', (error) => this.#gone(seat, child, error.message))
  }

  #hear(seat: WorkerSlot, child: ClusterWorker, message: MessageToSupervisor): void {
    switch (message.type) {
      case 'up':
        this.#tellStart(seat, child)
        break
      case 'ready':
        seat.readyAt = performance.now()
        this.#announceOnce()
        this.#lab?.workerJoined(seat.index)
        this.#took(seat, seat.started)
        break
      case 'founded':
        this.#ports.announce(`sluice made a ${message.kind} key, shown only now: ${message.key}`)
        break
      case 'configured':
        this.#took(seat, message.generation)
        break
      case 'failed':
        this.#failed(message.reason)
        break
      case 'tell':
        this.#spread(seat.index, message.news)
        break
      case 'lab':
        this.#lab?.onReply(seat.index, message.id, message.answer)
        break
      case 'snapshot':
        this.#gatherer.take(message.id, message.snapshot)
        break
      case 'take': {
        const { id, name, wanted } = message
        sendToWorker(child, { type: 'taken', id, grant: this.#exchanges.take(name, wanted) })
        break
      }
      case 'draw':
      case 'gave-back':
      case 'owes':
      case 'freshen':
        if (seat.journal !== null && seat.process === child)
          this.#accounting?.onMessage(seat.journal, message)
        break
      case 'collect':
        void this.#snapshots().then((snapshots) =>
          sendToWorker(child, { type: 'collected', id: message.id, snapshots }),
        )
    }
  }

  /** Passes on what a worker has learnt. */
  #spread(from: number, news: RoutingUpdate): void {
    for (const { index, process: other, readyAt } of this.#seats) {
      if (index !== from && other !== null && readyAt !== null)
        sendToWorker(other, { type: 'heard', from, news })
    }
  }

  #tellStart(seat: WorkerSlot, child: ClusterWorker): void {
    seat.started = this.#generation
    seat.journal = this.#accounting!.registerWorker(child.process.pid!, seat.index, (message) =>
      sendToWorker(child, message),
    )
    sendToWorker(child, {
      type: 'start',
      journal: seat.journal,
      config: this.#config,
      worker: seat.index,
      workers: this.#seats.length,
      port: this.#port,
      poolThreads: this.#poolThreads,
    })
    if (this.#leaving) sendToWorker(child, { type: 'drain' })
  }

  /** Callers that ask while a round is under way share it: scrapers cannot multiply the work of the workers. */
  #snapshots(): Promise<readonly WorkerSnapshot[]> {
    this.#round ??= this.#gather().finally(() => {
      this.#round = null
    })
    return this.#round
  }

  #gather(deadlineMs?: number): Promise<readonly WorkerSnapshot[]> {
    const ready = this.#ready()
    const ask = (id: number): void => {
      for (const { child } of ready) sendToWorker(child, { type: 'report', id })
    }
    return this.#gatherer.gather(ready.length, ask, deadlineMs)
  }

  /** Workers that serve. */
  #ready(): { readonly index: number; readonly child: ClusterWorker }[] {
    return this.#seats.flatMap(({ index, process: child, readyAt }) =>
      child === null || readyAt === null ? [] : [{ index, child }],
    )
  }

  #announceOnce(): void {
    if (this.#announced || this.#seats.some(({ readyAt }) => readyAt === null)) return
    this.#announced = true
    this.#policy.markServing()
    const counts = `workers: ${this.#seats.length}, pool threads: ${this.#poolThreads}`
    if (this.#lab !== null) this.#ports.announce(this.#lab.announcement)
    this.#ports.announce(`sluice listening on ${listeningUrl(this.#config, this.#port)} (${counts})`)
  }

  /** A worker found a reason that a restart does not cure; while starting, that ends the start. */
  #failed(reason: string): void {
    this.#ports.log.fatal({ reason }, 'a worker cannot start')
    if (this.#announced || this.#leaving) return
    this.#ports.complain(reason)
    this.#leave(1)
  }

  #gone(seat: WorkerSlot, child: ClusterWorker, how: string): void {
    if (seat.process !== child) return
    const readyForMs = seat.readyAt === null ? null : performance.now() - seat.readyAt
    seat.process = null
    seat.readyAt = null
    if (seat.journal !== null) this.#accounting?.workerDied(seat.journal)
    seat.journal = null
    this.#lab?.workerDied(seat.index)
    if (this.#leaving) {
      this.#exitWhenEmpty()
      return
    }
    const decision = this.#policy.decideRestart(readyForMs)
    this.#ports.log.error({ worker: seat.index, how, readyForMs, decision }, 'a worker died')
    if (decision.restart) setTimeout(() => this.#refork(seat), decision.afterMs)
    else {
      this.#ports.log.fatal({ reason: decision.reason }, 'giving up')
      this.#ports.complain(decision.reason)
      this.#leave(1)
    }
  }

  #refork(seat: WorkerSlot): void {
    if (!this.#leaving) this.#fork(seat)
  }
}

function sendToWorker(child: ClusterWorker, message: MessageToWorker): void {
  // A child that has just died takes nothing; its exit event follows.
  if (child.isConnected()) child.send(message, () => {})
}
