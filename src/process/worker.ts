/** A worker process: one event loop, its pool, its store handle. Started by the supervisor, told over IPC. */

import cluster from 'node:cluster'
import { createTrustedProxies } from '../base/caller-address.js'
import { systemClock } from '../base/clock.js'
import type { ConfigurationReport } from '../base/configuration-report.js'
import { Fault } from '../base/fault.js'
import { listeningUrl, parseHostPort } from '../base/host-port.js'
import { createLog, type Log } from '../base/log.js'
import { PendingReplies } from '../base/pending-replies.js'
import { openStore } from '../compose/store.js'
import { type ComposedWorker, composeWorker } from '../compose/worker.js'
import type { WorkerStore } from '../compose/worker-store.js'
import type { Config } from '../config/config.js'
import { bootstrapAccounts } from '../identity/bootstrap.js'
import type { MetricsSnapshot } from '../telemetry/counters/fleet-figures.js'
import { loadNativeServer, type NativeServer, NativeServerUnavailable } from '../transport/native-server.js'
import { asOneServer, serveUws, type UwsServer } from '../transport/uws.js'
import type { MessageToSupervisor, MessageToWorker } from './ipc/messages.js'
import { seedItems } from './seed.js'
import { keepNewFilesPrivate } from './store-privacy.js'
import { heartbeatPeriodMs } from './worker-watch.js'

/** How long idle kept-alive connections get to be told, once nothing is in flight any more. */
const IDLE_GRACE_MS = 1_000
/** Without a supervisor nobody restarts or stops us: what is in flight gets this long. */
const ORPHAN_DEADLINE_MS = 1_000
const POLL_MS = 20
/** How long threads and files get to be released. */
const CLOSE_MS = 1_000
/** Of the connections of a worker, those at an address of the console's own. */
const CONSOLE_SHARE = 0.1
const SNAPSHOTS_MS = 2_000
/** A file of 16 MiB takes seconds to read, and workers a moment to take what stands in it. */
const CONFIGURATION_MS = 20_000

/** False when there is no supervisor. */
function sendToSupervisor(message: MessageToSupervisor): boolean {
  if (process.connected) process.send!(message)
  return process.connected
}

type StartMessage = MessageToWorker & { readonly type: 'start-worker' }

class WorkerProcess {
  readonly #log: Log
  readonly #config: Config
  readonly #native: NativeServer
  readonly #snapshotReplies = new PendingReplies<MetricsSnapshot>(systemClock)
  readonly #configurationReplies = new PendingReplies<ConfigurationReport>(systemClock)
  readonly #composed: ComposedWorker
  readonly #maxConnections: number
  #server: UwsServer | null = null
  #leaving = false

  constructor(start: StartMessage, native: NativeServer, log: Log, opened: WorkerStore) {
    this.#native = native
    this.#config = start.config
    this.#maxConnections = start.maxConnections
    this.#log = log
    // Nothing after an uncaught error can be trusted: say it in the log, and let the supervisor start afresh.
    process.on('uncaughtException', (err) => {
      this.#log.fatal({ err }, 'uncaught error')
      process.exit(1)
    })
    this.#composed = composeWorker({
      config: start.config,
      worker: start.worker,
      poolThreads: start.poolThreads,
      log,
      opened,
      collect: () => this.#allSnapshots(),
      configuration: (reload) => this.#askConfiguration(reload),
      connections: () => this.#server?.connections() ?? 0,
      listeningUrl: listeningUrl(start.config, start.port),
      journal: start.journal,
      sendToSupervisor,
      broadcast:
        start.workers > 1 || start.fleet !== null
          ? (update) => sendToSupervisor({ type: 'routing-update', update })
          : null,
    })
  }

  /** For the end of the process, however it comes: an exit in the middle of a change would wait for ever. */
  killIfWriting(): void {
    this.#composed.accounting.flush()
    if (this.#composed.store.isWriting()) process.kill(process.pid, 'SIGKILL')
  }

  /** @param first whether this worker does what has to be done once: the first accounts, the seed */
  async listen(port: number, first: boolean): Promise<void> {
    const { seedItems: count } = this.#config
    if (first) {
      const { name, version } = this.#native.build
      this.#log.info({ build: name, version, node: process.version }, 'native server')
      await this.#bootstrapAccounts()
      await this.#sweepFiles()
      await seedItems(this.#composed.store.items, count, this.#log, systemClock, () => this.#leaving)
    }
    await this.#composed.start()
    if (this.#leaving) return
    this.#server = await this.#serve(port)
    const { board } = this.#composed.lab
    const server = this.#server
    if (board !== null)
      board.listener = { pause: () => server.stopListening(), resume: () => server.reopen() }
    sendToSupervisor({ type: 'worker-ready' })
  }

  /** The API, and the console beside it or at an address of its own, where the API is served as well. */
  async #serve(port: number): Promise<UwsServer> {
    const { host, consoleListen } = this.#config
    const { routes, apiRoutes } = this.#composed
    const own = parseHostPort(consoleListen)
    if (own === null) return this.#serveAt(routes, { host, port }, this.#maxConnections)
    const ofConsole = Math.ceil(this.#maxConnections * CONSOLE_SHARE)
    return asOneServer(
      await this.#serveAt(apiRoutes, { host, port }, this.#maxConnections - ofConsole),
      await this.#serveAt(routes, own, ofConsole),
    )
  }

  #serveAt(
    routes: ComposedWorker['routes'],
    place: { readonly host: string; readonly port: number },
    maxConnections: number,
  ): Promise<UwsServer> {
    const { tlsKey, tlsCert, allowChunked, trustedProxies } = this.#config
    return serveUws(this.#native, routes, {
      ...place,
      tls: tlsKey === '' ? null : { keyFile: tlsKey, certFile: tlsCert },
      strictProxy: allowChunked,
      trusted: createTrustedProxies(trustedProxies),
      maxConnections,
      onRefusedConnections: (count) =>
        this.#log.warn(
          { count, open: this.#server?.connections(), most: maxConnections },
          'closed new connections: there are too many',
        ),
      onConnection: (change) => this.#composed.lab.recorder.recordConnection(change),
      onDefect: (err) => this.#log.error({ err }, 'a defect reached the edge; the call was cut'),
    })
  }

  /** What a crash or a replaced database has left of files. That it cannot be done is no reason not to serve. */
  async #sweepFiles(): Promise<void> {
    const log = this.#log
    try {
      const { removed, setAside, putBack, asideFolder } = await this.#composed.store.files.sweep()
      if (removed > 0) log.warn({ removed }, 'removed uploads that a crash had left unfinished')
      if (setAside > 0)
        log.warn({ setAside, folder: asideFolder }, 'set aside files that the database does not know')
      if (putBack > 0)
        log.warn({ putBack, folder: asideFolder }, 'put back files that the database knows again')
    } catch (err) {
      log.warn({ err }, 'could not look for unfinished files')
    }
  }

  /** Generated keys are shown by the supervisor, whose standard output is the server's. */
  async #bootstrapAccounts(): Promise<void> {
    const { apiKey, managementKey } = this.#config
    const bootstrap = await bootstrapAccounts(this.#composed.store.accounts, systemClock, {
      apiKey,
      managementKey,
    })
    const { withdrawn } = bootstrap
    if (withdrawn.length > 0)
      this.#log.warn({ keys: withdrawn }, 'disabled keys that their setting named before and no longer names')
    for (const hint of bootstrap.hints) this.#log.warn({ hint }, 'a chosen key does not work')
    if (bootstrap.apiKey !== null)
      sendToSupervisor({ type: 'bootstrap-key', kind: 'workspace', key: bootstrap.apiKey })
    if (bootstrap.managementKey !== null)
      sendToSupervisor({ type: 'bootstrap-key', kind: 'management', key: bootstrap.managementKey })
  }

  onMessage(message: MessageToWorker): void {
    switch (message.type) {
      case 'drain-worker':
        void this.drainAndExit(this.#config.drainDeadlineMs)
        break
      case 'configuration':
        this.#configure(message)
        break
      case 'routing-update':
        this.#composed.applyPeerUpdate(message.from, message.update)
        break
      case 'lab-command': {
        const result = this.#composed.lab.answer(message.command, this.#log)
        if (result !== null) sendToSupervisor({ type: 'lab-result', id: message.id, result })
        break
      }
      case 'quota-grant':
      case 'quota-revocation':
      case 'ledger-synced':
        this.#composed.accounting.onMessage(message)
        break
      case 'standing':
      case 'barrier-passed':
        this.#composed.fleet?.onMessage(message)
        break
      case 'configuration-report':
        this.#configurationReplies.receive(message.id, message.report)
        break
      case 'watch-live':
      case 'rest-live':
      case 'live-entered':
      case 'live-frames':
        this.#composed.live.onMessage(message)
        break
      case 'all-snapshots':
        this.#snapshotReplies.receive(message.id, message.snapshots)
        break
      case 'snapshot-request':
        sendToSupervisor({ type: 'snapshot', id: message.id, snapshot: this.#composed.stats.snapshot() })
    }
  }

  /** Of all workers; a supervisor that does not answer leaves this one with its own. */
  #allSnapshots(): Promise<MetricsSnapshot> {
    return new Promise((resolve) => {
      const send = (id: number): boolean => sendToSupervisor({ type: 'all-snapshots-request', id })
      this.#snapshotReplies.ask(SNAPSHOTS_MS, send, (snapshots) =>
        resolve(snapshots ?? { workers: [this.#composed.stats.snapshot()], fleet: null }),
      )
    })
  }

  /** Null when the supervisor says nothing in time. */
  #askConfiguration(reload: boolean): Promise<ConfigurationReport | null> {
    return new Promise((resolve) => {
      const send = (id: number): boolean => sendToSupervisor({ type: 'configuration-request', id, reload })
      this.#configurationReplies.ask(CONFIGURATION_MS, send, resolve)
    })
  }

  /** Calls under way go on with what they began with. A configuration that cannot be taken leaves the old one. */
  #configure({ generation, gateway }: MessageToWorker & { type: 'configuration' }): void {
    try {
      this.#composed.configure(gateway)
      sendToSupervisor({ type: 'configuration-applied', generation, version: gateway.version })
    } catch (err) {
      this.#log.error({ err, generation }, 'the new configuration could not be taken: the old one goes on')
    }
  }

  /** Takes nothing new, finishes what is under way, says goodbye to idle connections, and ends the process. */
  async drainAndExit(deadlineMs: number): Promise<void> {
    if (this.#leaving) return
    this.#leaving = true
    const deadline = performance.now() + deadlineMs
    const server = this.#server
    this.#composed.drain()
    server?.drain()
    let quietSince = performance.now()
    while (server !== null && server.connections() > 0 && performance.now() < deadline) {
      const now = performance.now()
      if (server.inFlight() > 0) quietSince = now
      else if (now - quietSince >= IDLE_GRACE_MS) break
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
    server?.close()
    // A store whose disk is full never finishes its last flush; what it acknowledged is safe without it.
    await Promise.race([this.#composed.close(), new Promise((resolve) => setTimeout(resolve, CLOSE_MS))])
    process.exit(0)
  }
}

/** A fault names only its kind; what a person needs stands in its detail and its cause. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof Fault)) return error.message
  const { cause } = error
  return [error.message, error.detail, cause instanceof Error && cause.message].filter(Boolean).join(': ')
}

function reportStartFailure(error: unknown): void {
  const reason = describeError(error)
  const exitCode = error instanceof NativeServerUnavailable ? 2 : 1
  const message: MessageToSupervisor = { type: 'start-failure', reason, exitCode }
  // The process may only end when the message is on its way.
  if (process.connected) process.send!(message, () => process.exit(1))
  else process.exit(1)
}

/** Says that the loop turns, again and again. What a supervisor that stands still has not taken is not piled up. */
function beat(periodMs: number): void {
  if (!process.connected) return
  const message: MessageToSupervisor = { type: 'heartbeat' }
  process.send!(message, () => setTimeout(beat, periodMs, periodMs).unref())
}

let worker: WorkerProcess | null = null
/** What the supervisor said while the native server was being loaded and the store opened. */
const early: MessageToWorker[] = []

async function startWorker(message: StartMessage): Promise<void> {
  beat(heartbeatPeriodMs(message.config.workerSilenceMs))
  try {
    // Before anything is made or opened: a machine it does not fit is told so, and nothing else has happened.
    const native = await loadNativeServer(message.config.native)
    const { config, fleet } = message
    const log = createLog(config.logLevel, `worker-${message.worker}`)
    const opened = await openStore({ config, clock: systemClock, log, fleet, sendToSupervisor })
    worker = new WorkerProcess(message, native, log, opened)
    for (const one of early) worker.onMessage(one)
    await worker.listen(message.port, message.worker === 0)
  } catch (error) {
    reportStartFailure(error)
  }
}

keepNewFilesPrivate()
process.on('exit', () => worker?.killIfWriting())
process.on('message', (message: MessageToWorker) => {
  if (message.type === 'start-worker') void startWorker(message)
  else if (worker !== null) worker.onMessage(message)
  else if (message.type === 'drain-worker') process.exit(0)
  else early.push(message)
})
// The supervisor decides what an interrupt at the terminal means; a terminate meant for us alone is a drain.
process.on('SIGINT', () => {})
// Otherwise Node opens a port for a debugger, through which every key could be read.
process.on('SIGUSR1', () => {})
// A reload is the supervisor's business too, when the signal reaches the whole group.
process.on('SIGHUP', () => {})
process.on('SIGTERM', () =>
  worker === null ? process.exit(0) : void worker.onMessage({ type: 'drain-worker' }),
)
process.on('disconnect', () =>
  worker === null ? process.exit(1) : void worker.drainAndExit(ORPHAN_DEADLINE_MS),
)
// Otherwise node:cluster ends a worker in the moment its supervisor is gone, with everything in flight.
if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
// A supervisor that has just died takes no message: the end of its channel follows.
cluster.worker?.on('error', () => {})
sendToSupervisor({ type: 'worker-up' })
