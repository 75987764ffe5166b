/** What a thread of the CPU pool runs. */
import { checkCondition, evaluateCondition } from './cel/condition-tasks.js'
import { countTokens } from './count-tokens.js'
import { jobRunner } from './job-runner.js'
import { pbkdf2 } from './pbkdf2.js'
import type { PoolJob, PoolTaskName, TaskInput, TaskOutcome } from './tasks.js'

const TASK_FUNCTIONS: {
  readonly [N in PoolTaskName]: (input: TaskInput<N>) => TaskOutcome<N>
} = {
  pbkdf2,
  'count-tokens': countTokens,
  'check-condition': checkCondition,
  'evaluate-condition': evaluateCondition,
}

export default jobRunner(runTask)

/** A task that throws is a defect of ours; it must not take its neighbours in the message with it. */
function runTask(job: PoolJob): TaskOutcome<PoolTaskName> {
  try {
    const task = TASK_FUNCTIONS[job.task] as (input: PoolJob['input']) => TaskOutcome<PoolTaskName>
    return task(job.input)
  } catch (error) {
    return { ok: false, reason: String(error) }
  }
}
