import type { ServerResponse } from 'node:http'
import type { LiveEvent, LiveRun, PercentilePoint } from '../live-event.js'
import { byName } from '../summary/merge.js'
import { spectrum } from '../summary/quantiles.js'
import { added } from '../summary/summarize.js'
import type { RunSummary, SeriesStep } from '../truth.js'
import { STEP_MS, type WorkerPart } from '../wire.js'
import { type FaultOperations, faultWords } from './fault-operations.js'
import type { LabPorts } from './ports.js'
import type { Run } from './run.js'
import type { Runs } from './runs.js'

const PERIOD_MS = 500
const MOST_READERS = 20

interface Reader {
  readonly response: ServerResponse
  run: string | null
  /** Steps of the run that it has got. */
  steps: number
}

/** Sends what happens to everybody who listens, twice a second. Asks the workers only while somebody does. */
export class LiveFeed {
  readonly #runs: Runs
  readonly #faults: FaultOperations
  readonly #ports: LabPorts
  readonly #readers = new Set<Reader>()
  #timer: NodeJS.Timeout | null = null
  #busy = false

  constructor(runs: Runs, faults: FaultOperations, ports: LabPorts) {
    this.#runs = runs
    this.#faults = faults
    this.#ports = ports
  }

  attach(response: ServerResponse): void {
    if (this.#readers.size >= MOST_READERS) {
      response.writeHead(503).end()
      return
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    response.flushHeaders()
    const reader: Reader = { response, run: null, steps: 0 }
    this.#readers.add(reader)
    response.on('close', () => this.#left(reader))
    this.#timer ??= setInterval(() => void this.#tell([...this.#readers]), PERIOD_MS)
    void this.#tell([reader])
  }

  close(): void {
    for (const { response } of this.#readers) response.end()
    this.#readers.clear()
    this.#rest()
  }

  #left(reader: Reader): void {
    this.#readers.delete(reader)
    if (this.#readers.size === 0) this.#rest()
  }

  #rest(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  async #tell(readers: readonly Reader[]): Promise<void> {
    const first = readers.some(({ run }) => run === null)
    if (this.#busy && !first) return
    this.#busy = true
    try {
      const event = await this.#event(Math.min(...[...this.#readers].map((reader) => this.#seen(reader))))
      for (const reader of readers) this.#send(reader, event)
    } finally {
      this.#busy = false
    }
  }

  /** Steps of the latest run that a reader has got. */
  #seen({ run, steps }: Reader): number {
    return run === this.#runs.latest?.id ? steps : 0
  }

  async #event(from: number): Promise<Told> {
    const run = this.#runs.latest
    if (run === null) return NONE
    const window = this.#runs.window(run, 'measure')
    const summary = await this.#runs.summary(run, window)
    const { parts } = await this.#runs.parts(run, window)
    return {
      run: this.#liveRun(run, summary, parts),
      from,
      steps: this.#runs.knownSteps(run, run.plan.startMs + from * STEP_MS, STEP_MS),
      percentiles: percentilesOf(parts),
      verdict: run.judged?.verdict ?? null,
      validity: run.judged?.validity ?? null,
    }
  }

  #liveRun(run: Run, summary: RunSummary, parts: readonly WorkerPart[]): LiveRun {
    const { id, label, expect, state, seed, delays, marks, workers, total, connections } = summary
    const { arrivals, completed, aborted, inFlight, rate, statuses } = total
    const origin = run.plan.startMs
    const errors = Object.entries(statuses).reduce(
      (sum, [status, n]) => sum + (Number(status) >= 400 ? n : 0),
      0,
    )
    return {
      id,
      label,
      expect,
      state,
      seed,
      delays,
      marks,
      elapsedMs: Math.max(0, run.endMs(this.#ports.now()) - origin),
      warmupMs: run.plan.warmupMs,
      measureMs: run.plan.measureMs,
      totals: { arrivals, completed, aborted, inFlight, errors, rate },
      connections: {
        now: parts.reduce((sum, part) => sum + part.connections.now, 0),
        peak: connections.peak,
        opened: connections.opened,
      },
      workers,
      stalls: parts.flatMap(({ worker, stalls }) =>
        stalls.map(({ kind, startMs, endMs }) => ({
          kind,
          worker,
          fromMs: startMs - origin,
          toMs: endMs === null ? null : endMs - origin,
        })),
      ),
      faults: this.#faults.plans().map(faultWords),
    }
  }

  #send(reader: Reader, told: Told): void {
    const id = told.run?.id ?? null
    if (reader.run !== id) {
      reader.run = id
      reader.steps = 0
    }
    const { from, steps: known, ...rest } = told
    const steps = known.slice(Math.max(0, reader.steps - from))
    reader.steps += steps.length
    const event: LiveEvent = { ...rest, steps }
    // A page that does not read does not make us keep its events: it misses some, and gets the steps later.
    if (reader.response.writableNeedDrain) reader.steps -= steps.length
    else reader.response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
}

interface Told extends Omit<LiveEvent, 'steps'> {
  /** Number of the first step. */
  readonly from: number
  readonly steps: readonly SeriesStep[]
}

const NONE: Told = { run: null, from: 0, steps: [], percentiles: {}, verdict: null, validity: null }

function percentilesOf(parts: readonly WorkerPart[]): Record<string, readonly PercentilePoint[]> {
  const operations = byName(
    parts.flatMap((part) => part.operations),
    added,
  )
  return Object.fromEntries(
    operations.filter(({ completed }) => completed > 0).map(({ name, service }) => [name, spectrum(service)]),
  )
}
