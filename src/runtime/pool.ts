/**
 * The CPU pool of a worker: the only importer of piscina.
 *
 * Admission is by work, not by count: costs differ by 200,000 to 1, so a queue of so many tasks says nothing
 * about how long it is. The sum of waiting cost is bounded; beyond it a task is refused at once, which costs far
 * less than serving it late. The queue stands here and not in piscina, because piscina ends a running task by
 * killing its thread; here a task whose caller has gone is dropped before it starts and otherwise left alone.
 */
import { Piscina } from 'piscina'
import type { Job, JobReport, PoolData, TaskName, Tasks } from '../../workers/tasks.js'
import { Fault } from '../base/fault.js'
import { Histogram } from '../base/histogram.js'
import type { PoolSnapshot } from '../stats/worker-stats.js'

export interface PoolOptions {
  readonly threads: number
  /** Most cost that may wait. A single task may exceed it when nothing else waits. */
  readonly maxQueuedCost: number
  /** Module with the default export that runs a `Job`. */
  readonly filename: string
}

/** What a task hands back to its caller. */
export interface TaskResult<N extends TaskName> {
  readonly value: Tasks[N]['output']
  /** Milliseconds between submission and start. */
  readonly waitMs: number
}

/** Somebody who waits for a task; a `Call` is one. */
export interface Caller {
  whenGone(leave: () => void): void
}

interface Waiting {
  readonly task: TaskName
  readonly input: Tasks[TaskName]['input']
  readonly cost: number
  readonly submittedNs: bigint
  readonly resolve: (result: TaskResult<TaskName>) => void
  readonly reject: (error: unknown) => void
  /** -1 until a thread has been chosen. */
  slot: number
  gone: boolean
  tries: number
}

/** Jobs a thread holds: the one it runs and the next, so that it never waits for the event loop in between. */
const JOBS_PER_THREAD = 2
/** How much the pool yields to the event loops when they compete for a core. */
const NICE = 10
const NS_PER_MS = 1e6
/** Every refused task names one of these, so that those refused together do not come back together. */
const FULL = [1, 2, 3].map(
  (retryAfter) => new Fault('unavailable', { retryAfter, detail: 'the CPU pool is full' }),
)

export class CpuPool {
  readonly #piscina: Piscina<Job, JobReport>
  readonly #options: PoolOptions
  readonly #cancelled: Int32Array
  readonly #freeSlots: number[]
  #queue: Waiting[] = []
  #queuedCost = 0
  #waiting = 0
  #completed = 0
  #rejected = 0
  #dropped = 0
  readonly #waitMs = new Histogram()
  readonly #runMs = new Histogram()
  readonly #threads = new Map<number, { tasks: number; busyMs: number }>()

  constructor(options: PoolOptions) {
    const slots = options.threads * JOBS_PER_THREAD
    this.#options = options
    this.#cancelled = new Int32Array(new SharedArrayBuffer(slots * Int32Array.BYTES_PER_ELEMENT))
    this.#freeSlots = Array.from({ length: slots }, (_, slot) => slot)
    this.#piscina = new Piscina({
      filename: options.filename,
      minThreads: options.threads,
      maxThreads: options.threads,
      concurrentTasksPerWorker: JOBS_PER_THREAD,
      maxQueue: slots,
      niceIncrement: NICE,
      recordTiming: false,
      workerData: { cancelled: this.#cancelled } satisfies PoolData,
    })
  }

  /**
   * Runs a task in a thread. Fails with `unavailable` when the pool is full, or when the caller left before the
   * task started. A task whose thread dies is tried once more.
   */
  run<N extends TaskName>(
    task: N,
    input: Tasks[N]['input'],
    cost: number,
    caller: Caller,
  ): Promise<TaskResult<N>> {
    if (this.#waiting > 0 && this.#queuedCost + cost > this.#options.maxQueuedCost) {
      this.#rejected++
      return Promise.reject(FULL[Math.floor(Math.random() * FULL.length)]!)
    }
    return new Promise<TaskResult<TaskName>>((resolve, reject) => {
      const submittedNs = process.hrtime.bigint()
      const entry: Waiting = {
        task,
        input,
        cost,
        submittedNs,
        resolve,
        reject,
        slot: -1,
        gone: false,
        tries: 0,
      }
      caller.whenGone(() => this.#leave(entry))
      this.#enqueue(entry)
      this.#feed()
    }) as Promise<TaskResult<N>>
  }

  snapshot(): PoolSnapshot {
    return {
      threads: this.#options.threads,
      queue: this.#waiting,
      queuedCost: this.#queuedCost,
      completed: this.#completed,
      rejected: this.#rejected,
      dropped: this.#dropped,
      waitMs: this.#waitMs.snapshot(),
      runMs: this.#runMs.snapshot(),
      rows: [...this.#threads].map(([thread, row]) => ({ thread, ...row })),
    }
  }

  /** Ends the threads. What still waits is refused. */
  async close(): Promise<void> {
    await this.#piscina.destroy()
  }

  #enqueue(entry: Waiting): void {
    this.#queue.push(entry)
    this.#waiting++
    this.#queuedCost += entry.cost
  }

  /** The caller has gone: a waiting task stops counting at once, one in a thread's hands is marked. */
  #leave(entry: Waiting): void {
    if (entry.gone) return
    entry.gone = true
    if (entry.slot >= 0) Atomics.store(this.#cancelled, entry.slot, 1)
    else this.#forget(entry)
  }

  #forget(entry: Waiting): void {
    this.#waiting--
    this.#queuedCost -= entry.cost
    this.#dropped++
    entry.reject(new Fault('unavailable', { detail: 'the caller left before the task started' }))
  }

  #feed(): void {
    while (this.#freeSlots.length > 0) {
      const entry = this.#next()
      if (entry === undefined) return
      this.#start(entry, this.#freeSlots.pop()!)
    }
  }

  #next(): Waiting | undefined {
    for (let entry = this.#queue.shift(); entry !== undefined; entry = this.#queue.shift()) {
      if (!entry.gone) return entry
    }
    return undefined
  }

  #start(entry: Waiting, slot: number): void {
    this.#waiting--
    this.#queuedCost -= entry.cost
    entry.slot = slot
    entry.tries++
    Atomics.store(this.#cancelled, slot, 0)
    const job: Job = { task: entry.task, input: entry.input, slot }
    this.#piscina.run(job).then(
      (report) => this.#finish(entry, report),
      (error: unknown) => this.#lose(entry, error),
    )
  }

  #release(entry: Waiting): void {
    this.#freeSlots.push(entry.slot)
    entry.slot = -1
    this.#feed()
  }

  #finish(entry: Waiting, report: JobReport): void {
    this.#release(entry)
    const { outcome } = report
    if (outcome === null) {
      this.#dropped++
      entry.reject(new Fault('unavailable', { detail: 'the caller left before the task started' }))
      return
    }
    const waitMs = Number(report.startedNs - entry.submittedNs) / NS_PER_MS
    this.#count(report, waitMs)
    if (outcome.ok) entry.resolve({ value: outcome.value, waitMs })
    else entry.reject(new Fault('internal', { detail: `task ${entry.task}: ${outcome.reason}` }))
  }

  #count(report: JobReport, waitMs: number): void {
    this.#completed++
    this.#waitMs.record(waitMs)
    this.#runMs.record(report.busyMs)
    const row = this.#threads.get(report.thread) ?? { tasks: 0, busyMs: 0 }
    row.tasks++
    row.busyMs += report.busyMs
    this.#threads.set(report.thread, row)
  }

  /** The thread died under the task. Piscina has started another one. */
  #lose(entry: Waiting, cause: unknown): void {
    const again = entry.tries < 2 && !entry.gone
    if (again) this.#enqueue(entry)
    this.#release(entry)
    if (!again) entry.reject(new Fault('internal', { detail: `task ${entry.task}: its thread died`, cause }))
  }
}
