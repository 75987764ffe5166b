/** What became of inferences, per model, provider and outcome. Nothing here names a user, a key or a session. */
import { Histogram, type HistogramSnapshot } from '../../base/histogram.js'

type CountedOutcome = 'completed' | 'failed' | 'aborted'

interface InferenceFigures {
  /** Milliseconds from the parsed request to the end. */
  readonly ms: number
  /** The same to the first event of a stream; 0 when there was none. */
  readonly firstMs: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanos: number
}

/** Plain data: it travels between processes. */
export interface InferenceSnapshot {
  readonly model: string
  readonly provider: string
  readonly outcomes: Readonly<Record<CountedOutcome, number>>
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanos: number
  readonly attempts: number
  readonly lostAttempts: number
  readonly lostCostNanos: number
  readonly durationMs: HistogramSnapshot
  readonly firstMs: HistogramSnapshot
}

/** Series that a worker keeps; those of a catalogue that changes all the time end up in one of their own. */
const MOST_SERIES = 500
const OTHER = 'other'

class InferenceSeries {
  readonly outcomes = { completed: 0, failed: 0, aborted: 0 }
  promptTokens = 0
  completionTokens = 0
  costNanos = 0
  attempts = 0
  lostAttempts = 0
  lostCostNanos = 0
  readonly durationMs = new Histogram()
  readonly firstMs = new Histogram()

  constructor(
    readonly model: string,
    readonly provider: string,
  ) {}
}

export class InferenceStats {
  /** By model, then by provider: no key has to be put together for a call. */
  readonly #series = new Map<string, Map<string, InferenceSeries>>()
  #count = 0

  record(model: string, provider: string, outcome: CountedOutcome, figures: InferenceFigures): void {
    const series = this.#seriesOf(model, provider)
    series.outcomes[outcome]++
    series.promptTokens += figures.promptTokens
    series.completionTokens += figures.completionTokens
    series.costNanos += figures.costNanos
    series.durationMs.record(figures.ms)
    if (figures.firstMs > 0) series.firstMs.record(figures.firstMs)
  }

  /**
   * A provider has been called, whether or not it is the one that served in the end. `lost`: what that may cost
   * although it came to nothing; null where it costs nothing.
   */
  recordAttempt(model: string, provider: string, lost: { readonly cost: number } | null): void {
    const series = this.#seriesOf(model, provider)
    series.attempts++
    if (lost === null) return
    series.lostAttempts++
    series.lostCostNanos += lost.cost
  }

  #seriesOf(model: string, provider: string): InferenceSeries {
    const known = this.#series.get(model)?.get(provider)
    if (known !== undefined) return known
    if (this.#count >= MOST_SERIES && model !== OTHER) return this.#seriesOf(OTHER, OTHER)
    const series = new InferenceSeries(model, provider)
    const providers = this.#series.get(model)
    if (providers === undefined) this.#series.set(model, new Map([[provider, series]]))
    else providers.set(provider, series)
    this.#count++
    return series
  }

  snapshot(): InferenceSnapshot[] {
    return [...this.#series.values()].flatMap((providers) =>
      Array.from(providers.values(), ({ outcomes, durationMs, firstMs, ...series }) => ({
        ...series,
        outcomes: { ...outcomes },
        durationMs: durationMs.snapshot(),
        firstMs: firstMs.snapshot(),
      })),
    )
  }
}
