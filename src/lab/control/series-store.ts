import {
  OPERATION_STEP_COLUMNS,
  type OperationSeriesSnapshot,
  STEP_MS,
  WORKER_STEP_COLUMNS,
  type WorkerSeriesSnapshot,
} from '../worker-snapshots.js'

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

  /** Steps that are known of these workers, also of one that has told nothing yet, and of all that have: before this. */
  completeSteps(workers: readonly number[]): number {
    return Math.min(...[...this.#parts.keys(), ...workers].map((worker) => this.nextStep(worker)))
  }

  /** Takes the next steps of a worker; what it does not know (it was not alive) counts as empty. */
  append(steps: WorkerSeriesSnapshot): void {
    const missing = steps.first - this.nextStep(steps.worker)
    if (missing < 0) return
    const part = this.#partOf(steps.worker)
    const length = part.connections.length + missing
    for (const column of WORKER_STEP_COLUMNS) appendSteps(part[column], length, 0, steps[column])
    for (const [name, own] of Object.entries(steps.operations)) {
      const operation = (part.operations[name] ??= {
        ...emptyColumns(OPERATION_STEP_COLUMNS),
        histograms: [],
      })
      for (const column of OPERATION_STEP_COLUMNS) appendSteps(operation[column], length, 0, own[column])
      appendSteps(operation.histograms, length, [], own.histograms)
    }
  }

  #partOf(worker: number): GrowableWorkerSeries {
    let part = this.#parts.get(worker)
    if (part === undefined) {
      part = { worker, first: this.#first, ...emptyColumns(WORKER_STEP_COLUMNS), operations: {} }
      this.#parts.set(worker, part)
    }
    return part
  }
}

function emptyColumns<K extends string>(columns: readonly K[]): Record<K, number[]> {
  return Object.fromEntries(columns.map((column) => [column, []])) as unknown as Record<K, number[]>
}

/** Appends steps behind as many empty ones as it takes to reach a length. */
function appendSteps<T>(list: T[], length: number, empty: T, steps: readonly T[]): void {
  while (list.length < length) list.push(empty)
  list.push(...steps)
}
