import type { ServerResponse } from 'node:http'
import type { LabPorts } from '../lab-command.js'
import {
  LIVE_MEMBERS,
  LIVE_TOTALS,
  type LiveEvent,
  type LiveRun,
  type PercentilePoint,
} from '../live-event.js'
import type { RunSummary } from '../run-summary.js'
import { mergeByName } from '../summary/merge.js'
import { percentileSpectrum } from '../summary/quantiles.js'
import { addUp, countMatching, pickMembers, sumOf } from '../sums.js'
import { STEP_MS, type WorkerWindowSnapshot } from '../worker-snapshots.js'
import { describeFault, type FaultOperations } from './fault-operations.js'
import type { LabRun } from './run.js'
import type { LabRuns } from './runs.js'

const PERIOD_MS = 500
const MOST_READERS = 20

interface LiveReader {
  readonly response: ServerResponse
  run: string | null
  /** Steps of the run that it has got. */
  steps: number
}

/** Sends the state of the latest run to all readers, twice a second. Asks the workers only while there is a reader. */
export class LiveFeed {
  readonly #runs: LabRuns
  readonly #faults: FaultOperations
  readonly #ports: LabPorts
  readonly #readers = new Set<LiveReader>()
  #timer: NodeJS.Timeout | null = null
  #busy = false

  constructor(runs: LabRuns, faults: FaultOperations, ports: LabPorts) {
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
    const reader: LiveReader = { response, run: null, steps: 0 }
    this.#readers.add(reader)
    response.on('close', () => this.#removeReader(reader))
    this.#timer ??= setInterval(() => void this.#sendUpdate([...this.#readers]), PERIOD_MS)
    void this.#sendUpdate([reader])
  }

  close(): void {
    for (const { response } of this.#readers) response.end()
    this.#readers.clear()
    this.#stopTimer()
  }

  #removeReader(reader: LiveReader): void {
    this.#readers.delete(reader)
    if (this.#readers.size === 0) this.#stopTimer()
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  async #sendUpdate(readers: readonly LiveReader[]): Promise<void> {
    const first = readers.some(({ run }) => run === null)
    if (this.#busy && !first) return
    this.#busy = true
    try {
      const event = await this.#buildUpdate(
        Math.min(...[...this.#readers].map((reader) => this.#stepsSeenBy(reader))),
      )
      for (const reader of readers) this.#send(reader, event)
    } finally {
      this.#busy = false
    }
  }

  /** Steps of the latest run that a reader has got. */
  #stepsSeenBy({ run, steps }: LiveReader): number {
    return run === this.#runs.latest?.id ? steps : 0
  }

  async #buildUpdate(from: number): Promise<LiveUpdate> {
    const run = this.#runs.latest
    if (run === null) return EMPTY_UPDATE
    const window = this.#runs.window(run, 'measure')
    const summary = await this.#runs.summary(run, window)
    const parts = await this.#runs.parts(run, window)
    return {
      run: this.#liveRun(run, summary, parts),
      from,
      steps: this.#runs.knownSteps(run, run.plan.startMs + from * STEP_MS, STEP_MS),
      percentiles: percentilesByOperation(parts),
      verdict: run.judged?.verdict ?? null,
      validity: run.judged?.validity ?? null,
    }
  }

  #liveRun(run: LabRun, summary: RunSummary, parts: readonly WorkerWindowSnapshot[]): LiveRun {
    const { total, connections } = summary
    const { startMs, warmupMs, measureMs } = run.plan
    return {
      ...pickMembers(summary, LIVE_MEMBERS),
      elapsedMs: Math.max(0, run.endMs(this.#ports.now()) - startMs),
      warmupMs,
      measureMs,
      totals: { ...pickMembers(total, LIVE_TOTALS), errors: countMatching(total.statuses, /^[45]/) },
      connections: {
        ...pickMembers(connections, ['peak', 'opened']),
        now: sumOf(parts, (part) => part.connections.now),
      },
      stalls: parts.flatMap(({ worker, stalls }) =>
        stalls.map(({ kind, startMs: from, endMs }) => {
          return { kind, worker, fromMs: from - startMs, toMs: endMs === null ? null : endMs - startMs }
        }),
      ),
      faults: this.#faults.plans().map(describeFault),
    }
  }

  #send(reader: LiveReader, update: LiveUpdate): void {
    const id = update.run?.id ?? null
    if (reader.run !== id) {
      reader.run = id
      reader.steps = 0
    }
    const { from, steps: known, ...rest } = update
    const steps = known.slice(Math.max(0, reader.steps - from))
    reader.steps += steps.length
    const event: LiveEvent = { ...rest, steps }
    // A page that does not read does not make us keep its events: it misses some, and gets the steps later.
    if (reader.response.writableNeedDrain) reader.steps -= steps.length
    else reader.response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
}

interface LiveUpdate extends LiveEvent {
  /** Number of the first step. */
  readonly from: number
}

const EMPTY_UPDATE: LiveUpdate = {
  run: null,
  from: 0,
  steps: [],
  percentiles: {},
  verdict: null,
  validity: null,
}

function percentilesByOperation(
  parts: readonly WorkerWindowSnapshot[],
): Record<string, readonly PercentilePoint[]> {
  const all = parts.flatMap(({ operations }) => operations)
  const answered = mergeByName(all, addUp).filter(({ completed }) => completed > 0)
  return Object.fromEntries(answered.map(({ name, service }) => [name, percentileSpectrum(service)]))
}
