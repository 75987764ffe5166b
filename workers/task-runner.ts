/** What a thread of the CPU pool runs: the tasks of its lane, and no module that only others need. */
import { jobRunner } from './job-runner.js'
import type { PoolJob, PoolTaskName, TaskInput, TaskOutcome } from './tasks.js'

type TaskFunctions = {
  readonly [N in PoolTaskName]?: (input: TaskInput<N>) => TaskOutcome<N> | Promise<TaskOutcome<N>>
}

/** The function that piscina calls in a thread for these tasks. */
export function taskRunner(functions: TaskFunctions) {
  /** A task that throws is a defect of ours; it must not take its neighbours in the message with it. */
  const failed = (error: unknown): TaskOutcome<PoolTaskName> => ({ ok: false, reason: String(error) })
  return jobRunner(({ task, input }: PoolJob) => {
    try {
      const perform = functions[task] as (
        input: PoolJob['input'],
      ) => ReturnType<Parameters<typeof jobRunner>[0]>
      const outcome = perform(input)
      return outcome instanceof Promise ? outcome.catch(failed) : outcome
    } catch (error) {
      return failed(error)
    }
  })
}
