/** The measured part of a load run: opened after the warm-up, closed at its end, with the costs in between. */

import { Histogram } from '../../src/base/histogram.js'
import { readMachineCpuMs } from '../../src/base/machine-cpu.js'
import { KeptConnections } from '../harness/http/kept-connections.js'
import { runPacedCalls } from '../harness/http/pacer.js'
import { requestBytes } from '../harness/http/requests.js'
import { costBetween, ownCpuMs, type ProcessCost, readCost } from '../harness/machine/proc.js'
import type { CostFigures, LoadJob, PollFigures, PollPlan } from './job.js'

interface CostReading {
  readonly at: number
  readonly server: ProcessCost | null
  readonly generatorCpuMs: number
  readonly machineCpuMs: number | null
}

export class MeasureWindow {
  readonly #serverPids: readonly number[]
  readonly #upstreamPids: readonly number[]
  readonly #poller: Poller | null
  #opened: CostReading | null = null
  #closed: CostReading | null = null

  constructor(job: LoadJob) {
    this.#serverPids = job.serverPids
    this.#upstreamPids = job.upstreamPids
    this.#poller = job.poll === null ? null : new Poller(job.origin, job.poll)
  }

  open(): void {
    this.#opened = this.#readCosts()
    this.#poller?.start()
  }

  close(): void {
    this.#closed = this.#readCosts()
    this.#poller?.stop()
  }

  /** Costs between `open` and `close`. Throws when one of the two never happened. */
  cost(): CostFigures {
    if (this.#opened === null || this.#closed === null)
      throw new Error('the measurement did not run to its end')
    const before = this.#opened
    const after = this.#closed
    const serverCpuMs = costBetween(before.server?.cpuMs, after.server?.cpuMs)
    const machineCpuMs = costBetween(before.machineCpuMs, after.machineCpuMs)
    const generatorCpuMs = after.generatorCpuMs - before.generatorCpuMs
    const known = serverCpuMs !== null && machineCpuMs !== null
    return {
      seconds: (after.at - before.at) / 1000,
      serverCpuMs,
      serverRssBytes: after.server?.rssBytes ?? null,
      generatorCpuMs,
      foreignCpuMs: known ? Math.max(0, machineCpuMs - serverCpuMs - generatorCpuMs) : null,
    }
  }

  /** What the light caller saw, once its last reply is in; null when the job asks for none. */
  async polled(): Promise<PollFigures | null> {
    return this.#poller === null ? null : await this.#poller.figures()
  }

  #readCosts(): CostReading {
    return {
      at: performance.now(),
      server: readCost(this.#serverPids),
      generatorCpuMs: generatorCpuMs() + (readCost(this.#upstreamPids)?.cpuMs ?? 0),
      machineCpuMs: readMachineCpuMs(),
    }
  }
}

/** This process and the children it has waited for (wrk), from /proc; without /proc this process alone. */
function generatorCpuMs(): number {
  return readCost([process.pid])?.cpuMs ?? ownCpuMs()
}

/**
 * A light caller beside the load. Open loop: every request has a due time that does not depend on earlier replies, and
 * latency counts from that time, so a stalled server cannot hide its stall by not being asked.
 */
class Poller {
  readonly #plan: PollPlan
  readonly #connections: KeptConnections
  readonly #request: Buffer
  readonly #latency = new Histogram()
  readonly #lateness = new Histogram()
  #errors = 0
  #running = true
  #calling: Promise<unknown> = Promise.resolve()

  constructor(origin: string, plan: PollPlan) {
    this.#plan = plan
    this.#connections = new KeptConnections(Number(new URL(origin).port))
    this.#request = requestBytes({ method: 'GET', route: plan.path, path: plan.path })
  }

  start(): void {
    const pace = { perSecond: this.#plan.ratePerSecond, running: () => this.#running }
    this.#calling = runPacedCalls(pace, (due) => this.#ask(due))
  }

  stop(): void {
    this.#running = false
  }

  /** Waits for the replies still under way, then gives what was seen. */
  async figures(): Promise<PollFigures> {
    await this.#calling
    this.#connections.drop()
    return { latency: this.#latency.snapshot(), lateness: this.#lateness.snapshot(), errors: this.#errors }
  }

  async #ask(due: number): Promise<void> {
    this.#lateness.record(performance.now() - due)
    const reply = await this.#connections.ask(this.#request)
    if (reply !== null) this.#latency.record(performance.now() - due)
    if (reply?.status !== 200) this.#errors++
  }
}
