/** What all workers count, gathered. */
import type { FleetFigures, MetricsSnapshot } from '../telemetry/counters/fleet-figures.js'
import type { WorkerSnapshot } from '../telemetry/counters/worker-stats.js'
import { FanOut } from './ipc/fan-out.js'
import type { WorkerSlots } from './worker-slots.js'

/** A worker that is blocked, or a database that is slow, must not hold up the metrics of the others. */
const SNAPSHOT_MS = 1_000

export class WorkerSnapshots {
  readonly #slots: Pick<WorkerSlots, 'readyWorkers' | 'send'>
  readonly #rounds = new FanOut<WorkerSnapshot>()
  /** A round for metrics that is under way. */
  #shared: Promise<MetricsSnapshot> | null = null
  readonly #fleet: () => Promise<FleetFigures> | null

  /** @param fleet null on a machine that stands alone */
  constructor(slots: Pick<WorkerSlots, 'readyWorkers' | 'send'>, fleet: () => Promise<FleetFigures> | null) {
    this.#slots = slots
    this.#fleet = fleet
  }

  /** Callers that ask while a round is under way share it: scrapers cannot multiply the work of the workers. */
  share(): Promise<MetricsSnapshot> {
    this.#shared ??= this.#gatherAll().finally(() => {
      this.#shared = null
    })
    return this.#shared
  }

  async #gatherAll(): Promise<MetricsSnapshot> {
    const late = new Promise<null>((resolve) => setTimeout(resolve, SNAPSHOT_MS, null).unref())
    const figures = Promise.race([this.#fleet(), late])
    const workers = await this.gather(SNAPSHOT_MS)
    return { workers, fleet: await figures }
  }

  async gather(deadlineMs: number): Promise<readonly WorkerSnapshot[]> {
    const workers = this.#slots.readyWorkers()
    const replies = await this.#rounds.ask(workers, deadlineMs, (id) => {
      for (const worker of workers) this.#slots.send(worker, { type: 'snapshot-request', id })
    })
    return replies.map(({ answer }) => answer)
  }

  receive(worker: number, id: number, snapshot: WorkerSnapshot): void {
    this.#rounds.receive(worker, id, snapshot)
  }

  workerDied(worker: number): void {
    this.#rounds.workerDied(worker)
  }
}
