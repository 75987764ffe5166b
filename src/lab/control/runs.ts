import type { Fleet, LabReply } from '../command.js'
import { mergeGaps } from '../summary/merged-gaps.js'
import { mergeSeries } from '../summary/series.js'
import { summarize } from '../summary/summarize.js'
import type { RunSummary, SeriesStep } from '../truth.js'
import { STEP_MS, type WorkerPart } from '../wire.js'
import { Problem } from './problem.js'
import type { RunRequest } from './requests.js'
import { Run } from './run.js'
import { type RunWindow, runWindow } from './run-window.js'

interface RunPorts {
  readonly fleet: Fleet
  /** Milliseconds on the clock that all processes share. */
  readonly now: () => number
  readonly environment: RunSummary['environment']
}

/** While the loop of a worker is blocked, its last words stand in for it: nobody waits longer than that. */
const GLANCE_MS = 35
/** Of a run that is over there are no last words for a window that nobody has asked for: they are waited for. */
const FIRST_LOOK_MS = 1_000
/** Beginnings and ends wait for a busy worker, because nothing else can tell what it counted. */
const PATIENCE_MS = 5_000
const ARMING_MS = 1_000
const RUNS_KEPT = 20
/** Windows whose last words are kept per run; `measure` and `all` always. */
const WINDOWS_KEPT = 8
/** Steps per question: a worker makes the answer in some milliseconds. */
const STEPS_AT_ONCE = 300
/** A worker that is kept from its core ends its last step late. */
const LAST_STEP_TRIES = 20
const STEP_MARGIN_MS = 5

/**
 * The runs. One at a time, because what arrives is attributed by time; beside it any number of those that count only
 * calls with their name in a header.
 */
export class Runs {
  readonly #ports: RunPorts
  /** The newest last. */
  readonly #runs: Run[] = []

  constructor(ports: RunPorts) {
    this.#ports = ports
  }

  /** The newest first. */
  list(): readonly Run[] {
    return this.#runs.toReversed()
  }

  get latest(): Run | null {
    return this.#runs.at(-1) ?? null
  }

  /** Throws a 404. */
  find(id: string): Run {
    const run = this.#runs.find((each) => each.id === id)
    if (run === undefined) throw new Problem(404, `there is no run ${id.slice(0, 40)}`)
    return run
  }

  /** Begins a run and waits until all workers know of it. Throws a 409 while another one is under way. */
  async create(request: RunRequest): Promise<{ readonly run: Run; readonly armed: boolean }> {
    const { fleet, now } = this.#ports
    const before = request.byHeader ? [] : this.#open().filter((other) => !other.request.byHeader)
    const going = before.find((other) => other.state(now()) !== 'stopped')
    if (going !== undefined) {
      const left = Math.ceil((going.measureToMs - now()) / 1000)
      throw new Problem(
        409,
        `run ${going.id} is under way for ${left} s more, and its window would overlap: stop it first`,
      )
    }
    const run = new Run(request, now())
    this.#runs.push(run)
    for (const other of before) await this.stop(other)
    if (this.#runs.length > RUNS_KEPT) this.#runs.shift()
    const replies = await fleet.ask({ do: 'begin', plan: run.plan, delays: run.delayShape }, ARMING_MS)
    const silent = fleet.workers().filter((worker) => !replies.some((reply) => reply.worker === worker))
    for (const worker of silent) run.marks.add(`worker ${worker} did not answer when the run began`)
    // Who hears of the run may begin at once: what arrives from now on belongs to it.
    await until(run.plan.startMs, now)
    return { run, armed: silent.length === 0 }
  }

  /** Ends a run now, if it has not ended, and fetches everything that the workers know of it. */
  async stop(run: Run): Promise<void> {
    if (run.stoppedMs !== null) return
    run.stoppedMs = this.#ports.now()
    await this.#ports.fleet.ask({ do: 'end', run: run.id }, PATIENCE_MS)
    for (const text of ['measure', 'all']) await this.#collect(run, this.window(run, text), PATIENCE_MS)
    await this.#mergeGaps(run)
    // The step in which it ended is told when it is over.
    await until(run.endStep * STEP_MS, this.#ports.now)
    for (let tries = 0; tries < LAST_STEP_TRIES && !this.#knowsAllSteps(run); tries++) {
      await until(this.#ports.now() + STEP_MARGIN_MS, this.#ports.now)
      await this.catchUp(run, PATIENCE_MS)
    }
  }

  window(run: Run, text: string): RunWindow {
    return runWindow(run, text, this.#ports.now())
  }

  async summary(run: Run, window: RunWindow): Promise<RunSummary> {
    const [{ parts, stale }] = await Promise.all([this.parts(run, window), this.catchUp(run, GLANCE_MS)])
    const alone = parts.length < 2
    const merged = window.key === 'measure' && run.gaps !== null
    return summarize(
      {
        id: run.id,
        label: run.request.label,
        expect: run.request.expect as RunSummary['expect'],
        state: run.state(this.#ports.now()),
        seed: run.request.seed,
        delays: run.request.delays ?? (this.#ports.environment.reportDelays === 'quasi' ? 'quasi' : 'random'),
        marks: [...run.marks],
        stale,
        slices: run.slices,
        environment: {
          ...this.#ports.environment,
          gapsAcross: alone || merged ? 'all arrivals' : 'the arrivals of each worker',
          ...(run.delayShape && { delays: JSON.stringify(run.delayShape) }),
        },
      },
      parts,
      run.series.parts(),
      window,
      window.key === 'measure' ? run.gaps : null,
    )
  }

  async parts(
    run: Run,
    window: RunWindow,
  ): Promise<{ readonly parts: readonly WorkerPart[]; readonly stale: readonly number[] }> {
    const told = run.told.get(window.key)
    const whole = this.#ports.fleet.workers().every((worker) => told?.has(worker))
    if (run.stoppedMs !== null && whole && settled(told!)) return { parts: [...told!.values()], stale: [] }
    const patience = run.stoppedMs === null || whole ? GLANCE_MS : FIRST_LOOK_MS
    const stale = await this.#collect(run, window, patience)
    return { parts: [...(run.told.get(window.key)?.values() ?? [])], stale }
  }

  /** Steps of the whole run as far as all workers have told them. */
  async steps(run: Run, stepMs: number, operation?: string): Promise<SeriesStep[]> {
    await this.catchUp(run, GLANCE_MS)
    return this.knownSteps(run, run.plan.startMs, stepMs, operation)
  }

  knownSteps(run: Run, fromMs: number, stepMs: number, operation?: string): SeriesStep[] {
    const toMs = Math.min(run.endStep * STEP_MS, run.series.complete() * STEP_MS)
    const question = { fromMs, toMs, originMs: run.plan.startMs, stepMs }
    return mergeSeries(run.series.parts(), operation === undefined ? question : { ...question, operation })
  }

  /** Asks for the steps that are still missing. */
  async catchUp(run: Run, deadlineMs: number): Promise<void> {
    const end = Math.min(run.endStep, Math.floor(this.#ports.now() / STEP_MS))
    const { fleet } = this.#ports
    for (let more = true; more; ) {
      const behind = fleet.workers().filter((worker) => run.series.next(worker) < end)
      if (behind.length === 0) return
      const replies = await fleet.ask(
        (worker) => ({ do: 'series', run: run.id, first: run.series.next(worker), limit: STEPS_AT_ONCE }),
        deadlineMs,
      )
      more = false
      for (const { answer } of replies) {
        if (!('series' in answer)) continue
        run.series.take(answer.series)
        if (answer.series.connections.length === STEPS_AT_ONCE) more = true
      }
    }
  }

  /** A worker has died: what it had counted is gone with it. */
  died(worker: number): void {
    for (const run of this.#open()) {
      run.marks.add(`worker ${worker} died during the run: what it had counted is lost`)
      for (const told of run.told.values()) told.delete(worker)
    }
  }

  /** A worker has come (back): the runs under way go on in it. */
  async joined(worker: number): Promise<void> {
    for (const run of this.#open()) {
      const command = { do: 'begin', plan: run.plan, delays: run.delayShape } as const
      await this.#ports.fleet.ask((each) => (each === worker ? command : null), GLANCE_MS)
    }
  }

  /** Those that nobody has stopped. */
  #open(): readonly Run[] {
    return this.#runs.filter((run) => run.stoppedMs === null)
  }

  #knowsAllSteps(run: Run): boolean {
    return this.#ports.fleet.workers().every((worker) => run.series.next(worker) >= run.endStep)
  }

  /** One worker knows its gaps; of several only the moments of all arrivals tell the gaps between them. */
  async #mergeGaps(run: Run): Promise<void> {
    const { fleet } = this.#ports
    const { fromMs, toMs } = this.window(run, 'measure')
    if (fleet.workers().length < 2) return
    const replies = await fleet.ask({ do: 'arrivals', run: run.id, fromMs, toMs }, PATIENCE_MS)
    const known = replies.flatMap(({ answer }) =>
      'arrivals' in answer && answer.arrivals !== null ? [answer.arrivals] : [],
    )
    if (known.length === fleet.workers().length) run.gaps = mergeGaps(known)
  }

  /** Workers that did not answer. */
  async #collect(run: Run, window: RunWindow, deadlineMs: number): Promise<readonly number[]> {
    const { fleet } = this.#ports
    const replies = await fleet.ask({ do: 'read', run: run.id, choice: window.choice }, deadlineMs)
    const told = run.told.get(window.key) ?? new Map<number, WorkerPart>()
    for (const { worker, answer } of replies) {
      if ('part' in answer && answer.part !== null) told.set(worker, answer.part)
    }
    // The one that was asked for last stands last.
    run.told.delete(window.key)
    run.told.set(window.key, told)
    const others = [...run.told.keys()].filter((key) => key !== 'measure' && key !== 'all')
    if (others.length > WINDOWS_KEPT) run.told.delete(others[0]!)
    return silentOf(fleet.workers(), replies)
  }
}

function until(ms: number, now: () => number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.ceil(ms - now()))))
}

function silentOf(workers: readonly number[], replies: readonly LabReply[]): readonly number[] {
  return workers.filter((worker) => !replies.some((reply) => reply.worker === worker))
}

/** Nothing of an ended run can change any more: all its calls have ended, too. */
function settled(told: ReadonlyMap<number, WorkerPart>): boolean {
  return [...told.values()].every((part) => part.operations.every(({ inFlight }) => inFlight === 0))
}
