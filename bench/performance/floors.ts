/** Starts the floors: the bare programs our server is compared with. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { pinnedCommand } from '../harness/machine/pinning.js'
import type { Children } from '../harness/server/children.js'
import type { Target } from '../harness/server/sluice-server.js'
import type { LoopFigures, LoopJob } from './floor-loop.js'
import type { FloorJob, FloorReady } from './floor-server.js'
import type { SampledReply } from './sample-reply.js'

/** Starts as many bare servers as our server has workers, all on one port, each answering `replies`. */
export async function startCopyFloor(
  children: Children,
  cores: readonly number[] | null,
  processes: number,
  replies: readonly SampledReply[],
): Promise<Target> {
  const started: ChildProcess[] = []
  const job: FloorJob = { port: await freePort(), replies }
  for (let i = 0; i < processes; i++) {
    const child = startProgram(children, cores, 'floor-server.js')
    started.push(child)
    await ask<FloorReady>(child, job)
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

/** uWebSockets.js shares a port between processes only when the port was named: port 0 cannot be joined. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Runs bare threads for one measurement, in a process of their own. */
export async function runLoopFloor(
  children: Children,
  cores: readonly number[] | null,
  job: LoopJob,
): Promise<LoopFigures> {
  return await ask<LoopFigures>(startProgram(children, cores, 'floor-loop.js'), job)
}

/** Starts one of the programs beside this file with a message channel. */
export function startProgram(
  children: Children,
  cores: readonly number[] | null,
  file: string,
): ChildProcess {
  const program = fileURLToPath(new URL(file, import.meta.url))
  return children.start(pinnedCommand(cores, [process.execPath, program]), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

/** Sends one message and waits for the answer. Throws when the process leaves without one. */
export async function ask<Answer>(child: ChildProcess, message: object): Promise<Answer> {
  const answer = once(child, 'message')
  const exit = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${child.spawnargs.at(-1)?.split('/').at(-1)} left with ${signal ?? code} and no answer`)
  })
  child.send(message)
  const [value] = await Promise.race([answer, exit])
  return value as Answer
}
