/**
 * The CPU pool of a worker.
 *
 * Each kind of work has a lane of its own: a queue and threads. What a thread has begun cannot be interrupted by us,
 * but the kernel shares the cores among threads, so no kind of work waits for another (contract/decisions 63). A lane
 * loads only what its own tasks need, and when the first of them comes: an idle worker has no thread.
 *
 * Admission is by work, not by count: costs differ by 200,000 to 1, so a queue of so many tasks says nothing
 * about how long it is. The sum of waiting cost is bounded; beyond it a task is refused at once, which costs far
 * less than serving it late, and within it those who wait have equal shares (contract/decisions 64). The queue stands
 * here and not in piscina, because piscina ends a running task by killing its thread; here a task whose caller has
 * gone is dropped before it starts and otherwise left alone.
 */
import type { PoolTaskName, PoolTasks } from '../../workers/tasks.js'
import { builtProgram } from '../base/built-files.js'
import { PoolCounters } from './counters.js'
import { Lane, type LaneOptions, type TaskOrder, type TaskResult } from './lane.js'

export type { TaskOrder, TaskResult }

interface PoolOptions {
  /** Threads that hash, 0 where nobody does. Conditions and counts have one each besides, documents two. */
  readonly threads: number
  /** Most rounds of hashes that may wait. A single task may exceed it when nothing else waits. */
  readonly maxQueuedCost: number
  /** Module with the default export that runs a message of jobs, for every lane; those of the product when absent. */
  readonly filename?: string
}

type LaneName = 'hashes' | 'conditions' | 'counts' | 'documents'

const LANE_OF_TASK = {
  pbkdf2: 'hashes',
  'check-condition': 'conditions',
  'evaluate-condition': 'conditions',
  'explain-condition': 'conditions',
  'count-tokens': 'counts',
  'read-html': 'documents',
  'read-pdf': 'documents',
  'repair-json': 'documents',
} satisfies Record<PoolTaskName, LaneName>

const threadModule = (name: string): string => builtProgram(`workers/${name}-thread.js`)

/** Of the lanes that have one thread. A condition takes 3 ms at most, so few of them share a message. */
const SINGLE_THREAD = { threads: 1, maxQueuedCost: 4_000_000 }
const LANES = {
  hashes: { filename: threadModule('hash'), nice: 10, sharedJobs: 16 },
  conditions: { ...SINGLE_THREAD, filename: threadModule('condition'), nice: 5, sharedJobs: 4 },
  counts: { ...SINGLE_THREAD, filename: threadModule('count'), nice: 10, sharedJobs: 16 },
  // Two, so that one long document does not keep all others waiting; what waits is some ten seconds of work.
  documents: {
    filename: threadModule('document'),
    threads: 2,
    maxQueuedCost: 80_000_000,
    nice: 10,
    sharedJobs: 1,
    bounds: { jobMs: 5_000, heapMb: 256 },
  },
} satisfies Record<LaneName, Partial<LaneOptions>>

const IDLE_THREAD = { tasks: 0, busyMs: 0 }

/** What the pool says of itself. */
export type PoolSnapshot = ReturnType<CpuPool['snapshot']>

export class CpuPool {
  readonly #counters = new PoolCounters()
  readonly #lanes: Readonly<Record<LaneName, Lane>>

  constructor({ threads, maxQueuedCost, ...given }: PoolOptions) {
    const counters = this.#counters
    this.#lanes = {
      hashes: new Lane({ ...LANES.hashes, threads, maxQueuedCost, ...given }, counters),
      conditions: new Lane({ ...LANES.conditions, ...given }, counters),
      counts: new Lane({ ...LANES.counts, ...given }, counters),
      documents: new Lane({ ...LANES.documents, ...given }, counters),
    }
  }

  /**
   * Runs a task in a thread of its lane. Throws `unavailable` at once when the lane is full and the caller has its
   * share of it; rejects with it when others took the place of a caller that had more than its share, or when the
   * caller left before the task started. A task that its thread dies of is tried once more.
   */
  run<N extends PoolTaskName>(
    task: N,
    input: PoolTasks[N]['input'],
    order: TaskOrder,
  ): Promise<TaskResult<N>> {
    return this.#lanes[LANE_OF_TASK[task]].run(task, input, order)
  }

  /** What waits, over all lanes. */
  queues() {
    const lanes = Object.values(this.#lanes)
    return {
      /** Threads that have been started. */
      threads: lanes.reduce((sum, lane) => sum + lane.threadIds().length, 0),
      /** Tasks that wait for a thread. */
      queue: lanes.reduce((sum, { queued }) => sum + queued, 0),
      /** Work that waits, in PBKDF2 rounds. */
      queuedRounds: lanes.reduce((sum, { queuedCost }) => sum + queuedCost, 0),
    }
  }

  /** Over all lanes. */
  snapshot() {
    const { completed, rejected, dropped, waitMs, runMs, threads } = this.#counters
    const lanes = Object.values(this.#lanes)
    const started = lanes.flatMap((lane) => lane.threadIds())
    return {
      /** Threads that have been started. */
      threads: started.length,
      /** Tasks that wait for a thread. */
      queue: lanes.reduce((sum, { queued }) => sum + queued, 0),
      /** Work that waits, in PBKDF2 rounds. */
      queuedCost: lanes.reduce((sum, { queuedCost }) => sum + queuedCost, 0),
      completed,
      rejected,
      /** Tasks dropped before they started because their caller had gone. */
      dropped,
      waitMs: waitMs.snapshot(),
      runMs: runMs.snapshot(),
      rows: started.map((thread) => ({ thread, ...(threads.get(thread) ?? IDLE_THREAD) })),
    }
  }

  /**
   * Refuses what waits and what still comes, and ends the threads. A thread is not ended while it loads its module:
   * V8 aborts the whole process when it happens amid the linking of modules.
   */
  async close(): Promise<void> {
    await Promise.all(Object.values(this.#lanes).map((lane) => lane.close()))
  }
}
