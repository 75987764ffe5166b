/** One lane of the CPU pool: a queue, its threads, and the tasks that a thread has in its hands. */
import { createRequire } from 'node:module'
import { getPriority, setPriority } from 'node:os'
import type { Piscina } from 'piscina'
import {
  JobFlag,
  type PoolJob,
  type PoolJobReport,
  type PoolTaskName,
  type PoolTasks,
  type PoolThreadData,
} from '../../workers/tasks.js'
import type { Cancellation } from '../base/cancellation.js'
import { FairQueue } from '../base/fair-queue.js'
import { Fault } from '../base/fault.js'
import type { PoolCounters } from './counters.js'
import { JobWatch } from './job-watch.js'

export interface LaneOptions {
  readonly threads: number
  /** Most cost that may wait. A single task may exceed it when nothing else waits. */
  readonly maxQueuedCost: number
  /** Module with the default export that runs a message of jobs. */
  readonly filename: string
  /** How much its threads yield to the event loops when they compete for a core. */
  readonly nice: number
  /** Most jobs that share a message. */
  readonly sharedJobs: number
  /** Of jobs that strangers can make long or large: such a job is given up, with the thread that works on it. */
  readonly bounds?: {
    /** Most milliseconds of a job, which is alone in its message. */
    readonly jobMs: number
    /** Most MiB of a thread's heap. */
    readonly heapMb: number
  }
}

/** What a task hands back to its caller. */
export interface TaskResult<N extends PoolTaskName> {
  readonly value: PoolTasks[N]['output']
  /** Milliseconds between submission and start. */
  readonly waitMs: number
}

/** Whose work a task is, and what it costs. */
export interface TaskOrder {
  /** In PBKDF2 rounds, a quarter of a microsecond each. */
  readonly cost: number
  /** Those who wait in a lane have equal shares of it by this name: an organization, a key or an address. */
  readonly caller: string
  readonly cancellation: Cancellation
}

interface QueuedTask {
  readonly task: PoolTaskName
  readonly input: PoolTasks[PoolTaskName]['input']
  readonly cost: number
  readonly caller: string
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

type LaneThreads = Piscina<readonly PoolJob[], readonly PoolJobReport[]>

/** Messages a thread holds: the one it works on and the next, so that it never waits for the event loop. */
const MESSAGES_PER_THREAD = 2
/**
 * Jobs that wait may share a message, up to this cost. A message costs some 50 µs on both sides, a tenth of a small
 * job; what a caller waits for its neighbours (10 ms of PBKDF2) is little against the queue it stood in. Nothing
 * shares while a thread is free. A caller's turn in the queue is as much.
 */
const SHARED_COST = 40_000
/** A task is given up when this many threads died of it, or this many that held it died of anything. */
const MOST_KILLS = 2
const MOST_LOSSES = 8
const NS_PER_MS = 1e6
/** A refused task names one of these by chance, so that those refused together do not come back together. */
const POOL_FULL = [1, 2, 3].map(
  (retryAfter) => new Fault('unavailable', { retryAfter, detail: 'the CPU pool is full' }),
)
const POOL_CLOSED = new Fault('unavailable', { detail: 'the CPU pool is closed' })
const NO_FLAG = -1

/** Nothing stands behind a job that may take seconds while another thread is free, or becomes so. */
function messagesPerThread({ bounds }: LaneOptions): number {
  return bounds === undefined ? MESSAGES_PER_THREAD : 1
}

const load = createRequire(import.meta.url)

export class Lane {
  readonly #options: LaneOptions
  readonly #counters: PoolCounters
  readonly #flags: Int32Array
  readonly #freeSlots: number[]
  /** Null until the first task comes. */
  #piscina: LaneThreads | null = null
  /** Settled when every thread has loaded its module, or died of it. */
  #loaded: Promise<unknown> = Promise.resolve()
  #closed = false
  readonly #queue = new FairQueue<QueuedTask>(SHARED_COST)
  /** Whose task a thread has, by slot. */
  readonly #holders: (string | undefined)[] = []

  constructor(options: LaneOptions, counters: PoolCounters) {
    const slots = options.threads * messagesPerThread(options)
    this.#options = options
    this.#counters = counters
    this.#flags = new Int32Array(
      new SharedArrayBuffer(slots * options.sharedJobs * Int32Array.BYTES_PER_ELEMENT),
    )
    this.#freeSlots = Array.from({ length: slots }, (_, slot) => slot)
  }

  /** The first task starts the threads, and waits for them. */
  #start(): LaneThreads {
    if (this.#piscina !== null) return this.#piscina
    const { threads, filename, nice, bounds } = this.#options
    const library = load('piscina') as typeof import('piscina')
    const piscina: LaneThreads = new library.Piscina({
      filename,
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: messagesPerThread(this.#options),
      maxQueue: threads * messagesPerThread(this.#options),
      niceIncrement: mayChangePriority() ? nice : 0,
      recordTiming: false,
      workerData: { flags: this.#flags } satisfies PoolThreadData,
      ...(bounds && { resourceLimits: { maxOldGenerationSizeMb: bounds.heapMb } }),
    })
    this.#loaded = Promise.allSettled(Array.from({ length: threads }, () => piscina.run([])))
    this.#piscina = piscina
    return piscina
  }

  /** As `CpuPool.run`. */
  run<N extends PoolTaskName>(
    task: N,
    input: PoolTasks[N]['input'],
    { cost, caller, cancellation }: TaskOrder,
  ): Promise<TaskResult<N>> {
    if (this.#closed) throw POOL_CLOSED
    this.#makeRoom({ cost, caller })
    return new Promise<TaskResult<PoolTaskName>>((resolve, reject) => {
      const submittedNs = process.hrtime.bigint()
      const entry: QueuedTask = {
        task,
        input,
        cost,
        caller,
        submittedNs,
        resolve,
        reject,
        flag: NO_FLAG,
        gone: false,
        kills: 0,
        losses: 0,
      }
      this.#queue.add(entry)
      cancellation.onAbort(() => this.#onCallerGone(entry))
      this.#startWaiting()
    }) as Promise<TaskResult<N>>
  }

  /** Tasks that wait for a thread. */
  get queued(): number {
    return this.#queue.size
  }

  get queuedCost(): number {
    return this.#queue.cost
  }

  /** Numbers of the threads that have been started. */
  threadIds(): number[] {
    return this.#piscina?.threads.map(({ threadId }) => threadId) ?? []
  }

  /** As `CpuPool.close`. */
  async close(): Promise<void> {
    this.#closed = true
    for (const entry of [...this.#queue.all()]) this.#dropTask(entry)
    await this.#loaded
    await this.#piscina?.destroy()
  }

  /**
   * Throws when the lane is full and the caller has its share of it already; whoever has less takes the place of the
   * newest work of the one that has most.
   */
  #makeRoom(order: Pick<TaskOrder, 'cost' | 'caller'>): void {
    const { maxQueuedCost } = this.#options
    const queue = this.#queue
    if (queue.size === 0 || queue.cost + order.cost <= maxQueuedCost) return
    if (!queue.isWithinShare(order, maxQueuedCost)) throw this.#refusal()
    while (queue.cost + order.cost > maxQueuedCost) {
      const displaced = queue.newestOfHeaviest()!
      queue.remove(displaced)
      displaced.reject(this.#refusal())
    }
  }

  #refusal(): Fault {
    this.#counters.rejected++
    return POOL_FULL[Math.floor(Math.random() * POOL_FULL.length)]!
  }

  /** The caller has gone: a waiting task stops counting at once, one in a thread's hands is marked. */
  #onCallerGone(entry: QueuedTask): void {
    entry.gone = true
    if (this.#queue.has(entry)) this.#dropTask(entry)
    else if (entry.flag !== NO_FLAG)
      // What has begun stays marked as running: whoever watches how long it takes looks there.
      Atomics.compareExchange(this.#flags, entry.flag, JobFlag.Resting, JobFlag.Cancelled)
  }

  #dropTask(entry: QueuedTask): void {
    this.#queue.remove(entry)
    this.#rejectGone(entry)
  }

  #rejectGone(entry: QueuedTask): void {
    this.#counters.dropped++
    entry.reject(new Fault('unavailable', { detail: 'the caller left before the task started' }))
  }

  #startWaiting(): void {
    while (this.#freeSlots.length > 0) {
      const batch = this.#nextBatch()
      if (batch.length === 0) return
      this.#startBatch(batch, this.#freeSlots.pop()!)
    }
  }

  /** The next task, and those behind it that may share its message. One that a thread has died of goes alone. */
  #nextBatch(): QueuedTask[] {
    const batch: QueuedTask[] = []
    let cost = 0
    while (batch.length < this.#options.sharedJobs) {
      const entry = this.#queue.peek(this.#passedOver)
      if (entry === undefined) break
      cost += entry.cost
      if (batch.length > 0 && (cost > SHARED_COST || entry.kills > 0)) break
      batch.push(entry)
      this.#queue.take(entry)
      if (entry.kills > 0) break
    }
    return batch
  }

  /** Where a job may take seconds, a caller that has a thread leaves the last free one to others. */
  get #passedOver(): ((caller: string) => boolean) | undefined {
    const isScarce = this.#options.bounds !== undefined && this.#freeSlots.length === 1
    return isScarce ? (caller) => this.#holders.includes(caller) : undefined
  }

  #startBatch(batch: readonly QueuedTask[], slot: number): void {
    this.#holders[slot] = batch[0]!.caller
    const first = slot * this.#options.sharedJobs
    const jobs = batch.map((entry, index): PoolJob => this.#toJob(entry, first + index))
    this.#runJobs(jobs).then(
      (reports) => this.#onBatchDone(batch, slot, reports),
      (error: unknown) => this.#onThreadDied(batch, slot, error),
    )
  }

  /** Rejects also where threads cannot be started, for want of memory or descriptors. */
  async #runJobs(jobs: readonly PoolJob[]): Promise<readonly PoolJobReport[]> {
    const { bounds } = this.#options
    if (bounds === undefined) return this.#start().run(jobs)
    const watch = new JobWatch(this.#flags, jobs[0]!.flag, bounds.jobMs)
    try {
      return await this.#start().run(jobs, { signal: watch.signal })
    } finally {
      watch.stop()
    }
  }

  #toJob(entry: QueuedTask, flag: number): PoolJob {
    entry.flag = flag
    Atomics.store(this.#flags, flag, JobFlag.Resting)
    return { task: entry.task, input: entry.input, flag }
  }

  #releaseSlot(slot: number): void {
    this.#holders[slot] = undefined
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
      this.#rejectGone(entry)
      return
    }
    const waitMs = Number(report.startedNs - entry.submittedNs) / NS_PER_MS
    this.#counters.recordRun(report, waitMs)
    if (outcome.ok) entry.resolve({ value: outcome.value, waitMs })
    else entry.reject(new Fault('internal', { detail: `task ${entry.task}: ${outcome.reason}` }))
  }

  /** The thread died under the batch. Piscina has started another one. */
  #onThreadDied(batch: readonly QueuedTask[], slot: number, cause: unknown): void {
    for (const entry of batch) {
      entry.losses++
      if (Atomics.load(this.#flags, entry.flag) === JobFlag.Running) entry.kills++
      entry.flag = NO_FLAG
      const again =
        entry.kills < this.#mostKills && entry.losses < MOST_LOSSES && !entry.gone && !this.#closed
      if (again) this.#queue.add(entry)
      else this.#rejectLost(entry, cause)
    }
    this.#releaseSlot(slot)
  }

  /** What is bounded has had all it may have at the first try. */
  get #mostKills(): number {
    return this.#options.bounds === undefined ? MOST_KILLS : 1
  }

  #rejectLost(entry: QueuedTask, cause: unknown): void {
    if (this.#closed) entry.reject(POOL_CLOSED)
    else entry.reject(new Fault('internal', { detail: `task ${entry.task}: its thread died`, cause }))
  }
}

/** A thread that wants to be nice where a filter of system calls forbids it would end its process. */
function mayChangePriority(): boolean {
  try {
    setPriority(getPriority())
    return true
  } catch {
    return false
  }
}
