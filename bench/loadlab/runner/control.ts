/** The control listener of a server in the lab, from the side of a runner. */
import type {
  LoadExpectation,
  LoadToolReport,
  LoadToolVerdict,
  RunSummary,
  SeriesStep,
} from '../../../src/lab/run-summary.js'

interface LabRunRequest {
  readonly label: string
  readonly expect: LoadExpectation
  readonly warmupS: number
  readonly measureS: number
  readonly seed: number
  readonly delays: 'random' | 'quasi'
}

interface FaultRequest {
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
  readonly points: readonly { readonly percentile: number; readonly ms: number }[]
}

/** The control listener refused, or does not answer; the message says what it said. */
export class LabControlFault extends Error {
  /** Null: it does not answer. */
  readonly status: number | null

  constructor(message: string, status: number | null) {
    super(message)
    this.status = status
  }
}

const PATIENCE_MS = 10_000

export class LabControl {
  /** `http://127.0.0.1:8081` */
  readonly origin: string

  constructor(origin: string) {
    this.origin = origin
  }

  /** Whether a control listener answers here. Never rejects. */
  async answers(): Promise<boolean> {
    try {
      const clock = (await this.#call('GET', '/lab/v1/clock')) as { monoNs?: unknown } | null
      return clock?.monoNs !== undefined
    } catch {
      return false
    }
  }

  async start(run: LabRunRequest): Promise<{ readonly id: string; readonly startNs: string }> {
    return (await this.#call('POST', '/lab/v1/runs', run)) as { id: string; startNs: string }
  }

  async stop(id: string): Promise<RunSummary> {
    return (await this.#call('POST', `/lab/v1/runs/${id}/stop`)) as RunSummary
  }

  /** `window`: `measure`, `all`, or `a..b` in seconds of the run. */
  async summary(id: string, window = 'measure'): Promise<RunSummary> {
    return (await this.#call('GET', `/lab/v1/runs/${id}?window=${window}`)) as RunSummary
  }

  async series(id: string, stepMs = 100): Promise<SeriesStep[]> {
    const { steps } = (await this.#call('GET', `/lab/v1/runs/${id}/series?stepMs=${stepMs}`)) as {
      steps: SeriesStep[]
    }
    return steps
  }

  /** Service time of one operation as a curve: percentile and milliseconds, rising. */
  async serviceCurve(id: string, operation: string): Promise<{ percentile: number; ms: number }[]> {
    const path = `/lab/v1/runs/${id}/histogram?op=${operation}&metric=service&format=json`
    const { points } = (await this.#call('GET', path)) as { points: [number, number][] }
    return points.map(([percentile, ms]) => ({ percentile, ms }))
  }

  /** The same of calls that arrived between two seconds of the measurement. */
  async serviceIn(id: string, operation: string, fromS: number, toS: number): Promise<ServiceSpan> {
    const path = `/lab/v1/runs/${id}/histogram?op=${operation}&metric=service&format=json&window=${fromS}..${toS}`
    const { count, max, points } = (await this.#call('GET', path)) as {
      count: number
      max: number
      points: [number, number][]
    }
    return { count, max, points: points.map(([percentile, ms]) => ({ percentile, ms })) }
  }

  async post(id: string, report: LoadToolReport): Promise<LoadToolVerdict> {
    return (await this.#call('POST', `/lab/v1/runs/${id}/client`, report)) as LoadToolVerdict
  }

  async plan(fault: FaultRequest): Promise<void> {
    await this.#call('POST', '/lab/v1/faults', fault)
  }

  async clearFaults(): Promise<void> {
    await this.#call('DELETE', '/lab/v1/faults')
  }

  /** Throws ControlFault when nobody answers. */
  async #ask(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(`${this.origin}${path}`, init)
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new LabControlFault(`the control listener at ${this.origin} does not answer: ${reason}`, null)
    }
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await this.#ask(path, {
      method,
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body !== undefined && {
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    const text = await response.text()
    if (!response.ok) {
      const said = `${method} ${path} was answered with ${response.status}: ${text.slice(0, 300)}`
      throw new LabControlFault(said, response.status)
    }
    return text === '' ? null : JSON.parse(text)
  }
}
