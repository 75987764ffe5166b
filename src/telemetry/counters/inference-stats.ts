/** What became of inferences, per model, provider and outcome. Nothing here names a user, a key or a session. */
import { countValuesAtOrBelow, Histogram, type HistogramSnapshot } from '../../base/histogram.js'

type InferenceOutcome = 'completed' | 'failed' | 'aborted'

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
  readonly outcomes: Readonly<Record<InferenceOutcome, number>>
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanos: number
  readonly attempts: number
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

  record(model: string, provider: string, outcome: InferenceOutcome, figures: InferenceFigures): void {
    const series = this.#seriesOf(model, provider)
    series.outcomes[outcome]++
    series.promptTokens += figures.promptTokens
    series.completionTokens += figures.completionTokens
    series.costNanos += figures.costNanos
    series.durationMs.record(figures.ms)
    if (figures.firstMs > 0) series.firstMs.record(figures.firstMs)
  }

  /** A provider has been called, whether or not it is the one that served in the end. */
  recordAttempt(model: string, provider: string): void {
    this.#seriesOf(model, provider).attempts++
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

// ── Prometheus ──────────────────────────────────────────────────────────────

const BOUNDS_MS = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000]
const NANOS = 1e9

interface Row {
  readonly labels: string
  readonly series: InferenceSnapshot
}

/** The series of all workers in the Prometheus text format. */
export function inferenceText(
  workers: readonly { readonly worker: number; readonly inference: readonly InferenceSnapshot[] }[],
): string {
  const rows: Row[] = workers.flatMap(({ worker, inference }) =>
    inference.map((series) => ({
      labels: `worker="${worker}",model="${escaped(series.model)}",provider="${escaped(series.provider)}"`,
      series,
    })),
  )
  return [
    family('sluice_inferences_total', 'counter', 'Inferences that are over, by outcome.', rows, outcomesOf),
    family(
      'sluice_inference_attempts_total',
      'counter',
      'Calls of providers, failed ones included.',
      rows,
      (row) => [line('sluice_inference_attempts_total', row.labels, row.series.attempts)],
    ),
    family('sluice_inference_tokens_total', 'counter', 'Tokens, by kind.', rows, tokensOf),
    family('sluice_inference_cost_dollars_total', 'counter', 'What the answers cost.', rows, (row) => [
      line('sluice_inference_cost_dollars_total', row.labels, row.series.costNanos / NANOS),
    ]),
    histogram('sluice_inference_duration_seconds', 'From the parsed request to the end.', rows, 'durationMs'),
    histogram(
      'sluice_inference_first_event_seconds',
      'From the parsed request to the first event.',
      rows,
      'firstMs',
    ),
  ].join('')
}

function outcomesOf({ labels, series }: Row): string[] {
  return Object.entries(series.outcomes).map(([outcome, count]) =>
    line('sluice_inferences_total', `${labels},outcome="${outcome}"`, count),
  )
}

function tokensOf({ labels, series }: Row): string[] {
  return [
    line('sluice_inference_tokens_total', `${labels},kind="prompt"`, series.promptTokens),
    line('sluice_inference_tokens_total', `${labels},kind="completion"`, series.completionTokens),
  ]
}

function family(
  name: string,
  type: string,
  help: string,
  rows: readonly Row[],
  lines: (row: Row) => string[],
): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${rows.flatMap(lines).join('')}`
}

function histogram(
  name: string,
  help: string,
  rows: readonly Row[],
  member: 'durationMs' | 'firstMs',
): string {
  return family(name, 'histogram', help, rows, ({ labels, series }) => {
    const { count, sum } = series[member]
    const below = countValuesAtOrBelow(series[member], BOUNDS_MS)
    return [
      ...BOUNDS_MS.map((bound, at) => line(`${name}_bucket`, `${labels},le="${bound / 1000}"`, below[at]!)),
      line(`${name}_bucket`, `${labels},le="+Inf"`, count),
      line(`${name}_sum`, labels, sum / 1000),
      line(`${name}_count`, labels, count),
    ]
  })
}

function line(name: string, labels: string, value: number): string {
  return `${name}{${labels}} ${value}\n`
}

/** Names come from the configuration and may hold anything. */
function escaped(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
}
