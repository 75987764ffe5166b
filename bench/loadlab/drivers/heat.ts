/** Latencies by time: how many samples fell into each step of the run and each band of latency. */
import type { HeatCells } from '../report/repetition.js'

const BANDS_PER_DECADE = 5
const LEAST_MS = 0.02
const DECADES = 7
const LEAST_STEP_MS = 100
const MOST_STEPS = 240

export class HeatMap {
  readonly #stepMs: number
  readonly #counts: number[][]

  constructor(lengthMs: number) {
    this.#stepMs = Math.max(LEAST_STEP_MS, Math.ceil(lengthMs / MOST_STEPS / LEAST_STEP_MS) * LEAST_STEP_MS)
    const steps = Math.max(1, Math.ceil(lengthMs / this.#stepMs))
    this.#counts = Array.from({ length: steps }, () => new Array<number>(BANDS_PER_DECADE * DECADES).fill(0))
  }

  /** `dueMs` counts from the start of the run. */
  readonly record = (dueMs: number, _kind: number, latencyMs: number): void => {
    const step =
      this.#counts[Math.min(this.#counts.length - 1, Math.max(0, Math.floor(dueMs / this.#stepMs)))]!
    const band = Math.floor(Math.log10(Math.max(latencyMs, LEAST_MS) / LEAST_MS) * BANDS_PER_DECADE)
    step[Math.min(step.length - 1, band)]!++
  }

  /** Without the bands above the highest sample. */
  cells(): HeatCells {
    const used = 1 + Math.max(0, ...this.#counts.map((step) => step.findLastIndex((count) => count > 0)))
    return {
      stepMs: this.#stepMs,
      edgesMs: firstBandEdges(used),
      counts: this.#counts.map((step) => step.slice(0, used)),
    }
  }
}

/** Edges of the bands from the least to the one that holds `mostMs`. */
export function latencyBandEdges(mostMs: number): number[] {
  const bands = Math.floor(Math.log10(Math.max(mostMs, LEAST_MS) / LEAST_MS) * BANDS_PER_DECADE)
  return firstBandEdges(Math.min(BANDS_PER_DECADE * DECADES, bands + 1))
}

function firstBandEdges(bands: number): number[] {
  return Array.from({ length: bands + 1 }, (_, i) => LEAST_MS * 10 ** (i / BANDS_PER_DECADE))
}
