/** What a thread of the CPU pool runs. */
import { threadId, workerData } from 'node:worker_threads'
import { checkCondition, evaluateCondition } from './cel/cel.js'
import { countTokens } from './count-tokens.js'
import { pbkdf2 } from './pbkdf2.js'
import type { Job, JobReport, Outcome, PoolData, TaskName, Tasks } from './tasks.js'

const TASKS: { readonly [N in TaskName]: (input: Tasks[N]['input']) => Outcome<Tasks[N]['output']> } = {
  pbkdf2,
  'count-tokens': countTokens,
  'check-condition': checkCondition,
  'evaluate-condition': evaluateCondition,
}

/** Runs jobs one after the other. An `outcome` is null when its job was cancelled before it started. */
export default function run(jobs: readonly Job[]): JobReport[] {
  return jobs.map(runOne)
}

function runOne(job: Job): JobReport {
  const startedNs = process.hrtime.bigint()
  if (Atomics.load((workerData as PoolData).cancelled, job.flag) === 1) {
    return { outcome: null, thread: threadId, startedNs, busyMs: 0 }
  }
  const outcome = outcomeOf(job)
  return { outcome, thread: threadId, startedNs, busyMs: Number(process.hrtime.bigint() - startedNs) / 1e6 }
}

/** A task that throws is a defect of ours; it must not take its neighbours in the message with it. */
function outcomeOf(job: Job): Outcome<Tasks[TaskName]['output']> {
  try {
    const task = TASKS[job.task] as (input: Job['input']) => Outcome<Tasks[TaskName]['output']>
    return task(job.input)
  } catch (error) {
    return { ok: false, reason: String(error) }
  }
}
