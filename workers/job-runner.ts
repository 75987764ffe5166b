/** How a thread of the CPU pool goes through what the pool sends it, whatever its tasks are. */
import { threadId, workerData } from 'node:worker_threads'
import {
  JobFlag,
  type PoolJob,
  type PoolJobReport,
  type PoolTaskName,
  type PoolThreadData,
  type TaskOutcome,
} from './tasks.js'

type Perform = (job: PoolJob) => TaskOutcome<PoolTaskName> | Promise<TaskOutcome<PoolTaskName>>

/**
 * Makes the function that piscina calls with each message. The jobs of a message run one after the other, and
 * messages do so too: piscina starts all it finds at its port, and posts an answer a microtask after it was given.
 * A message that ran at once would keep the answer of the one before it back until it is done itself.
 * An `outcome` is null when its job was cancelled before it started.
 */
export function jobRunner(perform: Perform) {
  let previous: Promise<unknown> = Promise.resolve()
  return (jobs: readonly PoolJob[]): Promise<PoolJobReport[]> => {
    const reports = previous.then(() => runJobs(jobs, perform))
    // The pool hears of a failure by `reports`; here it only must not keep the next message from running.
    previous = reports.catch(() => {})
    return reports
  }
}

/** Turns of the event loop are taken only by jobs that need one: most messages are done in one. */
function runJobs(jobs: readonly PoolJob[], perform: Perform): PoolJobReport[] | Promise<PoolJobReport[]> {
  const reports: PoolJobReport[] = []
  for (const [at, job] of jobs.entries()) {
    const report = runJob(job, perform)
    if (report instanceof Promise) return runRest(reports, report, jobs.slice(at + 1), perform)
    reports.push(report)
  }
  return reports
}

async function runRest(
  reports: PoolJobReport[],
  next: Promise<PoolJobReport>,
  rest: readonly PoolJob[],
  perform: Perform,
): Promise<PoolJobReport[]> {
  return [...reports, await next, ...(await runJobs(rest, perform))]
}

function runJob(job: PoolJob, perform: Perform): PoolJobReport | Promise<PoolJobReport> {
  const startedNs = process.hrtime.bigint()
  const { flags } = workerData as PoolThreadData
  if (Atomics.compareExchange(flags, job.flag, JobFlag.Resting, JobFlag.Running) === JobFlag.Cancelled) {
    return { outcome: null, thread: threadId, startedNs, busyMs: 0 }
  }
  const report = (outcome: TaskOutcome<PoolTaskName>): PoolJobReport => {
    Atomics.store(flags, job.flag, JobFlag.Resting)
    return { outcome, thread: threadId, startedNs, busyMs: Number(process.hrtime.bigint() - startedNs) / 1e6 }
  }
  const outcome = perform(job)
  return outcome instanceof Promise ? outcome.then(report) : report(outcome)
}
