/** The lab's side of the supervisor: the control listener, and the way from it to the workers. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { fileURLToPath } from 'node:url'
import { operationNames } from '../app.js'
import { parseHostPort } from '../base/host-port.js'
import { VERSION } from '../base/version.js'
import type { Config } from '../config/config.js'
import { type LabServer, serveLab } from '../lab/control/server.js'
import { measureMonotonicOffset } from '../lab/lab-clock.js'
import type { LabCommandResult } from '../lab/lab-command.js'
import type { RunSummary } from '../lab/run-summary.js'
import type { WorkerSnapshot } from '../telemetry/counters/worker-stats.js'
import type { LabFleet } from './lab-fleet.js'

/** Where `lab` or `--lab` without an address listens. */
const DEFAULT_ADDRESS = { host: '127.0.0.1', port: 8081 }

interface LabSupervisorPorts {
  readonly fleet: LabFleet
  readonly snapshots: (deadlineMs: number) => Promise<readonly WorkerSnapshot[]>
  readonly workers: number
  readonly poolThreads: number
}

export class LabSupervisor {
  readonly #fleet: LabFleet
  readonly #server: LabServer
  readonly #faults: boolean

  private constructor(fleet: LabFleet, server: LabServer, faults: boolean) {
    this.#fleet = fleet
    this.#server = server
    this.#faults = faults
  }

  /** Null when the lab is switched off. Rejects when its address cannot be bound. */
  static async start(config: Config, ports: LabSupervisorPorts): Promise<LabSupervisor | null> {
    if (config.lab === 'off') return null
    const { host, port } = parseHostPort(config.lab) ?? DEFAULT_ADDRESS
    const { fleet, snapshots } = ports
    const offset = measureMonotonicOffset()
    const server = await serveLab(host, port, {
      fleet,
      now: () => performance.now() + offset,
      environment: describeEnvironment(config, ports),
      open: config.labOpen,
      faults: config.labFaults,
      operations: operationNames(),
      snapshots,
    })
    return new LabSupervisor(fleet, server, config.labFaults)
  }

  /** For standard output. */
  get announcement(): string {
    const { host, port } = this.#server
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/lab`
    return `sluice lab on ${url} (faults: ${this.#faults ? 'on' : 'off'})`
  }

  onResult(worker: number, id: number, result: LabCommandResult): void {
    this.#fleet.onResult(worker, id, result)
  }

  workerDied(worker: number): void {
    this.#fleet.workerDied(worker)
    this.#server.onWorkerDied(worker)
  }

  workerJoined(worker: number): void {
    this.#server.onWorkerJoined(worker)
  }

  close(): void {
    this.#server.close()
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
