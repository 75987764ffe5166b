/** What a thread of the CPU pool runs. */
import { threadId, workerData } from 'node:worker_threads'
import { checkCondition, evaluateCondition } from './cel/condition-tasks.js'
import { countTokens } from './count-tokens.js'
import { pbkdf2 } from './pbkdf2.js'
import type { PoolJob, PoolJobReport, PoolTaskName, PoolThreadData, TaskInput, TaskOutcome } from './tasks.js'

const TASK_FUNCTIONS: {
  readonly [N in PoolTaskName]: (input: TaskInput<N>) => TaskOutcome<N>
} = {
  pbkdf2,
  'count-tokens': countTokens,
  'check-condition': checkCondition,
  'evaluate-condition': evaluateCondition,
}

/** Runs jobs one after the other. An `outcome` is null when its job was cancelled before it started. */
export default function runJobs(jobs: readonly PoolJob[]): PoolJobReport[] {
  return jobs.map(runJob)
}

function runJob(job: PoolJob): PoolJobReport {
  const startedNs = process.hrtime.bigint()
  if (Atomics.load((workerData as PoolThreadData).cancelled, job.flag) === 1) {
    return { outcome: null, thread: threadId, startedNs, busyMs: 0 }
  }
  const outcome = runTask(job)
  return { outcome, thread: threadId, startedNs, busyMs: Number(process.hrtime.bigint() - startedNs) / 1e6 }
}

/** A task that throws is a defect of ours; it must not take its neighbours in the message with it. */
function runTask(job: PoolJob): TaskOutcome<PoolTaskName> {
  try {
    const task = TASK_FUNCTIONS[job.task] as (input: PoolJob['input']) => TaskOutcome<PoolTaskName>
    return task(job.input)
  } catch (error) {
    return { ok: false, reason: String(error) }
  }
}
