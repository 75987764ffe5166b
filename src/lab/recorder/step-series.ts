/** What happened in each step of the last ten minutes, in rings: of the whole worker, and of each operation. */
import { BUCKET_COUNT } from '../../base/histogram.js'
import {
  OPERATION_STEP_COLUMNS,
  type OperationSeriesSnapshot,
  STEP_MS,
  STEPS_KEPT,
  WORKER_STEP_COLUMNS,
  type WorkerSeriesSnapshot,
} from '../worker-snapshots.js'

/** The steps of a worker: number, slot in the rings, and what is measured over all operations. */
export class StepSeries {
  /** Most in flight in each step, over all operations. */
  readonly inFlightMax = new Uint32Array(STEPS_KEPT)
  readonly connections = new Uint32Array(STEPS_KEPT)
  readonly lagMax = new Float32Array(STEPS_KEPT)
  readonly cpuShare = new Float32Array(STEPS_KEPT)
  /** Slot of the step under way in all rings. */
  slot: number
  readonly #firstStep: number
  /** Number of the step under way, on the shared clock. */
  #step: number
  #cpuAtStep: number

  /** @param nowMs on the shared clock */
  constructor(nowMs: number, cpuMs: number) {
    this.#step = Math.floor(nowMs / STEP_MS)
    this.#firstStep = this.#step
    this.slot = this.#step % STEPS_KEPT
    this.#cpuAtStep = cpuMs
  }

  /** End of the step under way, milliseconds on the shared clock. */
  get endMs(): number {
    return (this.#step + 1) * STEP_MS
  }

  /** Opens the next step, in which so many calls and connections are there from before. */
  endStep(cpuMs: number, inFlight: number, connections: number): void {
    this.cpuShare[this.slot] = (cpuMs - this.#cpuAtStep) / STEP_MS
    this.#cpuAtStep = cpuMs
    this.#step++
    this.slot = this.#step % STEPS_KEPT
    this.inFlightMax[this.slot] = inFlight
    this.connections[this.slot] = connections
    this.lagMax[this.slot] = 0
  }

  /** Steps from number `first` on, as far as they are kept; those that are over only. At most `limit`. */
  snapshot(
    first: number,
    limit: number,
    operations: Iterable<{ readonly name: string; readonly series: OperationSeries | null }>,
  ): Omit<WorkerSeriesSnapshot, 'worker'> {
    const from = Math.max(first, this.#firstStep, this.#step - STEPS_KEPT + 1)
    const count = Math.max(0, Math.min(limit, this.#step - from))
    const slot = from % STEPS_KEPT
    const known = [...operations].flatMap(({ name, series }) => {
      return series === null ? [] : [[name, series.snapshot(slot, count)] as const]
    })
    return {
      first: from,
      ...sliceColumns(this, WORKER_STEP_COLUMNS, slot, count),
      operations: Object.fromEntries(known),
    }
  }
}

/** The series keep half the resolution of the windows: 32 buckets per octave, 3 %. */
const HALF_BUCKETS = BUCKET_COUNT / 2

/** Service times of a step are kept packed: the bucket in the upper 12 bits, the count in the lower 20. */
export class OperationSeries {
  readonly arrivals = new Uint32Array(STEPS_KEPT)
  readonly completions = new Uint32Array(STEPS_KEPT)
  readonly errors = new Uint32Array(STEPS_KEPT)
  readonly inFlightMax = new Uint32Array(STEPS_KEPT)
  readonly #histograms: (Uint32Array | null)[] = new Array(STEPS_KEPT).fill(null)
  readonly #counts = new Uint32Array(HALF_BUCKETS)
  #lowest = HALF_BUCKETS
  #highest = -1

  /** @param bucket as `Histogram.record` told it */
  recordService(bucket: number): void {
    const half = bucket >>> 1
    this.#counts[half]!++
    if (half < this.#lowest) this.#lowest = half
    if (half > this.#highest) this.#highest = half
  }

  /** Ends the step in `slot` and opens the next one, in which `inFlight` calls are under way from before. */
  endStep(slot: number, next: number, inFlight: number): void {
    this.#histograms[slot] = this.#packCounts()
    this.arrivals[next] = 0
    this.completions[next] = 0
    this.errors[next] = 0
    this.inFlightMax[next] = inFlight
    this.#histograms[next] = null
  }

  /** `count` steps from that of `slot` on. The step under way has no histogram yet. */
  snapshot(slot: number, count: number): OperationSeriesSnapshot {
    return {
      ...sliceColumns(this, OPERATION_STEP_COLUMNS, slot, count),
      histograms: sliceRing(this.#histograms, slot, count).map(unpackCounts),
    }
  }

  #packCounts(): Uint32Array | null {
    if (this.#highest < 0) return null
    const packed: number[] = []
    for (let half = this.#lowest; half <= this.#highest; half++) {
      const n = this.#counts[half]!
      if (n > 0) packed.push(half * 2 ** 20 + Math.min(n, 2 ** 20 - 1))
      this.#counts[half] = 0
    }
    this.#lowest = HALF_BUCKETS
    this.#highest = -1
    return Uint32Array.from(packed)
  }
}

function unpackCounts(packed: Uint32Array | null): number[] {
  return packed === null ? [] : Array.from(packed, (entry) => [entry >>> 20, entry & 0xf_ffff]).flat()
}

function sliceColumns<K extends string>(
  rings: Readonly<Record<K, ArrayLike<number>>>,
  columns: readonly K[],
  slot: number,
  count: number,
): Record<K, number[]> {
  const slices = columns.map((column) => [column, sliceRing(rings[column], slot, count)] as const)
  return Object.fromEntries(slices) as Record<K, number[]>
}

/** Entries of a ring from `slot` on, in order. */
function sliceRing<T>(ring: ArrayLike<T>, slot: number, count: number): T[] {
  return Array.from({ length: count }, (_, i) => ring[(slot + i) % STEPS_KEPT]!)
}
