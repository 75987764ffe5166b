/** The generator process: takes one job by message, drives the load, answers with the figures, leaves. */
import { driveAutocannon } from './drive-autocannon.js'
import { driveWrk } from './drive-wrk.js'
import { drivePairs } from './gateway/drive-pairs.js'
import { driveStreams } from './gateway/drive-streams.js'
import type { GeneratorMessage, LoadJob, LoadResult } from './job.js'
import { MeasureWindow } from './measure-window.js'

const drivers = { autocannon: driveAutocannon, wrk: driveWrk, streams: driveStreams, pairs: drivePairs }

async function run(job: LoadJob): Promise<LoadResult> {
  const window = new MeasureWindow(job)
  const load = await drivers[job.tool](job, window)
  return { load, cost: window.cost(), poll: await window.polled() }
}

function answer(message: GeneratorMessage): void {
  // Leaving at once drops what the load tool still has open; the measurement is over.
  process.send?.(message, () => process.exit(0))
}

// The runner is gone or wants no figures any more. A signal alone would end this process without its exit
// handlers, and wrk would load on by itself.
process.once('disconnect', () => process.exit(0))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0))
process.once('message', (job) => {
  run(job as LoadJob).then(
    (result) => answer({ ok: true, result }),
    (error: unknown) => answer({ ok: false, reason: error instanceof Error ? error.message : String(error) }),
  )
})
