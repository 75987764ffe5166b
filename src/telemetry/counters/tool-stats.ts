/** What became of calls of server tools, by the neutral name of the tool. */
import { Histogram, type HistogramSnapshot } from '../../base/histogram.js'

/** Plain data: it travels between processes. */
export interface ToolSnapshot {
  readonly tool: string
  readonly calls: number
  readonly errors: number
  readonly chargedNanos: number
  readonly durationMs: HistogramSnapshot
}

class ToolSeries {
  calls = 0
  errors = 0
  chargedNanos = 0
  readonly durationMs = new Histogram()
}

export class ToolStats {
  /** Names are those of the configuration, so there are few. */
  readonly #series = new Map<string, ToolSeries>()

  record(tool: string, { ms, isError, charged }: { ms: number; isError: boolean; charged: number }): void {
    let series = this.#series.get(tool)
    if (series === undefined) {
      series = new ToolSeries()
      this.#series.set(tool, series)
    }
    series.calls++
    if (isError) series.errors++
    series.chargedNanos += charged
    series.durationMs.record(ms)
  }

  snapshot(): ToolSnapshot[] {
    return Array.from(this.#series, ([tool, { durationMs, ...series }]) => ({
      tool,
      ...series,
      durationMs: durationMs.snapshot(),
    }))
  }
}
