/** The lab's side of the supervisor: the control listener, and the way from it to the workers. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { fileURLToPath } from 'node:url'
import { operationNames } from '../app.js'
import { parseHostPort } from '../base/host-port.js'
import { readMachineCpuMs } from '../base/machine-cpu.js'
import { VERSION } from '../base/version.js'
import type { Config } from '../config/config.js'
import { serveLab } from '../lab/control/server.js'
import { measureMonotonicOffset, processCpuMs } from '../lab/lab-clock.js'
import type { LabCommand, LabCommandResult, WorkerFleet } from '../lab/lab-command.js'
import type { RunSummary } from '../lab/run-summary.js'
import type { WorkerSnapshot } from '../telemetry/counters/worker-stats.js'
import { FanOut } from './ipc/fan-out.js'
import type { MessageToWorker } from './ipc/messages.js'

interface LabWorkers {
  /** Workers that serve. */
  readonly readyWorkers: () => readonly number[]
  readonly sendToWorker: (worker: number, message: MessageToWorker) => void
}

interface LabSupervisorPorts extends LabWorkers {
  readonly snapshots: (deadlineMs: number) => Promise<readonly WorkerSnapshot[]>
  readonly workers: number
  readonly poolThreads: number
  /** URL of the server. */
  readonly target: string
}

/** The lab of a process group that runs. */
export interface LabSupervisor {
  /** For standard output. */
  readonly announcement: string
  /** A worker has answered the command with this id. */
  onResult(worker: number, id: number, result: LabCommandResult): void
  workerDied(worker: number): void
  workerJoined(worker: number): void
  close(): void
}

/** Null when the lab is switched off. Rejects when its address cannot be bound. */
export async function startLab(config: Config, ports: LabSupervisorPorts): Promise<LabSupervisor | null> {
  const place = parseHostPort(config.lab)
  if (place === null) return null
  const { host, port } = place
  const fanOut = new FanOut<LabCommandResult>()
  const offset = measureMonotonicOffset()
  const server = await serveLab(host, port, {
    fleet: createLabFleet(ports, fanOut),
    now: () => performance.now() + offset,
    machineCpuMs,
    environment: describeEnvironment(config, ports),
    open: config.labOpen,
    faults: config.labFaults,
    operations: operationNames(),
    snapshots: ports.snapshots,
    target: ports.target,
  })
  const url = `http://${server.host.includes(':') ? `[${server.host}]` : server.host}:${server.port}/lab`
  return {
    announcement: `sluice lab on ${url} (faults: ${config.labFaults ? 'on' : 'off'})`,
    onResult: (worker: number, id: number, result: LabCommandResult) => fanOut.receive(worker, id, result),
    workerDied: (worker: number): void => {
      fanOut.workerDied(worker)
      server.onWorkerDied(worker)
    },
    workerJoined: (worker: number) => server.onWorkerJoined(worker),
    close: () => server.close(),
  }
}

/** Of all programs but this one. */
function machineCpuMs(): number | null {
  const all = readMachineCpuMs()
  return all === null ? null : all - processCpuMs()
}

/** A question with a shorter deadline is for a glance: it does not wait for a worker that is silent. */
const PATIENCE_MS = 1_000

/**
 * The workers as the lab asks them. One that owes an answer is not asked for another look until it has given it, so
 * that questions do not pile up in front of it.
 */
export function createLabFleet(
  { readyWorkers, sendToWorker }: LabWorkers,
  fanOut: FanOut<LabCommandResult>,
): WorkerFleet {
  return {
    workers: readyWorkers,
    ask: (question, deadlineMs) => {
      const commands = new Map<number, LabCommand>()
      const awaited: number[] = []
      for (const worker of readyWorkers()) {
        const command = typeof question === 'function' ? question(worker) : question
        if (command === null) continue
        const waits = deadlineMs >= PATIENCE_MS || !fanOut.isSilent(worker)
        if (waits) awaited.push(worker)
        else if (command.do === 'read-window' || command.do === 'read-series') continue
        commands.set(worker, command)
      }
      return fanOut.ask(awaited, deadlineMs, (id) => {
        for (const [worker, command] of commands) sendToWorker(worker, { type: 'lab-command', id, command })
      })
    },
  }
}

function describeEnvironment(config: Config, ports: LabSupervisorPorts): RunSummary['environment'] {
  const [cpu] = cpus()
  return {
    sluice: VERSION,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    kernel: release(),
    cpu: cpu?.model ?? 'unknown',
    cores: cpus().length,
    affinity: cpuAffinity(),
    revision: gitRevision(),
    workers: ports.workers,
    poolThreads: ports.poolThreads,
    faults: config.labFaults,
    reportDelays: config.reportDelays,
    maxInFlight: config.maxInFlight,
    tls: config.tlsKey !== '',
  }
}

/** Cores that this process may use; Linux only. */
function cpuAffinity(): string {
  try {
    return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 'unknown'
  } catch {
    return 'unknown'
  }
}

/** Of a checkout; a package has its version only. */
function gitRevision(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: fileURLToPath(new URL('./', import.meta.url)),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 1_000,
    }).trim()
  } catch {
    return 'unknown'
  }
}
