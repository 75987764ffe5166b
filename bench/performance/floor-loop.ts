/**
 * The floor of a computing operation: bare threads doing the same work in a loop, no HTTP and no queue. The
 * process counts finished turns between the end of the warm-up and the end of the measurement, reports, leaves.
 */
import { Worker } from 'node:worker_threads'
import type { CompactJWSHeaderParameters, JWK, JWTPayload } from 'jose'
import { costBetween, readCost, readMachineCpuMs } from './process-cost.js'

export type LoopWork =
  | { readonly kind: 'pbkdf2'; readonly data: string; readonly rounds: number }
  | {
      readonly kind: 'scan'
      readonly texts: number
      readonly sample: readonly string[]
      readonly needle: string
    }
  | {
      /** One token of an issuer verified by `jose`, and one of ours signed by it. */
      readonly kind: 'jws'
      readonly alg: 'RS256' | 'ES256'
      readonly jwk: JWK
      /** The issuer's. */
      readonly token: string
      /** What ours says; signed with a key of the thread's own. */
      readonly header: CompactJWSHeaderParameters
      readonly claims: JWTPayload
    }

export interface LoopJob {
  readonly work: LoopWork
  readonly threads: number
  readonly warmupSeconds: number
  readonly measureSeconds: number
}

export interface LoopFigures {
  readonly completed: number
  readonly seconds: number
  readonly cpuMs: number | null
  /** What everything else on the machine used meanwhile. */
  readonly foreignCpuMs: number | null
  readonly rssBytes: number | null
}

/** What a loop thread is started with: its work and the place in shared memory where it counts. */
export interface LoopThreadData {
  readonly work: LoopWork
  readonly counts: Int32Array
  readonly slot: number
}

interface Mark {
  readonly at: number
  readonly turns: number
  readonly cpuMs: number | null
  readonly machineCpuMs: number | null
}

async function run(job: LoopJob): Promise<LoopFigures> {
  const counts = new Int32Array(new SharedArrayBuffer(4 * job.threads))
  for (let slot = 0; slot < job.threads; slot++) {
    const workerData: LoopThreadData = { work: job.work, counts, slot }
    const thread = new Worker(new URL('./floor-loop-thread.js', import.meta.url), { workerData })
    thread.once('error', (error) => {
      throw error
    })
  }
  await firstTurns(counts)
  await sleep(job.warmupSeconds)
  const from = mark(counts)
  await sleep(job.measureSeconds)
  const to = mark(counts)
  const cpuMs = costBetween(from.cpuMs, to.cpuMs)
  const machineCpuMs = costBetween(from.machineCpuMs, to.machineCpuMs)
  return {
    completed: to.turns - from.turns,
    seconds: (to.at - from.at) / 1000,
    cpuMs,
    foreignCpuMs: cpuMs === null || machineCpuMs === null ? null : Math.max(0, machineCpuMs - cpuMs),
    rssBytes: readCost([process.pid])?.rssBytes ?? null,
  }
}

function mark(counts: Int32Array): Mark {
  const turns = counts.reduce((sum, _, slot) => sum + Atomics.load(counts, slot), 0)
  const cpuMs = readCost([process.pid])?.cpuMs ?? null
  return { at: performance.now(), turns, cpuMs, machineCpuMs: readMachineCpuMs() }
}

/** Building the texts of a large scan takes a while and is no part of the warm-up. */
async function firstTurns(counts: Int32Array): Promise<void> {
  while (counts.some((_, slot) => Atomics.load(counts, slot) === 0)) await sleep(0.02)
}

function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}

process.once('disconnect', () => process.exit(0))
process.once('message', (job) => {
  run(job as LoopJob).then((figures) => process.send?.(figures, () => process.exit(0)))
})
