/** What a worker does for the lab: its recorder, its probe, and the answers to the supervisor's questions. */
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import { type DelayObserver, uniformDelays } from '../features/report/delays.js'
import type { LabAnswer, LabCommand } from '../lab/command.js'
import { type DelayShape, delayShapeOf } from '../lab/delay-shape.js'
import { type DelaySource, delaySource } from '../lab/delays.js'
import { FaultBoard } from '../lab/faults/fault-board.js'
import { cpuMs, toMonotonicMs } from '../lab/lab-clock.js'
import { probeLag } from '../lab/recorder/lag-probe.js'
import { Recorder } from '../lab/recorder/recorder.js'
import type { RunPlan } from '../lab/wire.js'

/** Recorders of runs by header that are kept. */
const LANES_KEPT = 20

interface LabDeskOptions {
  readonly worker: number
  readonly config: Pick<Config, 'labFaults' | 'reportDelays' | 'reportSeed'>
  readonly log: Log
}

export class LabDesk {
  readonly recorder: Recorder
  readonly toMonotonicMs: number
  /** Null while faults are switched off. */
  board: FaultBoard | null = null
  readonly #worker: number
  readonly #usual: DelayShape
  #delays: DelaySource
  readonly #endProbe: () => void
  readonly #newRecorder: () => Recorder

  constructor({ worker, config, log }: LabDeskOptions) {
    const now = (): number => performance.now()
    this.toMonotonicMs = toMonotonicMs()
    this.#newRecorder = () =>
      new Recorder({ worker, pid: process.pid, now, toMonotonic: this.toMonotonicMs, cpuMs })
    this.recorder = this.#newRecorder()
    this.#endProbe = probeLag(this.recorder, now)
    this.#worker = worker
    this.#usual = delayShapeOf(config.reportDelays, config.reportSeed) ?? {
      shape: 'random',
      seed: config.reportSeed,
    }
    this.#delays = this.#sourceOf(this.#usual)
    if (!config.labFaults) return
    this.board = new FaultBoard({
      worker,
      recorder: this.recorder,
      toMonotonic: this.toMonotonicMs,
      log: (message, err) => log.error({ err }, message),
    })
  }

  /** How long the next report takes, in milliseconds. */
  readonly nextDelay = (): number => this.#delays.next()

  /** Records what became of a delay. */
  readonly delayed: DelayObserver = (arrivedAt, intendedMs, achievedMs) => {
    this.#delays.ended()
    this.recorder.operation('report').measured(arrivedAt, 'delayError', achievedMs - intendedMs)
  }

  /** Answers a question of the supervisor. A defect is logged and leaves it without an answer. */
  hear(command: LabCommand, log: Log): LabAnswer | null {
    try {
      return this.#answer(command)
    } catch (err) {
      log.error({ err, command: command.do }, 'the lab could not answer')
      return null
    }
  }

  close(): void {
    this.#endProbe()
    this.board?.close()
  }

  #answer(command: LabCommand): LabAnswer {
    switch (command.do) {
      case 'begin':
        this.#begin(command.plan)
        if (!command.plan.byHeader) this.#delays = this.#sourceOf(command.delays ?? this.#usual)
        return { done: true }
      case 'end':
        this.#recorderOf(command.run).end(command.run)
        if (!this.#hasLane(command.run)) this.#delays = this.#sourceOf(this.#usual)
        return { done: true }
      case 'read':
        return { part: this.#recorderOf(command.run).read(command.run, command.choice) }
      case 'series':
        return { series: this.#recorderOf(command.run).series(command.first, command.limit) }
      case 'arrivals':
        return { arrivals: this.#recorderOf(command.run).arrivalTimes(command.fromMs, command.toMs) }
      case 'fault':
        this.board?.add(command.fault)
        return { done: true }
      case 'mend':
        this.board?.remove(command.fault)
        return { done: true }
    }
  }

  #begin(plan: RunPlan): void {
    if (plan.byHeader && this.board !== null) {
      const { lanes } = this.board
      if (lanes.size >= LANES_KEPT) lanes.delete(lanes.keys().next().value!)
      lanes.set(plan.id, this.#newRecorder())
    }
    this.#recorderOf(plan.id).begin(plan)
  }

  #recorderOf(run: string): Recorder {
    return this.board?.lanes.get(run) ?? this.recorder
  }

  #hasLane(run: string): boolean {
    return this.board?.lanes.has(run) === true
  }

  #sourceOf(shape: DelayShape): DelaySource {
    return delaySource(shape, this.#worker, uniformDelays)
  }
}
