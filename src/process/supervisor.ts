/**
 * The primary process: proves the port free, starts the workers, gathers their snapshots, and turns signals into a
 * drain. It keeps the limits that workers share and writes the ledger; calls of the API are served by workers alone.
 */
import { systemClock } from '../base/clock.js'
import { listeningUrl } from '../base/host-port.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import { type MetricsServer, serveMetrics } from '../telemetry/prometheus/metrics-server.js'
import { usableCores } from './cgroup.js'
import { ConfigRollout } from './config-rollout.js'
import { takeDataFolder } from './data-folder.js'
import { connectionBudget } from './descriptors.js'
import { FleetLink } from './fleet-link.js'
import type { ForkedWorker, WorkerChild } from './forked-worker.js'
import type { LedgerMessageToSupervisor, MessageToSupervisor } from './ipc/messages.js'
import type { LabSupervisor } from './lab-supervisor.js'
import { LedgerCoordinator } from './ledger-coordinator.js'
import { LiveLink } from './live-link.js'
import { openFilesLimit } from './open-files.js'
import { probePorts } from './port-probe.js'
import { readyLines } from './ready-lines.js'
import { poolThreadsFor, workersFor } from './topology.js'
import { sendToProcess, type WorkerSlot, WorkerSlots } from './worker-slots.js'
import { WorkerSnapshots } from './worker-snapshots.js'

/** What a worker gets beyond the drain deadline before it is ended by force. */
const FORCE_AFTER_MS = 2_000
/** How long the ledger gets to take what the workers have left. */
const CLOSE_MS = 5_000
/** How long who asks for a reload waits for the workers; later the answer says which of them have it. */
const ARRIVE_MS = 3_000

/**
 * One press of Ctrl-C reaches a process twice when its parent (npm, timeout) passes on what the terminal has sent
 * to the whole group already. Two signals this close are one.
 */
const SAME_SIGNAL_MS = 300

interface SupervisorPorts {
  readonly log: Log
  /** Writes lines on standard output: keys made on the first start, and then that the server listens. */
  readonly announce: (line: string) => void
  /** Says to a person why the server gives up, whatever the log level. */
  readonly complain: (sentence: string) => void
  /** Reads the configuration again. Rejects with `InvalidConfigError`. */
  readonly reread: () => Promise<Config>
  /** Ends the process. */
  readonly exit: (code: number) => void
}

type MessageHandlers = {
  readonly [T in MessageToSupervisor['type']]: (
    slot: WorkerSlot,
    message: MessageToSupervisor & { readonly type: T },
    child: WorkerChild,
  ) => void
}

export class Supervisor {
  readonly #ports: SupervisorPorts
  readonly #slots: WorkerSlots
  readonly #rollout: ConfigRollout
  readonly #poolThreads: number
  /** Most connections of a worker. */
  #maxConnections = 0
  readonly #snapshots: WorkerSnapshots
  readonly #live: LiveLink
  readonly #fleet: FleetLink
  /** Null before the start. */
  #ledger: LedgerCoordinator | null = null
  #metrics: MetricsServer | null = null
  #lab: LabSupervisor | null = null
  #port = 0
  /** Resolves when workers may open the store: it is sound, and what was spent is known. */
  readonly #opened: Promise<void>
  #setOpened: () => void = () => {}
  /** Whether an earlier start has made a store, and with it the first keys. */
  #hadStore = false
  #announced = false
  #leaving = false
  #signalledAt = Number.NEGATIVE_INFINITY
  #exitCode = 0

  readonly #handlers: MessageHandlers

  constructor(config: Config, ports: SupervisorPorts) {
    this.#ports = ports
    this.#opened = new Promise((resolve) => {
      this.#setOpened = resolve
    })
    const { log, reread } = ports
    const cores = usableCores()
    const workers = config.workers === 'auto' ? workersFor(cores) : config.workers
    this.#poolThreads = config.poolThreads === 'auto' ? poolThreadsFor(cores, workers) : config.poolThreads
    this.#slots = new WorkerSlots(workers, {
      log,
      silenceMs: config.workerSilenceMs,
      onMessage: (slot, child, message) => this.#onMessage(slot, child, message),
      onExit: (slot) => this.#onWorkerExit(slot),
      onGiveUp: (reason) => {
        log.fatal({ reason }, 'giving up')
        this.#giveUp(reason)
      },
      onEmpty: () => void this.#end(),
    })
    this.#fleet = new FleetLink({
      ...{ log, announce: ports.announce, slots: this.#slots },
      onRefused: (sentence) => this.#giveUp(sentence, 2),
      journalBytes: () => this.#ledger?.backlogBytes() ?? 0,
      isLeaving: () => this.#leaving,
    })
    this.#snapshots = new WorkerSnapshots(this.#slots, () => this.#fleet.machine?.figures() ?? null)
    this.#rollout = new ConfigRollout(config, {
      ...{ log, workers, reread, clock: systemClock, sendToWorker: this.#slots.send },
    })
    this.#live = new LiveLink(this.#slots)
    const toLedger = (slot: WorkerSlot, message: LedgerMessageToSupervisor, child: WorkerChild): void => {
      if (slot.journal !== null && slot.process === child) this.#ledger?.onMessage(slot.journal, message)
    }
    this.#handlers = {
      'worker-up': (slot, _message, child) => void this.#startWorker(slot, child),
      // The slots have heard it.
      heartbeat: () => {},
      'worker-ready': (slot) => this.#onWorkerReady(slot),
      'start-failure': (_slot, { reason, exitCode }) => this.#onStartFailure(reason, exitCode),
      'bootstrap-key': (_slot, { kind, key }) =>
        ports.announce(`sluice made a ${kind} key, shown only now: ${key}`),
      'configuration-applied': ({ index }, { generation, version }) =>
        this.#rollout.workerApplied(index, generation, version),
      'configuration-request': (_slot, message, child) => void this.#tellConfiguration(message, child),
      'lab-result': ({ index }, { id, result }) => this.#lab?.onResult(index, id, result),
      'routing-update': ({ index: from }, { update }) => {
        for (const worker of this.#slots.readyWorkers()) {
          if (worker !== from) this.#slots.send(worker, { type: 'routing-update', from, update })
        }
        this.#fleet.tellRouting(update)
      },
      snapshot: ({ index }, { id, snapshot }) => this.#snapshots.receive(index, id, snapshot),
      'all-snapshots-request': (_slot, { id }, child) =>
        void this.#snapshots
          .share()
          .then((snapshots) => sendToProcess(child, { type: 'all-snapshots', id, snapshots })),
      'enter-live': this.#live.onMessage,
      'leave-live': this.#live.onMessage,
      'live-report': this.#live.onMessage,
      'pass-barrier': (_slot, message, child) => void this.#fleet.passBarrier(message, child),
      'acquire-quota': toLedger,
      'release-quota': toLedger,
      'quota-overdraft': toLedger,
      'sync-ledger': toLedger,
    }
  }

  /**
   * Starts everything. Workers come up meanwhile, `first` among them. Rejects when the port is taken or the metrics
   * address cannot be bound.
   */
  async start(first: ForkedWorker): Promise<void> {
    await this.#open(first).catch((error) => {
      first.kill()
      this.#slots.killAll()
      throw error
    })
  }

  async #open(first: ForkedWorker): Promise<void> {
    const { config } = this.#rollout
    const limit = openFilesLimit()
    this.#maxConnections = connectionBudget(
      config.maxConnections,
      limit,
      this.#slots.count,
      this.#poolThreads,
    )
    this.#slots.start(first)
    this.#port = await probePorts(config)
    const { hadStore } = await takeDataFolder(config.dataDir, this.#ports.log)
    this.#hadStore = hadStore
    if (this.#leaving) return
    if (config.databaseUrl !== '') await this.#fleet.join(config)
    if (this.#leaving) return
    // The ledger must be open before workers admit calls: their limits depend on what has been spent.
    await this.#openLedger()
    if (this.#leaving) return
    this.#metrics = await serveMetrics(config.metrics, () => this.#snapshots.share())
    if (config.lab !== 'off') await this.#startLab(config)
    this.#setOpened()
  }

  /** First signal: drain, then exit 0. Second signal: end at once with exit code 1. */
  signal(name: string): void {
    const now = performance.now()
    const { log } = this.#ports
    if (this.#leaving) {
      if (now - this.#signalledAt < SAME_SIGNAL_MS) return
      log.warn({ signal: name }, 'second signal: ending at once')
      this.#slots.killAll()
      void this.#endNow()
      return
    }
    this.#signalledAt = now
    log.info({ signal: name, deadlineMs: this.#rollout.config.drainDeadlineMs }, 'draining')
    this.#leave(0)
  }

  /** See `ConfigRollout.reload`. */
  reload(): void {
    if (!this.#leaving) void this.#rollout.reload()
  }

  /** A reload is told with what came of it, whoever else has asked for another one since. */
  async #tellConfiguration(
    { id, reload }: MessageToSupervisor & { readonly type: 'configuration-request' },
    child: WorkerChild,
  ): Promise<void> {
    if (this.#leaving) return
    const attempt = reload ? await this.#rollout.reload() : null
    if (attempt?.faults.length === 0) await this.#rollout.whenArrived(ARRIVE_MS)
    const report = this.#rollout.report()
    const told = attempt === null ? report : { ...report, lastReload: attempt }
    sendToProcess(child, { type: 'configuration-report', id, report: told })
  }

  async #startLab(config: Config): Promise<void> {
    // It knows every operation, which most starts need not.
    const { startLab } = await import('./lab-supervisor.js')
    this.#lab = await startLab(config, {
      readyWorkers: () => this.#slots.readyWorkers(),
      sendToWorker: this.#slots.send,
      snapshots: (deadlineMs) => this.#snapshots.gather(deadlineMs),
      workers: this.#slots.count,
      poolThreads: this.#poolThreads,
      target: listeningUrl(config, this.#port),
    })
  }

  async #openLedger(): Promise<void> {
    try {
      const { config } = this.#rollout
      this.#ledger = new LedgerCoordinator(config, systemClock, this.#ports.log, this.#fleet.machine)
      await this.#ledger.start()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#ports.log.fatal({ reason }, 'the ledger cannot be opened')
      throw error
    }
  }

  #onMessage(slot: WorkerSlot, child: WorkerChild, message: MessageToSupervisor): void {
    // The table has a handler of just this kind of message for every kind.
    const handle: (slot: WorkerSlot, message: never, child: WorkerChild) => void =
      this.#handlers[message.type]
    handle(slot, message as never, child)
  }

  async #startWorker(slot: WorkerSlot, child: WorkerChild): Promise<void> {
    if (!this.#leaving) await this.#opened
    if (this.#leaving) {
      sendToProcess(child, { type: 'drain-worker' })
      return
    }
    if (slot.process !== child) return
    const { index } = slot
    this.#slots.expectWord(slot)
    this.#rollout.workerStarted(index)
    slot.journal = this.#ledger!.registerWorker(child.process.pid!, index, (message) =>
      sendToProcess(child, message),
    )
    sendToProcess(child, {
      type: 'start-worker',
      journal: slot.journal,
      config: this.#rollout.config,
      worker: index,
      workers: this.#slots.count,
      port: this.#port,
      poolThreads: this.#poolThreads,
      maxConnections: this.#maxConnections,
      fleet: this.#fleet.machine?.start ?? null,
    })
  }

  #onWorkerReady(slot: WorkerSlot): void {
    if (this.#slots.markReady(slot) && !this.#announced) this.#announce()
    this.#lab?.workerJoined(slot.index)
    this.#rollout.workerReady(slot.index)
  }

  #announce(): void {
    this.#announced = true
    if (this.#lab !== null) this.#ports.announce(this.#lab.announcement)
    const { config } = this.#rollout
    const url = listeningUrl(config, this.#port)
    const founder = this.#fleet.machine?.isFounder
    const hadStore = founder === undefined ? this.#hadStore : !founder
    const { count: workers } = this.#slots
    this.#ports.announce(readyLines({ url, workers, poolThreads: this.#poolThreads, hadStore, config }))
  }

  /** A worker found a reason that a restart does not cure; while starting, that ends the start. */
  #onStartFailure(reason: string, exitCode: number): void {
    this.#ports.log.fatal({ reason }, 'a worker cannot start')
    if (!this.#announced && !this.#leaving) this.#giveUp(reason, exitCode)
  }

  #giveUp(reason: string, exitCode = 1): void {
    this.#ports.complain(reason)
    this.#leave(exitCode)
  }

  #onWorkerExit({ index, journal }: WorkerSlot): void {
    if (journal !== null) this.#ledger?.workerDied(journal)
    this.#lab?.workerDied(index)
    this.#snapshots.workerDied(index)
    this.#live.workerDied(index)
    this.#rollout.workerDied(index)
  }

  #leave(code: number): void {
    this.#leaving = true
    this.#exitCode = code
    this.#metrics?.close()
    this.#lab?.close()
    this.#live.close()
    const { drainDeadlineMs } = this.#rollout.config
    setTimeout(() => this.#force(), drainDeadlineMs + FORCE_AFTER_MS).unref()
    this.#slots.drain()
  }

  /** A worker that did not leave by itself may have left something undone: that is no clean end. */
  #force(): void {
    this.#ports.log.warn('workers did not leave in time: ending them')
    this.#exitCode = 1
    this.#slots.killAll()
  }

  /** What the ledger does not take now, it takes at the next start. */
  async #end(): Promise<void> {
    const late = new Promise((resolve) => setTimeout(resolve, CLOSE_MS))
    await Promise.race([this.#ledger?.close().catch(() => {}), late])
    await this.#ledger?.whenIdle()
    await this.#fleet.leave()
    this.#ports.exit(this.#exitCode)
  }

  async #endNow(): Promise<void> {
    await this.#ledger?.whenIdle()
    this.#ports.exit(1)
  }
}
