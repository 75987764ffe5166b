/**
 * Closed-loop load of streams by our own driver: each connection asks again when its stream has ended. Every stream is
 * checked to its last event, so this is the tool of every stream scenario, whichever the command line names.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type RequestSpec, requestBytes } from '../../harness/http/requests.js'
import {
  CheckedStreamFigures,
  checkedStreamLoop,
  type ExpectedStream,
} from '../../harness/sse/checked-streams.js'
import type { LoadFigures, LoadJob } from '../job.js'
import type { MeasureWindow } from '../measure-window.js'

/** Runs the load over warm-up and measurement without a pause in between; opens and closes the window. */
export async function driveStreams(job: LoadJob, window: MeasureWindow): Promise<LoadFigures> {
  const figures = new CheckedStreamFigures()
  figures.recording = false
  const [request, expected] = singleCall(job.requests)
  const plan = {
    port: Number(new URL(job.origin).port),
    // It is interrupted at the end of the measurement.
    seconds: job.warmupSeconds + job.measureSeconds + 60,
    streams: job.connections,
    // Spread over half of the warm-up: streams of one length that begin together would for ever end together.
    spreadMs: job.warmupSeconds * 500,
    request: () => request,
    expected: () => expected,
  }
  const loop = checkedStreamLoop(plan, figures)
  const running = loop.run()
  await sleep(job.warmupSeconds * 1000)
  window.open()
  const opened = performance.now()
  figures.recording = true
  await sleep(job.measureSeconds * 1000)
  figures.recording = false
  const seconds = (performance.now() - opened) / 1000
  window.close()
  loop.interrupt()
  await running
  const { latency, firstToken, gap, tokens, errors } = figures
  return {
    completed: latency.count,
    seconds,
    errors,
    latency: latency.quantiles(),
    histogram: latency.snapshot(),
    stream: { tokens, firstToken: firstToken.snapshot(), gap: gap.snapshot() },
  }
}

function singleCall(requests: readonly RequestSpec[]): [Buffer, ExpectedStream] {
  const [spec] = requests
  if (spec?.answer?.kind !== 'stream' || requests.length > 1) {
    throw new Error('a stream scenario sends one request and says how many tokens its answer holds')
  }
  const { tokens, format } = spec.answer
  return [requestBytes(spec), { tokens, tag: '', ...(format !== undefined && { format }) }]
}
