/**
 * A light caller beside the load. Open loop: every request has a due time that does not depend on earlier
 * replies, and latency counts from that time, so a stalled server cannot hide its stall by not being asked.
 */
import { Histogram } from '../../src/base/histogram.js'
import { KeptConnections } from '../harness/http/kept-connections.js'
import { runPacedCalls } from '../harness/http/pacer.js'
import { requestBytes } from '../harness/http/requests.js'
import type { PollFigures } from './job.js'
import type { PollPlan } from './scenarios.js'

export class Poller {
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
