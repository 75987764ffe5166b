/**
 * Load by autocannon, through its programming interface. Its own latency table is cut to whole milliseconds,
 * so latency is taken from its `response` event, which carries the exact duration, into our own histogram.
 */
import type { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import autocannon from 'autocannon'
import { Histogram } from '../../src/base/histogram.js'
import {
  type BodyCheck,
  hasPlaceholder,
  headersOf,
  IdSource,
  isCompleteBody,
} from '../harness/http/requests.js'
import type { ErrorCounts, LoadFigures, LoadJob } from './job.js'
import type { MeasureWindow } from './measure-window.js'

const TIMEOUT_SECONDS = 30

/** Runs the load over warm-up and measurement without a pause in between; opens and closes the window. */
export async function driveAutocannon(job: LoadJob, window: MeasureWindow): Promise<LoadFigures> {
  const histogram = new Histogram()
  const faults = new FaultCounter()
  // Every request of a cycle that checks its answers has the same one.
  const check = job.requests[0]?.answer
  let measuring = false

  const options: autocannon.Options = {
    url: job.origin,
    connections: job.connections,
    timeout: TIMEOUT_SECONDS,
    // Longer than needed: this program says when it is over.
    duration: job.warmupSeconds + job.measureSeconds + TIMEOUT_SECONDS,
    setupClient: setupClient(job, faults),
    ...(check !== undefined && { verifyBody: (body) => verifyBody(check, String(body), faults) }),
  }
  // Only with a callback does autocannon hand out the instance; its own result table is not used.
  const instance = autocannon(options, () => {})
  instance.on('response', (_client, status, _bytes, ms) => {
    if (status < 200 || status > 299) faults.non2xx++
    if (measuring) histogram.record(ms)
  })

  await sleep(job.warmupSeconds * 1000)
  window.open()
  const opened = performance.now()
  measuring = true
  await sleep(job.measureSeconds * 1000)
  measuring = false
  const seconds = (performance.now() - opened) / 1000
  window.close()
  instance.stop()

  return {
    completed: histogram.count,
    seconds,
    errors: faults.counts(),
    latency: histogram.quantiles(),
    histogram: histogram.snapshot(),
    stream: null,
  }
}

function verifyBody(check: BodyCheck, body: string, faults: FaultCounter): boolean {
  const whole = isCompleteBody(check, body)
  if (!whole) faults.mismatches++
  return whole
}

/** Gives every connection the cycle, each starting at another place so they do not march in step. */
function setupClient(job: LoadJob, faults: FaultCounter): (client: autocannon.Client) => void {
  const cycle = autocannonRequests(job)
  let connection = 0
  return (client) => {
    const start = Math.floor((connection++ * cycle.length) / job.connections) % cycle.length
    client.setRequests([...cycle.slice(start), ...cycle.slice(0, start)])
    faults.watch(client)
  }
}

function autocannonRequests(job: LoadJob): autocannon.Request[] {
  const ids = new IdSource(job.ids)
  return job.requests.map((request) => ({
    method: request.method,
    path: request.path,
    headers: headersOf(request),
    ...(request.body !== undefined && { body: request.body }),
    ...(hasPlaceholder(request) && {
      // autocannon calls this for every request it sends, with a copy that is the function's to change.
      setupRequest: (built: autocannon.Request) => ({ ...built, path: ids.fill(request.path) }),
    }),
  }))
}

/**
 * Counts requests that got no good answer. autocannon reconnects silently when the server closes a connection,
 * so lost requests are found by counting: a connection that sends while one is outstanding has lost that one.
 */
class FaultCounter {
  non2xx = 0
  /** Bodies that were not whole; those of bad statuses are among them. */
  mismatches = 0
  #timeouts = 0
  #lost = 0

  watch(client: EventEmitter): void {
    let outstanding = false
    client.on('request', () => {
      if (outstanding) this.#lost++
      outstanding = true
    })
    client.on('response', () => {
      outstanding = false
    })
    client.on('timeout', () => {
      this.#timeouts++
    })
  }

  counts(): ErrorCounts {
    return {
      non2xx: this.non2xx,
      timeouts: this.#timeouts,
      resets: Math.max(0, this.#lost - this.#timeouts),
      incomplete: Math.max(0, this.mismatches - this.non2xx),
    }
  }
}
