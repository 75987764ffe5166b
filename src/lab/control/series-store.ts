import { type OperationSeriesPart, type SeriesPart, STEP_MS } from '../wire.js'

type Growing<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }
type GrowingOperation = Growing<OperationSeriesPart>
interface GrowingPart extends Growing<Omit<SeriesPart, 'operations'>> {
  readonly operations: Record<string, GrowingOperation>
}

/** The series of one run as far as the workers have told it, each worker's as one part that grows. */
export class SeriesStore {
  readonly #first: number
  readonly #parts = new Map<number, GrowingPart>()

  /** @param fromMs begin of the run on the shared clock */
  constructor(fromMs: number) {
    this.#first = Math.floor(fromMs / STEP_MS)
  }

  /** Number of the first step that is not known of a worker. */
  next(worker: number): number {
    const part = this.#parts.get(worker)
    return part === undefined ? this.#first : part.first + part.connections.length
  }

  parts(): readonly SeriesPart[] {
    return [...this.#parts.values()]
  }

  /** Steps that are known of all workers: before this number. */
  complete(): number {
    return Math.min(...[...this.#parts.keys()].map((worker) => this.next(worker)))
  }

  /** Takes the next steps of a worker; what it does not know (it was not alive) counts as empty. */
  take(told: SeriesPart): void {
    const part = this.#partOf(told.worker)
    const missing = told.first - this.next(told.worker)
    if (missing < 0) return
    const length = part.connections.length + missing
    for (const list of [part.inFlightMax, part.connections, part.lagMax, part.cpuShare]) pad(list, length, 0)
    part.inFlightMax.push(...told.inFlightMax)
    part.connections.push(...told.connections)
    part.lagMax.push(...told.lagMax)
    part.cpuShare.push(...told.cpuShare)
    for (const [name, steps] of Object.entries(told.operations)) {
      extend((part.operations[name] ??= NEW()), steps, length)
    }
  }

  #partOf(worker: number): GrowingPart {
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

const NEW = (): GrowingOperation => ({
  arrivals: [],
  completions: [],
  errors: [],
  inFlightMax: [],
  histograms: [],
})

function extend(operation: GrowingOperation, steps: OperationSeriesPart, length: number): void {
  for (const name of ['arrivals', 'completions', 'errors', 'inFlightMax'] as const) {
    pad(operation[name], length, 0)
    operation[name].push(...steps[name])
  }
  pad(operation.histograms, length, [])
  operation.histograms.push(...steps.histograms)
}

function pad<T>(list: T[], length: number, filling: T): void {
  while (list.length < length) list.push(filling)
}
