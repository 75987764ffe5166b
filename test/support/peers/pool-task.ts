/**
 * A task file for tests of the CPU pool, in the place of `workers/hash-thread.ts`: what a job does is said by its
 * input. The flags are shared memory, so that a test can see where a job is and let it go on.
 */
import { jobRunner } from '../../../workers/job-runner.js'
import type { TaskOutcome } from '../../../workers/tasks.js'

export type Deed =
  /** Answers at once. */
  | 'answer'
  /** Waits for `release`. */
  | 'hold'
  /** Keeps the thread busy for `rounds` milliseconds. */
  | 'busy'
  /** Answers with an outcome that is none. */
  | 'refuse'
  /** Ends its thread at the first run, answers at the next. */
  | 'exit-once'
  | 'exit-always'
  /** Throws at the first run, answers at the next. */
  | 'throw-once'
  | 'throw-always'

export interface DeedInput {
  readonly data: Deed
  readonly salt: string
  readonly rounds: number
  readonly flags: Int32Array
}

const RUNS = 0
const RELEASED = 1

/** The input of a job, and a view on what becomes of it. */
export class Watched {
  readonly #flags = new Int32Array(new SharedArrayBuffer(8))
  readonly input: DeedInput

  constructor(deed: Deed, rounds = 1) {
    this.input = { data: deed, salt: '', rounds, flags: this.#flags }
  }

  /** How many times a thread has begun with it. */
  get runs(): number {
    return Atomics.load(this.#flags, RUNS)
  }

  /** Lets a job that holds go on; one that has not begun will not hold. */
  release(): void {
    Atomics.store(this.#flags, RELEASED, 1)
    Atomics.notify(this.#flags, RELEASED)
  }
}

const ANSWER: TaskOutcome<'pbkdf2'> = { ok: true, value: { hash: 'answer', elapsedMs: 0 } }

function perform({ data, rounds, flags }: DeedInput): TaskOutcome<'pbkdf2'> {
  const earlierRuns = Atomics.add(flags, RUNS, 1)
  switch (data) {
    case 'answer':
      return ANSWER
    case 'hold':
      Atomics.wait(flags, RELEASED, 0)
      return ANSWER
    case 'busy': {
      const until = performance.now() + rounds
      while (performance.now() < until);
      return ANSWER
    }
    case 'refuse':
      return { ok: false, reason: 'it would not' }
    case 'exit-once':
    case 'exit-always':
      if (data === 'exit-always' || earlierRuns === 0) process.exit(7)
      return ANSWER
    case 'throw-once':
    case 'throw-always':
      if (data === 'throw-always' || earlierRuns === 0) throw new Error('thrown in the thread')
      return ANSWER
  }
}

export default jobRunner((job) => perform(job.input as DeedInput))
