import { fileURLToPath } from 'node:url'
import { type Cancellation, NEVER_ABORTED } from '../../../src/base/cancellation.js'
import { Fault } from '../../../src/base/fault.js'
import { CpuPool, type TaskOrder, type TaskResult } from '../../../src/cpu-pool/pool.js'
import type { PoolTaskName } from '../../../workers/tasks.js'
import type { Lifetime } from '../data/temp-folder.js'
import { eventually } from '../timing/eventually.js'
import { Watched } from './pool-task.js'

const FILENAME = fileURLToPath(new URL('./pool-task.js', import.meta.url))

/** A pool whose threads run the deeds of `pool-task.ts`. It closes with the test. */
export function poolOf(t: Lifetime, threads: number, maxQueuedCost = 1000): CpuPool {
  const pool = new CpuPool({ threads, maxQueuedCost, filename: FILENAME })
  t.after(() => pool.close())
  return pool
}

/** A caller that leaves when it is told to. */
export class Leaver implements Cancellation {
  readonly #leavers: (() => void)[] = []
  #gone = false

  onAbort(leave: () => void): void {
    if (this.#gone) leave()
    else this.#leavers.push(leave)
  }

  leave(): void {
    this.#gone = true
    for (const leave of this.#leavers.splice(0)) leave()
  }
}

/** How a deed is submitted where it does not matter: as a small one of an address that does not leave. */
export function orderOf(order: Partial<TaskOrder>): TaskOrder {
  return { cost: 1, caller: '192.0.2.1', cancellation: NEVER_ABORTED, ...order }
}

/** What a test says of a submission. */
interface Submission {
  readonly task?: PoolTaskName
  readonly cost?: number
  readonly caller?: string
  readonly leaver?: Cancellation
}

/** Submits a deed. A pool that is full says so by throwing at once; here that is a rejection as well. */
export async function run(
  pool: CpuPool,
  { input }: Watched,
  { task = 'pbkdf2', leaver, ...order }: Submission = {},
): Promise<TaskResult<'pbkdf2'>> {
  const submitted = orderOf(leaver === undefined ? order : { ...order, cancellation: leaver })
  // Whatever its lane, a thread runs the deed.
  return pool.run(task as 'pbkdf2', input, submitted)
}

/** The fault a promise ends in. Rejects when it ends otherwise. */
export async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('it did not fail')
}

/** A pool of one thread with all it can hold. */
export interface Occupied {
  readonly pool: CpuPool
  readonly held: readonly Watched[]
}

/** Two jobs in the hands of the only thread: the first runs and holds, the second stands in the thread's queue. */
export async function occupied(t: Lifetime, maxQueuedCost?: number): Promise<Occupied> {
  const pool = poolOf(t, 1, maxQueuedCost)
  const first = new Watched('hold')
  const second = new Watched('hold')
  t.after(() => {
    first.release()
    second.release()
  })
  run(pool, first).catch(() => {})
  // Given one after the other: a thread that is only just starting would take both in one go.
  await eventually(() => first.runs === 1)
  run(pool, second).catch(() => {})
  return { pool, held: [first, second] }
}
