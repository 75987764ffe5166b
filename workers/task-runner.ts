/** What a thread of the CPU pool runs: the tasks of its lane, and no module that only others need. */
import { jobRunner } from './job-runner.js'
import type { PoolJob, PoolTaskName, TaskInput, TaskOutcome } from './tasks.js'

type TaskFunctions = {
  readonly [N in PoolTaskName]?: (input: TaskInput<N>) => TaskOutcome<N> | Promise<TaskOutcome<N>>
}

/** The function that piscina calls in a thread for these tasks. */
export function taskRunner(functions: TaskFunctions) {
  /** A task that throws is a defect of ours; it must not take its neighbours in the message with it. */
  return jobRunner(async ({ task, input }: PoolJob): Promise<TaskOutcome<PoolTaskName>> => {
    try {
      const perform = functions[task] as (input: PoolJob['input']) => Promise<TaskOutcome<PoolTaskName>>
      return await perform(input)
    } catch (error) {
      return { ok: false, reason: String(error) }
    }
  })
}
