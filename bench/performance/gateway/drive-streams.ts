/**
 * Closed-loop load of streams by our own driver: each connection asks again when its stream has ended. Every stream is
 * checked to its last event, so this is the tool of every stream scenario, whichever the command line names.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from '../../../src/base/histogram.js'
import { type RequestSpec, requestBytes } from '../../harness/http/requests.js'
import {
  CheckedStream,
  type ExpectedStream,
  isComplete,
  type StreamOutcome,
} from '../../harness/sse/checked-stream.js'
import { StreamLoop } from '../../harness/sse/stream-loop.js'
import type { ErrorCounts, LoadFigures, LoadJob } from '../job.js'
import type { MeasureWindow } from '../measure-window.js'

/** A stream that is silent for so long has failed. */
const SILENCE_MS = 30_000

/** Everything one run counts. Errors count over warm-up and measurement, the rest while `measuring`. */
class StreamTally {
  measuring = false
  tokens = 0
  readonly latency = new Histogram()
  readonly firstToken = new Histogram()
  readonly gap = new Histogram()
  #non2xx = 0
  #timeouts = 0
  #resets = 0
  #incomplete = 0

  readonly token = (_at: number, gapMs: number): void => {
    if (!this.measuring) return
    this.tokens++
    // The first token of a stream has no gap before it.
    if (gapMs >= 0) this.gap.record(gapMs)
  }

  /** Books a stream; true when it was complete. */
  ended(outcome: StreamOutcome, expected: ExpectedStream): boolean {
    if (!isComplete(outcome, expected)) {
      this.#failed(outcome)
      return false
    }
    if (this.measuring) {
      this.latency.record(outcome.totalMs)
      this.firstToken.record(outcome.firstTokenMs ?? outcome.totalMs)
    }
    return true
  }

  unreachable(): void {
    this.#resets++
  }

  #failed({ lost, status }: StreamOutcome): void {
    if (lost === 'timeout') this.#timeouts++
    else if (lost !== null) this.#resets++
    else if (status !== 200) this.#non2xx++
    else this.#incomplete++
  }

  errors(): ErrorCounts {
    return {
      non2xx: this.#non2xx,
      timeouts: this.#timeouts,
      resets: this.#resets,
      incomplete: this.#incomplete,
    }
  }
}

/** Runs the load over warm-up and measurement without a pause in between; opens and closes the window. */
export async function driveStreams(job: LoadJob, window: MeasureWindow): Promise<LoadFigures> {
  const tally = new StreamTally()
  const [request, expected] = singleCall(job.requests)
  const loop = new StreamLoop<StreamOutcome>(
    {
      to: { address: '127.0.0.1', port: Number(new URL(job.origin).port) },
      schedule: null,
      // It is interrupted at the end of the measurement.
      seconds: job.warmupSeconds + job.measureSeconds + 60,
      streams: job.connections,
      // Spread over half of the warm-up: streams of one length that begin together would for ever end together.
      spreadMs: job.warmupSeconds * 500,
      request: () => request,
      silenceMs: SILENCE_MS,
    },
    {
      call: (_index, _dueAt, now) => new CheckedStream('', tally.token, expected.format, now),
      ended: (outcome) => tally.ended(outcome, expected),
      refused: () => tally.unreachable(),
    },
  )
  const running = loop.run()
  await sleep(job.warmupSeconds * 1000)
  window.open()
  const opened = performance.now()
  tally.measuring = true
  await sleep(job.measureSeconds * 1000)
  tally.measuring = false
  const measuredSeconds = (performance.now() - opened) / 1000
  window.close()
  loop.interrupt()
  await running
  return {
    completed: tally.latency.count,
    seconds: measuredSeconds,
    errors: tally.errors(),
    latency: tally.latency.quantiles(),
    histogram: tally.latency.snapshot(),
    stream: {
      tokens: tally.tokens,
      firstToken: tally.firstToken.snapshot(),
      gap: tally.gap.snapshot(),
    },
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
