/**
 * A program of its own, started by the trial `health-under-hash`: the given number of bare threads derive keys
 * as the service does, with nothing around them. Prints derivations per second, derivations per second of CPU
 * time, and the CPU time of the whole process in milliseconds.
 *
 * Usage: node bare-hash.js <threads> <rounds> <seconds>
 */
import { pbkdf2Sync } from 'node:crypto'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { ownCpuMs } from '../../harness/machine/proc.js'

interface HashShare {
  readonly rounds: number
  readonly seconds: number
}

interface HashResult {
  readonly derived: number
  readonly ms: number
  /** CPU time of the whole process while this thread derived, milliseconds. */
  readonly cpuMs: number
}

function deriveKeys({ rounds, seconds }: HashShare): HashResult {
  const start = performance.now()
  const cpu = ownCpuMs()
  let derived = 0
  while (performance.now() - start < seconds * 1_000) {
    pbkdf2Sync('overload', 'load-test', rounds, 32, 'sha256')
    derived++
  }
  return { derived, ms: performance.now() - start, cpuMs: ownCpuMs() - cpu }
}

function deriveInThread(share: HashShare): Promise<HashResult> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL(import.meta.url), { workerData: share })
    thread.once('message', resolve)
    thread.once('error', reject)
  })
}

if (isMainThread) {
  const [threads = 1, rounds = 10_000, seconds = 5] = process.argv.slice(2).map(Number)
  const done = await Promise.all(Array.from({ length: threads }, () => deriveInThread({ rounds, seconds })))
  const perSecond = done.reduce((sum, one) => sum + (1_000 * one.derived) / one.ms, 0)
  const derived = done.reduce((sum, one) => sum + one.derived, 0)
  const perCpuSecond = (1_000 * derived) / Math.max(...done.map((one) => one.cpuMs))
  process.stdout.write(`${perSecond} ${perCpuSecond} ${ownCpuMs()}\n`)
} else {
  parentPort!.postMessage(deriveKeys(workerData as HashShare))
}
