/** Starts the floors: the bare programs our server is compared with. */
import type { ChildProcess } from 'node:child_process'
import type { ChildProcesses } from '../harness/server/child-processes.js'
import { exchangeMessage, freePort, startProgram } from '../harness/server/program.js'
import type { LoadTarget } from '../harness/server/sluice-server.js'
import type { LoopFigures, LoopJob } from './floor-loop.js'
import type { FloorJob, FloorReady } from './floor-server.js'
import type { SampledReply } from './sample-reply.js'

/** Starts as many bare servers as our server has workers, all on one port, each answering `replies`. */
export async function startCopyFloor(
  children: ChildProcesses,
  cores: readonly number[] | null,
  processes: number,
  replies: readonly SampledReply[],
): Promise<LoadTarget> {
  const started: ChildProcess[] = []
  const job: FloorJob = { port: await freePort(), replies }
  for (let i = 0; i < processes; i++) {
    const child = startProgram(children, cores, new URL('./floor-server.js', import.meta.url))
    started.push(child)
    await exchangeMessage<FloorReady>(child, job)
  }
  return {
    origin: `http://127.0.0.1:${job.port}`,
    pids: started.map((child) => child.pid!),
    gone: () => started.some((child) => child.exitCode !== null || child.signalCode !== null),
    stop: async () => {
      await Promise.all(started.map((child) => children.stop(child)))
    },
  }
}

/** Runs bare threads for one measurement, in a process of their own. */
export async function runLoopFloor(
  children: ChildProcesses,
  cores: readonly number[] | null,
  job: LoopJob,
): Promise<LoopFigures> {
  return await exchangeMessage<LoopFigures>(
    startProgram(children, cores, new URL('./floor-loop.js', import.meta.url)),
    job,
  )
}
