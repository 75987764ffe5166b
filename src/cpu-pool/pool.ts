/**
 * The CPU pool of a worker: the only importer of piscina.
 *
 * Admission is by work, not by count: costs differ by 200,000 to 1, so a queue of so many tasks says nothing
 * about how long it is. The sum of waiting cost is bounded; beyond it a task is refused at once, which costs far
 * less than serving it late. The queue stands here and not in piscina, because piscina ends a running task by
 * killing its thread; here a task whose caller has gone is dropped before it starts and otherwise left alone.
 */

import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import {
  JobFlag,
  type PoolJob,
  type PoolJobReport,
  type PoolTaskName,
  type PoolTasks,
  type PoolThreadData,
} from '../../workers/tasks.js'
import type { Cancellation } from '../base/cancellation.js'
import { Fault } from '../base/fault.js'
import { Histogram } from '../base/histogram.js'

interface PoolOptions {
  readonly threads: number
  /** Most cost that may wait. A single task may exceed it when nothing else waits. */
  readonly maxQueuedCost: number
  /** Module with the default export that runs a `Job`; that of the product when absent. */
  readonly filename?: string
}

/** What a task hands back to its caller. */
export interface TaskResult<N extends PoolTaskName> {
  readonly value: PoolTasks[N]['output']
  /** Milliseconds between submission and start. */
  readonly waitMs: number
}

interface QueuedTask {
  readonly task: PoolTaskName
  readonly input: PoolTasks[PoolTaskName]['input']
  readonly cost: number
  readonly submittedNs: bigint
  readonly resolve: (result: TaskResult<PoolTaskName>) => void
  readonly reject: (error: unknown) => void
  /** Index of its flag in shared memory while a thread has it; otherwise `NO_FLAG`. */
  flag: number
  gone: boolean
  /** How many threads have died while they worked on it. */
  kills: number
  /** How many threads have died that held it. */
  losses: number
}

const POOL_THREAD_MODULE = fileURLToPath(new URL('../../workers/thread.js', import.meta.url))
/** Messages a thread holds: the one it works on and the next, so that it never waits for the event loop. */
const MESSAGES_PER_THREAD = 2
/**
 * Jobs that wait may share a message, up to this cost and number. A message costs some 50 µs on both sides, a
 * tenth of a small job; what a caller waits for its neighbours (10 ms of PBKDF2) is little against the queue it
 * stood in. Nothing shares while a thread is free.
 */
const SHARED_COST = 40_000
const SHARED_JOBS = 16
/** A task is given up when this many threads died of it, or this many that held it died of anything. */
const MOST_KILLS = 2
const MOST_LOSSES = 8
/** How much the pool yields to the event loops when they compete for a core. */
const NICE = 10
const NS_PER_MS = 1e6
/** A refused task names one of these by chance, so that those refused together do not come back together. */
const POOL_FULL = [1, 2, 3].map(
  (retryAfter) => new Fault('unavailable', { retryAfter, detail: 'the CPU pool is full' }),
)
const POOL_CLOSED = new Fault('unavailable', { detail: 'the CPU pool is closed' })
const NO_FLAG = -1
const IDLE_THREAD = { tasks: 0, busyMs: 0 }

/** What the pool says of itself. */
export type PoolSnapshot = ReturnType<CpuPool['snapshot']>

export class CpuPool {
  readonly #piscina: Piscina<readonly PoolJob[], readonly PoolJobReport[]>
  readonly #options: PoolOptions
  readonly #flags: Int32Array
  readonly #freeSlots: number[]
  /** Settled when every thread has loaded its module, or died of it. */
  readonly #loaded: Promise<unknown>
  #closed = false
  /** Tasks that wait for a thread, in the order in which they came. */
  readonly #queue = new Set<QueuedTask>()
  #queuedCost = 0
  #completed = 0
  #rejected = 0
  #dropped = 0
  readonly #waitMs = new Histogram()
  readonly #runMs = new Histogram()
  readonly #threads = new Map<number, { tasks: number; busyMs: number }>()

  constructor(options: PoolOptions) {
    const slots = options.threads * MESSAGES_PER_THREAD
    const flags = slots * SHARED_JOBS
    this.#options = options
    this.#flags = new Int32Array(new SharedArrayBuffer(flags * Int32Array.BYTES_PER_ELEMENT))
    this.#freeSlots = Array.from({ length: slots }, (_, slot) => slot)
    this.#piscina = new Piscina({
      filename: options.filename ?? POOL_THREAD_MODULE,
      minThreads: options.threads,
      maxThreads: options.threads,
      concurrentTasksPerWorker: MESSAGES_PER_THREAD,
      maxQueue: slots,
      niceIncrement: NICE,
      recordTiming: false,
      workerData: { flags: this.#flags } satisfies PoolThreadData,
    })
    this.#loaded = Promise.allSettled(Array.from({ length: options.threads }, () => this.#piscina.run([])))
  }

  /**
   * Runs a task in a thread. Throws `unavailable` at once when the pool is full; rejects with it when the caller
   * left before the task started. A task that its thread dies of is tried once more.
   */
  run<N extends PoolTaskName>(
    task: N,
    input: PoolTasks[N]['input'],
    cost: number,
    caller: Cancellation,
  ): Promise<TaskResult<N>> {
    if (this.#closed) throw POOL_CLOSED
    if (this.#queue.size > 0 && this.#queuedCost + cost > this.#options.maxQueuedCost) {
      this.#rejected++
      throw POOL_FULL[Math.floor(Math.random() * POOL_FULL.length)]!
    }
    return new Promise<TaskResult<PoolTaskName>>((resolve, reject) => {
      const submittedNs = process.hrtime.bigint()
      const entry: QueuedTask = {
        task,
        input,
        cost,
        submittedNs,
        resolve,
        reject,
        flag: NO_FLAG,
        gone: false,
        kills: 0,
        losses: 0,
      }
      this.#enqueue(entry)
      caller.onAbort(() => this.#onCallerGone(entry))
      this.#startWaiting()
    }) as Promise<TaskResult<N>>
  }

  snapshot() {
    return {
      threads: this.#options.threads,
      /** Tasks that wait for a thread. */
      queue: this.#queue.size,
      /** Work that waits, in PBKDF2 rounds. */
      queuedCost: this.#queuedCost,
      completed: this.#completed,
      rejected: this.#rejected,
      /** Tasks dropped before they started because their caller had gone. */
      dropped: this.#dropped,
      waitMs: this.#waitMs.snapshot(),
      runMs: this.#runMs.snapshot(),
      rows: this.#piscina.threads.map(({ threadId: thread }) => ({
        thread,
        ...(this.#threads.get(thread) ?? IDLE_THREAD),
      })),
    }
  }

  /**
   * Refuses what waits and what still comes, and ends the threads. A thread is not ended while it loads its module:
   * V8 aborts the whole process when it happens amid the linking of modules.
   */
  async close(): Promise<void> {
    this.#closed = true
    for (const entry of this.#queue) this.#dropTask(entry)
    await this.#loaded
    await this.#piscina.destroy()
  }

  #enqueue(entry: QueuedTask): void {
    this.#queue.add(entry)
    this.#queuedCost += entry.cost
  }

  #dequeue(entry: QueuedTask): void {
    this.#queue.delete(entry)
    this.#queuedCost -= entry.cost
  }

  /** The caller has gone: a waiting task stops counting at once, one in a thread's hands is marked. */
  #onCallerGone(entry: QueuedTask): void {
    entry.gone = true
    if (this.#queue.has(entry)) this.#dropTask(entry)
    else if (entry.flag !== NO_FLAG) Atomics.store(this.#flags, entry.flag, JobFlag.Cancelled)
  }

  #dropTask(entry: QueuedTask): void {
    this.#dequeue(entry)
    this.#dropped++
    entry.reject(new Fault('unavailable', { detail: 'the caller left before the task started' }))
  }

  #startWaiting(): void {
    while (this.#freeSlots.length > 0) {
      const batch = this.#nextBatch()
      if (batch.length === 0) return
      this.#startBatch(batch, this.#freeSlots.pop()!)
    }
  }

  /** The oldest task, and those behind it that may share its message. One that a thread has died of goes alone. */
  #nextBatch(): QueuedTask[] {
    const batch: QueuedTask[] = []
    let cost = 0
    for (const entry of this.#queue) {
      cost += entry.cost
      if (batch.length > 0 && (cost > SHARED_COST || entry.kills > 0)) break
      batch.push(entry)
      this.#dequeue(entry)
      if (batch.length === SHARED_JOBS || entry.kills > 0) break
    }
    return batch
  }

  #startBatch(batch: readonly QueuedTask[], slot: number): void {
    const jobs = batch.map((entry, index): PoolJob => this.#toJob(entry, slot * SHARED_JOBS + index))
    this.#piscina.run(jobs).then(
      (reports) => this.#onBatchDone(batch, slot, reports),
      (error: unknown) => this.#onThreadDied(batch, slot, error),
    )
  }

  #toJob(entry: QueuedTask, flag: number): PoolJob {
    entry.flag = flag
    Atomics.store(this.#flags, flag, JobFlag.Resting)
    return { task: entry.task, input: entry.input, flag }
  }

  #releaseSlot(slot: number): void {
    this.#freeSlots.push(slot)
    this.#startWaiting()
  }

  #onBatchDone(batch: readonly QueuedTask[], slot: number, reports: readonly PoolJobReport[]): void {
    for (const [index, entry] of batch.entries()) this.#settleTask(entry, reports[index]!)
    this.#releaseSlot(slot)
  }

  #settleTask(entry: QueuedTask, report: PoolJobReport): void {
    entry.flag = NO_FLAG
    const { outcome } = report
    if (outcome === null) {
      this.#dropped++
      entry.reject(new Fault('unavailable', { detail: 'the caller left before the task started' }))
      return
    }
    const waitMs = Number(report.startedNs - entry.submittedNs) / NS_PER_MS
    this.#recordRun(report, waitMs)
    if (outcome.ok) entry.resolve({ value: outcome.value, waitMs })
    else entry.reject(new Fault('internal', { detail: `task ${entry.task}: ${outcome.reason}` }))
  }

  #recordRun(report: PoolJobReport, waitMs: number): void {
    this.#completed++
    this.#waitMs.record(waitMs)
    this.#runMs.record(report.busyMs)
    const row = this.#threads.get(report.thread) ?? { tasks: 0, busyMs: 0 }
    row.tasks++
    row.busyMs += report.busyMs
    this.#threads.set(report.thread, row)
  }

  /** The thread died under the batch. Piscina has started another one. */
  #onThreadDied(batch: readonly QueuedTask[], slot: number, cause: unknown): void {
    for (const entry of batch) {
      entry.losses++
      if (Atomics.load(this.#flags, entry.flag) === JobFlag.Running) entry.kills++
      entry.flag = NO_FLAG
      const again = entry.kills < MOST_KILLS && entry.losses < MOST_LOSSES && !entry.gone && !this.#closed
      if (again) this.#enqueue(entry)
      else this.#rejectLost(entry, cause)
    }
    this.#releaseSlot(slot)
  }

  #rejectLost(entry: QueuedTask, cause: unknown): void {
    if (this.#closed) entry.reject(POOL_CLOSED)
    else entry.reject(new Fault('internal', { detail: `task ${entry.task}: its thread died`, cause }))
  }
}
