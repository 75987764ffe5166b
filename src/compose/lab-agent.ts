/** What a worker does for the lab: its recorder, its probe, and the answers to the supervisor's questions. */
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import { type DelayObserver, uniformDelays } from '../features/report/delays.js'
import type { OperationMeter } from '../http/pipeline.js'
import { type DelayShape, parseDelayShape } from '../lab/delay-shape.js'
import { createDelaySource, type DelaySource } from '../lab/delays.js'
import { FaultRegistry } from '../lab/faults/fault-registry.js'
import { measureMonotonicOffset, processCpuMs } from '../lab/lab-clock.js'
import type { LabCommand, LabCommandResult } from '../lab/lab-command.js'
import { startLagProbe } from '../lab/recorder/lag-probe.js'
import { LabRecorder } from '../lab/recorder/recorder.js'
import type { LabRunPlan } from '../lab/worker-snapshots.js'
import type { OperationStats } from '../telemetry/counters/operation-stats.js'

/** Recorders of runs by header that are kept. */
const RUN_RECORDERS_KEPT = 20

interface LabAgentOptions {
  readonly worker: number
  readonly config: Pick<Config, 'labFaults' | 'reportDelays' | 'reportSeed'>
  readonly log: Log
}

export class LabAgent {
  readonly recorder: LabRecorder
  readonly toMonotonicMs: number
  /** Null while faults are switched off. */
  board: FaultRegistry | null = null
  readonly #worker: number
  readonly #usual: DelayShape
  #delays: DelaySource
  readonly #endProbe: () => void
  readonly #newRecorder: () => LabRecorder

  constructor({ worker, config, log }: LabAgentOptions) {
    const now = (): number => performance.now()
    this.toMonotonicMs = measureMonotonicOffset()
    this.#newRecorder = () =>
      new LabRecorder({ worker, pid: process.pid, now, toMonotonic: this.toMonotonicMs, cpuMs: processCpuMs })
    this.recorder = this.#newRecorder()
    this.#endProbe = startLagProbe(this.recorder, now)
    this.#worker = worker
    this.#usual = parseDelayShape(config.reportDelays, config.reportSeed) ?? {
      shape: 'random',
      seed: config.reportSeed,
    }
    this.#delays = this.#delaySourceOf(this.#usual)
    if (!config.labFaults) return
    this.board = new FaultRegistry({
      worker,
      recorder: this.recorder,
      toMonotonic: this.toMonotonicMs,
      log: (message, err) => log.error({ err }, message),
    })
  }

  /** How long the next report takes, in milliseconds. */
  readonly nextDelay = (): number => this.#delays.next()

  /** Records what became of a delay. */
  readonly recordDelay: DelayObserver = (arrivedAt, intendedMs, achievedMs) => {
    this.#delays.onCallEnded()
    this.recorder.operation('report').recordDuration(arrivedAt, 'delayError', achievedMs - intendedMs)
  }

  /** Counts for the operation's statistics and for the lab at once. */
  meterOf(stats: OperationStats, operation: string): OperationMeter {
    const recorder = this.recorder.operation(operation)
    return {
      onArrival: (at) => {
        stats.recordArrival()
        recorder.recordArrival(at)
      },
      onSettled: (serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt) => {
        stats.recordSettled(serviceMs, status, bytesIn, bytesOut, aborted)
        recorder.recordSettled(serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt)
      },
      stream: {
        onChunk: (arrivedAt, ms, first) =>
          recorder.recordDuration(arrivedAt, first ? 'firstChunk' : 'chunkGap', ms),
        onStall: (arrivedAt, ms) => recorder.recordDuration(arrivedAt, 'backpressure', ms),
        onEnd: (arrivedAt, chunks) => recorder.recordCount(arrivedAt, 'chunks', chunks),
      },
    }
  }

  /** Answers a question of the supervisor. A defect is logged and leaves it without an answer. */
  answer(command: LabCommand, log: Log): LabCommandResult | null {
    try {
      return this.#execute(command)
    } catch (err) {
      log.error({ err, command: command.do }, 'the lab could not answer')
      return null
    }
  }

  close(): void {
    this.#endProbe()
    this.board?.close()
  }

  #execute(command: LabCommand): LabCommandResult {
    switch (command.do) {
      case 'begin-run':
        this.#beginRun(command.plan)
        if (!command.plan.byHeader) this.#delays = this.#delaySourceOf(command.delays ?? this.#usual)
        return { done: true }
      case 'end-run':
        this.#recorderOf(command.run).endRun(command.run)
        if (!this.#hasRunRecorder(command.run)) this.#delays = this.#delaySourceOf(this.#usual)
        return { done: true }
      case 'read-window':
        return { part: this.#recorderOf(command.run).readRun(command.run, command.choice) }
      case 'read-series':
        return { series: this.#recorderOf(command.run).readSeries(command.first, command.limit) }
      case 'read-arrivals':
        return { arrivals: this.#recorderOf(command.run).arrivalTimes(command.fromMs, command.toMs) }
      case 'add-fault':
        this.board?.add(command.fault)
        return { done: true }
      case 'remove-fault':
        this.board?.remove(command.fault)
        return { done: true }
    }
  }

  #beginRun(plan: LabRunPlan): void {
    if (plan.byHeader && this.board !== null) {
      const { runRecorders } = this.board
      if (runRecorders.size >= RUN_RECORDERS_KEPT) runRecorders.delete(runRecorders.keys().next().value!)
      runRecorders.set(plan.id, this.#newRecorder())
    }
    this.#recorderOf(plan.id).beginRun(plan)
  }

  #recorderOf(run: string): LabRecorder {
    return this.board?.runRecorders.get(run) ?? this.recorder
  }

  #hasRunRecorder(run: string): boolean {
    return this.board?.runRecorders.has(run) === true
  }

  #delaySourceOf(shape: DelayShape): DelaySource {
    return createDelaySource(shape, this.#worker, uniformDelays)
  }
}
