/**
 * A light caller beside the load. Open loop: every request has a due time that does not depend on earlier
 * replies, and latency counts from that time, so a stalled server cannot hide its stall by not being asked.
 */
import { Agent, get } from 'node:http'
import { Histogram } from '../../src/base/histogram.js'
import type { PollFigures } from './job.js'
import type { PollPlan } from './scenarios.js'

const REPLY_TIMEOUT_MS = 30_000

export class Poller {
  readonly #url: string
  readonly #gapMs: number
  readonly #agent = new Agent({ keepAlive: true })
  readonly #latency = new Histogram()
  readonly #lateness = new Histogram()
  readonly #outstanding = new Set<Promise<void>>()
  #errors = 0
  #due = 0
  #timer: NodeJS.Timeout | undefined

  constructor(origin: string, plan: PollPlan) {
    this.#url = origin + plan.path
    this.#gapMs = 1000 / plan.ratePerSecond
  }

  start(): void {
    this.#due = performance.now() + this.#gapMs
    this.#schedule()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /** Waits for the replies still under way, then gives what was seen. */
  async figures(): Promise<PollFigures> {
    await Promise.all(this.#outstanding)
    this.#agent.destroy()
    return { latency: this.#latency.snapshot(), lateness: this.#lateness.snapshot(), errors: this.#errors }
  }

  #schedule(): void {
    this.#timer = setTimeout(
      () => {
        // Every request that has become due is sent, also when this process was late for several.
        while (this.#due <= performance.now()) {
          this.#ask(this.#due)
          this.#due += this.#gapMs
        }
        this.#schedule()
      },
      Math.max(1, this.#due - performance.now()),
    )
  }

  #ask(due: number): void {
    this.#lateness.record(performance.now() - due)
    const asked = this.#reply().then(
      (good) => {
        this.#latency.record(performance.now() - due)
        if (!good) this.#errors++
      },
      () => {
        this.#errors++
      },
    )
    this.#outstanding.add(asked)
    void asked.finally(() => this.#outstanding.delete(asked))
  }

  #reply(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const request = get(this.#url, { agent: this.#agent, timeout: REPLY_TIMEOUT_MS }, (reply) => {
        reply.resume()
        reply.once('end', () => resolve(reply.statusCode === 200))
        reply.once('error', reject)
      })
      request.once('timeout', () => request.destroy(new Error('no reply')))
      request.once('error', reject)
    })
  }
}
