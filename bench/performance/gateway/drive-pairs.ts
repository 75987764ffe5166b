/**
 * One caller that makes every call twice, at the upstream itself and through the server before it, one after the other
 * and in alternating order: what the server adds is their difference, whatever the machine does meanwhile.
 */
import { Histogram } from '../../../src/base/histogram.js'
import { quantile } from '../../harness/figures/statistics.js'
import { type RequestSpec, requestBytes } from '../../harness/http/requests.js'
import type { LoadFigures, LoadJob } from '../job.js'
import type { MeasureWindow } from '../measure-window.js'
import { measureLatencyPairs, RepeatedCall } from './added-latency.js'

/** Of streams the first token counts, of other answers their end. Opens and closes the window. */
export async function drivePairs(job: LoadJob, window: MeasureWindow): Promise<LoadFigures> {
  const [request] = job.requests
  const { direct } = job
  if (request === undefined || direct === undefined)
    throw new Error('pairs need a call and where it goes directly')
  const measure = async (seconds: number) => {
    const end = performance.now() + seconds * 1_000
    const enough = (): boolean => performance.now() >= end
    return measureLatencyPairs(
      repeatedCall(direct.origin, direct.request),
      repeatedCall(job.origin, request),
      enough,
    )
  }
  const warm = await measure(job.warmupSeconds)
  window.open()
  const opened = performance.now()
  const { whole, first, failed } = await measure(job.measureSeconds)
  const seconds = (performance.now() - opened) / 1_000
  window.close()
  const latency = new Histogram()
  for (const { through } of whole) latency.record(through)
  const pairs = request.answer?.kind === 'stream' ? first : whole
  const added = pairs.map(({ direct: alone, through }) => through - alone)
  return {
    completed: whole.length,
    seconds,
    errors: { non2xx: 0, timeouts: 0, resets: 0, incomplete: failed + warm.failed },
    latency: latency.quantiles(),
    // Between two calls through the server there is one that goes past it: rate and latency have no law in common.
    histogram: null,
    stream: null,
    added: { p50: quantile(added, 0.5), p99: quantile(added, 0.99), max: Math.max(...added) },
  }
}

function repeatedCall(origin: string, request: RequestSpec): RepeatedCall {
  const { answer } = request
  const expected = answer?.kind === 'stream' ? { tokens: answer.tokens, tag: '' } : null
  return new RepeatedCall(Number(new URL(origin).port), requestBytes(request), expected)
}
