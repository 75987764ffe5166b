/** The SSE driver that times its streams: gaps, first tokens, drift from a promised pace, and how many kept a goal. */
import { SampleSet } from '../figures/sample-set.js'
import { StreamLoop, type StreamLoopPlan, type StreamLoopResult } from './stream-loop.js'
import { type AbortRule, type StreamTimes, TimedStream } from './timed-stream.js'

export interface StreamPlan extends StreamLoopPlan {
  readonly abort: (index: number) => AbortRule | null
  readonly bytesPerS: (index: number) => number | null
  /** Gap that the model promises, from which drift counts; null when it promises none. */
  readonly paceMs: number | null
  /** What a good stream keeps; null: every complete one is good. */
  readonly goal: { readonly firstTokenMs: number; readonly gapMs: number } | null
  readonly onStream?: (times: StreamTimes) => void
}

/** `started = sum of ends + cut`. */
export class StreamFigures {
  started = 0
  /** Under way when the run was interrupted. */
  cut = 0
  tokens = 0
  good = 0
  readonly ends: Record<string, number> = {}
  readonly statuses: Record<string, number> = {}
  readonly firstToken = new SampleSet()
  readonly gap = new SampleSet()
  readonly total = new SampleSet()
  readonly drift = new SampleSet()
  readonly lateness = new SampleSet()
  connectionsOpened = 0
}

export interface StreamLoadResult extends StreamLoopResult {
  readonly figures: StreamFigures
}

export class StreamLoad {
  readonly figures = new StreamFigures()
  readonly #plan: StreamPlan
  readonly #loop: StreamLoop<StreamTimes>

  constructor(plan: StreamPlan) {
    this.#plan = plan
    this.#loop = new StreamLoop(plan, {
      call: (_index, dueAt, now) => this.#call(dueAt, now),
      ended: (times) => this.#recordStream(times),
      refused: () => this.#countEnd('refused'),
      opened: () => this.figures.connectionsOpened++,
    })
  }

  get elapsedMs(): number {
    return this.#loop.elapsedMs
  }

  get underWay(): number {
    return this.#loop.underWay
  }

  interrupt(): void {
    this.#loop.interrupt()
  }

  /** Runs to the end of the schedule and waits for the streams under way. */
  async run(): Promise<StreamLoadResult> {
    const run = await this.#loop.run()
    this.figures.started = this.#loop.started
    this.figures.cut = run.cut
    return { ...run, figures: this.figures }
  }

  #call(dueAt: number, now: number): TimedStream {
    this.figures.lateness.record(now - dueAt)
    return new TimedStream(dueAt, this.#plan.paceMs, (gapMs) => {
      this.figures.tokens++
      if (gapMs >= 0) this.figures.gap.record(gapMs)
    })
  }

  #countEnd(end: string): void {
    this.figures.ends[end] = (this.figures.ends[end] ?? 0) + 1
  }

  /** True when the next one may begin at once. */
  #recordStream(times: StreamTimes): boolean {
    const { figures } = this
    const { end, status, tokens, firstTokenMs, totalMs, driftMs } = times
    this.#countEnd(end)
    if (status > 0) figures.statuses[status] = (figures.statuses[status] ?? 0) + 1
    if (tokens > 0) figures.firstToken.record(firstTokenMs)
    if (end === 'complete') {
      figures.total.record(totalMs)
      if (this.#plan.paceMs !== null) figures.drift.record(driftMs)
      if (meetsGoal(times, this.#plan.goal)) figures.good++
    }
    this.#plan.onStream?.(times)
    return end === 'complete' || end === 'aborted'
  }
}

function meetsGoal({ firstTokenMs, worstGapMs, tokens }: StreamTimes, goal: StreamPlan['goal']): boolean {
  if (goal === null) return true
  return tokens > 0 && firstTokenMs <= goal.firstTokenMs && worstGapMs <= goal.gapMs
}
