import type { LabPorts, WorkerReply } from '../lab-command.js'
import type { RunSummary, SeriesStep } from '../run-summary.js'
import { mergeGaps } from '../summary/merge.js'
import { mergeSeries } from '../summary/series.js'
import { summarizeRun } from '../summary/summarize.js'
import { STEP_MS, type WorkerWindowSnapshot } from '../worker-snapshots.js'
import { LabRequestError, type RunRequest } from './requests.js'
import { LabRun, type RunWindow } from './run.js'

/** How long a caller waits for a worker whose loop is blocked: then its last snapshot stands in for it. */
const QUICK_READ_MS = 35
/** The same, for a window of a run that is over and that was never read: there is no last snapshot yet. */
const FIRST_READ_MS = 1_000
/** Beginnings and ends wait for a busy worker, because nothing else can tell what it counted. */
const FULL_READ_MS = 5_000
const ARMING_MS = 1_000
const RUNS_KEPT = 20
/** Windows whose last snapshots are kept per run; `measure` and `all` always. */
const WINDOWS_KEPT = 8
/** Steps per question: a worker makes the answer in some milliseconds. */
const STEPS_AT_ONCE = 300
/** A worker that is kept from its core ends its last step late. */
const LAST_STEP_TRIES = 20
const STEP_MARGIN_MS = 5

/** What the workers have counted in a window, by worker, and those that did not answer. */
interface CollectedSnapshots {
  readonly snapshots: ReadonlyMap<number, WorkerWindowSnapshot>
  readonly stale: readonly number[]
}

type RunPorts = Pick<LabPorts, 'fleet' | 'now' | 'machineCpuMs' | 'environment'>

/**
 * The runs. One at a time, because what arrives is attributed by time; beside it any number of those that count only
 * calls with their name in a header.
 */
export class LabRuns {
  readonly #ports: RunPorts
  /** The newest last. */
  readonly #runs: LabRun[] = []

  constructor(ports: RunPorts) {
    this.#ports = ports
  }

  /** The newest first. */
  list(): readonly LabRun[] {
    return this.#runs.toReversed()
  }

  get latest(): LabRun | null {
    return this.#runs.at(-1) ?? null
  }

  /** Throws a 404. */
  find(id: string): LabRun {
    const run = this.#runs.find((each) => each.id === id)
    if (run === undefined) throw new LabRequestError(404, `there is no run ${id.slice(0, 40)}`)
    return run
  }

  /** Begins a run and waits until all workers know of it. Throws a 409 while another one is under way. */
  async create(request: RunRequest): Promise<{ readonly run: LabRun; readonly armed: boolean }> {
    const { fleet, now, machineCpuMs } = this.#ports
    const before = request.byHeader ? [] : this.#runsUnderWay().filter((other) => !other.request.byHeader)
    const going = before.find((other) => other.state(now()) !== 'stopped')
    if (going !== undefined) {
      const left = Math.ceil((going.measureToMs - now()) / 1000)
      throw new LabRequestError(
        409,
        `run ${going.id} is under way for ${left} s more, and its window would overlap: stop it first`,
      )
    }
    const run = new LabRun(request, now(), machineCpuMs())
    this.#runs.push(run)
    for (const other of before) await this.stop(other)
    if (this.#runs.length > RUNS_KEPT) this.#runs.shift()
    const replies = await fleet.ask({ do: 'begin-run', plan: run.plan, delays: run.delayShape }, ARMING_MS)
    const silent = findSilentWorkers(fleet.workers(), replies)
    for (const worker of silent) run.marks.add(`worker ${worker} did not answer when the run began`)
    // A caller may send load as soon as it hears of the run: what arrives from now on belongs to it.
    await sleepUntil(run.plan.startMs, now)
    return { run, armed: silent.length === 0 }
  }

  /** Ends a run now, if it has not ended, and fetches everything that the workers know of it. */
  async stop(run: LabRun): Promise<void> {
    if (run.stoppedMs !== null) return
    run.stoppedMs = this.#ports.now()
    run.cpuTo = this.#readCpu()
    await this.#ports.fleet.ask({ do: 'end-run', run: run.id }, FULL_READ_MS)
    for (const text of ['measure', 'all'])
      await this.#collectSnapshots(run, this.window(run, text), FULL_READ_MS)
    await this.#mergeGaps(run)
    // The step in which it ended is complete when it is over.
    await sleepUntil(run.endStep * STEP_MS, this.#ports.now)
    for (let tries = 0; tries < LAST_STEP_TRIES && !this.#knowsAllSteps(run); tries++) {
      await sleepUntil(this.#ports.now() + STEP_MARGIN_MS, this.#ports.now)
      await this.catchUp(run, FULL_READ_MS)
    }
  }

  window(run: LabRun, text: string): RunWindow {
    return run.window(text, this.#ports.now())
  }

  async summary(run: LabRun, window: RunWindow): Promise<RunSummary> {
    const [{ snapshots, stale }] = await Promise.all([
      this.#snapshots(run, window),
      this.catchUp(run, QUICK_READ_MS),
    ])
    // Taken as late as the marks: who died in between is gone from them.
    const parts = [...snapshots.values()]
    const alone = parts.length < 2
    const merged = window.key === 'measure' && run.gaps !== null
    return summarizeRun(
      {
        id: run.id,
        label: run.request.label,
        expect: run.request.expect,
        state: run.state(this.#ports.now()),
        seed: run.request.seed,
        delays: run.request.delays ?? (this.#ports.environment.reportDelays === 'quasi' ? 'quasi' : 'random'),
        marks: [...run.marks],
        stale,
        machine: run.machineUse(this.#readCpu()),
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

  async parts(run: LabRun, window: RunWindow): Promise<readonly WorkerWindowSnapshot[]> {
    return [...(await this.#snapshots(run, window)).snapshots.values()]
  }

  /** What each worker has counted in the window, and which of them did not answer now. A worker that dies leaves the map. */
  async #snapshots(run: LabRun, window: RunWindow): Promise<CollectedSnapshots> {
    const snapshots = run.lastSnapshots.get(window.key)
    const whole = this.#ports.fleet.workers().every((worker) => snapshots?.has(worker))
    if (run.stoppedMs !== null && whole && allCallsSettled(snapshots!))
      return { snapshots: snapshots!, stale: [] }
    const patience = run.stoppedMs === null || whole ? QUICK_READ_MS : FIRST_READ_MS
    return this.#collectSnapshots(run, window, patience)
  }

  /** Steps of the whole run as far as all workers have reported them. */
  async steps(run: LabRun, stepMs: number, operation?: string): Promise<SeriesStep[]> {
    await this.catchUp(run, QUICK_READ_MS)
    return this.knownSteps(run, run.plan.startMs, stepMs, operation)
  }

  knownSteps(run: LabRun, fromMs: number, stepMs: number, operation?: string): SeriesStep[] {
    const complete = run.series.completeSteps(this.#ports.fleet.workers())
    const toMs = Math.min(run.endStep, complete) * STEP_MS
    const question = { fromMs, toMs, originMs: run.plan.startMs, stepMs }
    return mergeSeries(run.series.parts(), operation === undefined ? question : { ...question, operation })
  }

  /** Asks for the steps that are still missing. */
  async catchUp(run: LabRun, deadlineMs: number): Promise<void> {
    const end = Math.min(run.endStep, Math.floor(this.#ports.now() / STEP_MS))
    const { fleet } = this.#ports
    while (fleet.workers().some((worker) => run.series.nextStep(worker) < end)) {
      const replies = await fleet.ask((worker) => {
        return { do: 'read-series', run: run.id, first: run.series.nextStep(worker), limit: STEPS_AT_ONCE }
      }, deadlineMs)
      const series = replies.flatMap(({ answer }) => ('series' in answer ? [answer.series] : []))
      for (const each of series) run.series.append(each)
      if (!series.some(({ connections }) => connections.length === STEPS_AT_ONCE)) return
    }
  }

  /** A worker has died: what it had counted is gone with it. */
  onWorkerDied(worker: number): void {
    for (const run of this.#runsUnderWay()) {
      run.marks.add(`worker ${worker} died during the run: what it had counted is lost`)
      for (const snapshots of run.lastSnapshots.values()) snapshots.delete(worker)
    }
  }

  /** A worker has come (back): the runs under way go on in it. */
  async onWorkerJoined(worker: number): Promise<void> {
    for (const run of this.#runsUnderWay()) {
      const command = { do: 'begin-run', plan: run.plan, delays: run.delayShape } as const
      await this.#ports.fleet.ask((each) => (each === worker ? command : null), QUICK_READ_MS)
    }
  }

  #readCpu() {
    return { atMs: this.#ports.now(), cpuMs: this.#ports.machineCpuMs() }
  }

  /** Runs that have not been stopped. */
  #runsUnderWay(): readonly LabRun[] {
    return this.#runs.filter((run) => run.stoppedMs === null)
  }

  #knowsAllSteps(run: LabRun): boolean {
    return this.#ports.fleet.workers().every((worker) => run.series.nextStep(worker) >= run.endStep)
  }

  /** One worker knows its gaps; of several only the moments of all arrivals tell the gaps between them. */
  async #mergeGaps(run: LabRun): Promise<void> {
    const { fleet } = this.#ports
    const { fromMs, toMs } = this.window(run, 'measure')
    if (fleet.workers().length < 2) return
    const replies = await fleet.ask({ do: 'read-arrivals', run: run.id, fromMs, toMs }, FULL_READ_MS)
    const known = replies.flatMap(({ answer }) =>
      'arrivals' in answer && answer.arrivals !== null ? [answer.arrivals] : [],
    )
    if (known.length === fleet.workers().length) run.gaps = mergeGaps(known)
  }

  async #collectSnapshots(run: LabRun, window: RunWindow, deadlineMs: number): Promise<CollectedSnapshots> {
    const { fleet } = this.#ports
    const replies = await fleet.ask({ do: 'read-window', run: run.id, choice: window.choice }, deadlineMs)
    const snapshots = run.lastSnapshots.get(window.key) ?? new Map<number, WorkerWindowSnapshot>()
    const alive = fleet.workers()
    for (const { worker, answer } of replies) {
      // One that has answered and died while the others were waited for has taken its counts along.
      if (alive.includes(worker) && 'part' in answer && answer.part !== null)
        snapshots.set(worker, answer.part)
    }
    // The one that was asked for last stands last.
    run.lastSnapshots.delete(window.key)
    run.lastSnapshots.set(window.key, snapshots)
    const others = [...run.lastSnapshots.keys()].filter((key) => key !== 'measure' && key !== 'all')
    if (others.length > WINDOWS_KEPT) run.lastSnapshots.delete(others[0]!)
    return { snapshots, stale: findSilentWorkers(alive, replies) }
  }
}

function sleepUntil(ms: number, now: () => number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.ceil(ms - now()))))
}

function findSilentWorkers(workers: readonly number[], replies: readonly WorkerReply[]): readonly number[] {
  return workers.filter((worker) => !replies.some((reply) => reply.worker === worker))
}

/** Nothing of an ended run can change any more: all its calls have ended, too. */
function allCallsSettled(snapshots: ReadonlyMap<number, WorkerWindowSnapshot>): boolean {
  return [...snapshots.values()].every((part) => part.operations.every(({ inFlight }) => inFlight === 0))
}
