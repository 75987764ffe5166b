import { fileURLToPath } from 'node:url'
import type { Cancellation } from '../../../src/base/cancellation.js'
import { Fault } from '../../../src/base/fault.js'
import { CpuPool, type TaskResult } from '../../../src/cpu-pool/pool.js'
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

/** Submits a deed. A pool that is full says so by throwing at once; here that is a rejection as well. */
export async function run(
  pool: CpuPool,
  { input }: Watched,
  { cost = 1, caller = new Leaver() }: { cost?: number; caller?: Cancellation } = {},
): Promise<TaskResult<'pbkdf2'>> {
  return pool.run('pbkdf2', input, cost, caller)
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
