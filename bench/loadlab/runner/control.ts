/** The control listener of a server in the lab, from the side of a runner. */
import type {
  LoadExpectation,
  LoadToolReport,
  LoadToolVerdict,
  RunSummary,
  SeriesStep,
} from '../../../src/lab/run-summary.js'
import type { CurvePoint } from '../report/repetition.js'

/** A run without a warm-up. */
interface LabRunRequest {
  readonly label: string
  readonly expect: LoadExpectation
  readonly measureS: number
  readonly seed: number
  readonly delays: 'random' | 'quasi'
}

/** Something that happens at the server on purpose. */
export interface FaultRequest {
  readonly kind: 'hold' | 'block' | 'error' | 'reset' | 'slow'
  readonly op: string
  readonly afterMs: number
  readonly forMs?: number
  readonly everyMs?: number
  readonly prob?: number
  readonly status?: number
  readonly addMs?: number
  readonly seed?: number
}

/** Service times of the calls of one span. */
export interface ServiceSpan {
  readonly count: number
  readonly max: number
  readonly points: readonly CurvePoint[]
}

/** The control listener refused, or does not answer; the message says what it said. */
export class LabControlFault extends Error {
  /** `status` null: it does not answer. */
  constructor(
    message: string,
    readonly status: number | null,
  ) {
    super(message)
  }
}

const PATIENCE_MS = 10_000
const SERIES_STEP_MS = 100

export class LabControl {
  /** `origin`: `http://127.0.0.1:8081` */
  constructor(readonly origin: string) {}

  /** Whether a control listener answers here. Never rejects. */
  async answers(): Promise<boolean> {
    try {
      return (await this.#call<{ monoNs?: unknown } | null>('GET', 'clock'))?.monoNs !== undefined
    } catch {
      return false
    }
  }

  /** Resolves to the id of the run. */
  async start(run: LabRunRequest): Promise<string> {
    return (await this.#call<{ id: string }>('POST', 'runs', { ...run, warmupS: 0 })).id
  }

  stop(id: string): Promise<RunSummary> {
    return this.#call('POST', `runs/${id}/stop`)
  }

  /** How many requests the run has by now. */
  async arrivals(id: string): Promise<number> {
    return (await this.#call<RunSummary>('GET', `runs/${id}`)).total.arrivals
  }

  async series(id: string): Promise<SeriesStep[]> {
    return (await this.#call<{ steps: SeriesStep[] }>('GET', `runs/${id}/series?stepMs=${SERIES_STEP_MS}`))
      .steps
  }

  /** Service times of one operation; only of calls that arrived between two seconds of the measurement where they are given. */
  async serviceTimes(id: string, operation: string, fromS?: number, toS?: number): Promise<ServiceSpan> {
    const window = fromS === undefined ? '' : `&window=${fromS}..${toS}`
    const path = `runs/${id}/histogram?op=${operation}&metric=service&format=json${window}`
    type Histogram = { count: number; max: number; points: [number, number][] }
    const { count, max, points } = await this.#call<Histogram>('GET', path)
    return { count, max, points: points.map(([percentile, ms]) => ({ percentile, ms })) }
  }

  post(id: string, report: LoadToolReport): Promise<LoadToolVerdict> {
    return this.#call('POST', `runs/${id}/client`, report)
  }

  async plan(fault: FaultRequest): Promise<void> {
    await this.#call('POST', 'faults', fault)
  }

  async clearFaults(): Promise<void> {
    await this.#call('DELETE', 'faults')
  }

  /** Throws LabControlFault when nobody answers, or on a status that is no success. */
  async #call<Result>(method: string, operation: string, body?: unknown): Promise<Result> {
    const path = `/lab/v1/${operation}`
    const response = await fetch(`${this.origin}${path}`, {
      method,
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body !== undefined && {
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      }),
    }).catch((error: unknown) => {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new LabControlFault(`the control listener at ${this.origin} does not answer: ${reason}`, null)
    })
    const text = await response.text()
    if (!response.ok) {
      const said = `${method} ${path} was answered with ${response.status}: ${text.slice(0, 300)}`
      throw new LabControlFault(said, response.status)
    }
    return (text === '' ? null : JSON.parse(text)) as Result
  }
}
