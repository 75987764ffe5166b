import { type OperationSeriesSnapshot, STEP_MS, type WorkerSeriesSnapshot } from '../worker-snapshots.js'

type Growable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }
type GrowableOperationSeries = Growable<OperationSeriesSnapshot>
interface GrowableWorkerSeries extends Growable<Omit<WorkerSeriesSnapshot, 'operations'>> {
  readonly operations: Record<string, GrowableOperationSeries>
}

/** The series of one run as far as the workers have told it, each worker's as one part that grows. */
export class SeriesStore {
  readonly #first: number
  readonly #parts = new Map<number, GrowableWorkerSeries>()

  /** @param fromMs begin of the run on the shared clock */
  constructor(fromMs: number) {
    this.#first = Math.floor(fromMs / STEP_MS)
  }

  /** Number of the first step that is not known of a worker. */
  nextStep(worker: number): number {
    const part = this.#parts.get(worker)
    return part === undefined ? this.#first : part.first + part.connections.length
  }

  parts(): readonly WorkerSeriesSnapshot[] {
    return [...this.#parts.values()]
  }

  /** Steps that are known of all workers: before this number. */
  completeSteps(): number {
    return Math.min(...[...this.#parts.keys()].map((worker) => this.nextStep(worker)))
  }

  /** Takes the next steps of a worker; what it does not know (it was not alive) counts as empty. */
  append(told: WorkerSeriesSnapshot): void {
    const part = this.#partOf(told.worker)
    const missing = told.first - this.nextStep(told.worker)
    if (missing < 0) return
    const length = part.connections.length + missing
    for (const list of [part.inFlightMax, part.connections, part.lagMax, part.cpuShare])
      padTo(list, length, 0)
    part.inFlightMax.push(...told.inFlightMax)
    part.connections.push(...told.connections)
    part.lagMax.push(...told.lagMax)
    part.cpuShare.push(...told.cpuShare)
    for (const [name, steps] of Object.entries(told.operations)) {
      appendSteps((part.operations[name] ??= emptyOperationSeries()), steps, length)
    }
  }

  #partOf(worker: number): GrowableWorkerSeries {
    let part = this.#parts.get(worker)
    if (part === undefined) {
      part = {
        worker,
        first: this.#first,
        inFlightMax: [],
        connections: [],
        lagMax: [],
        cpuShare: [],
        operations: {},
      }
      this.#parts.set(worker, part)
    }
    return part
  }
}

const emptyOperationSeries = (): GrowableOperationSeries => ({
  arrivals: [],
  completions: [],
  errors: [],
  inFlightMax: [],
  histograms: [],
})

function appendSteps(
  operation: GrowableOperationSeries,
  steps: OperationSeriesSnapshot,
  length: number,
): void {
  for (const name of ['arrivals', 'completions', 'errors', 'inFlightMax'] as const) {
    padTo(operation[name], length, 0)
    operation[name].push(...steps[name])
  }
  padTo(operation.histograms, length, [])
  operation.histograms.push(...steps.histograms)
}

function padTo<T>(list: T[], length: number, filling: T): void {
  while (list.length < length) list.push(filling)
}
