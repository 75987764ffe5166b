/**
 * Closed-loop load of streams by our own driver: each connection asks again when its stream has ended. Every stream is
 * checked to its last event, so this is the tool of every stream scenario, whichever the command line names.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from '../../../src/base/histogram.js'
import { type RequestSpec, requestBytes } from '../../harness/http/requests.js'
import type { ErrorCounts, LoadFigures, LoadJob } from '../job.js'
import type { MeasureWindow } from '../measure-window.js'
import { type Expected, isComplete, StreamConnection, type StreamOutcome } from './stream-driver.js'

/** A server that refuses at once must not make the loop spin. */
const AFTER_FAILURE_MS = 5

/** Everything one run counts. Errors count over warm-up and measurement, the rest while `measuring`. */
class Tally {
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
  ended(outcome: StreamOutcome, expected: Expected): boolean {
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
  const tally = new Tally()
  let over = false
  // Spread over half of the warm-up: streams of one length that begin together would for ever end together.
  const stagger = (job.warmupSeconds * 500) / job.connections
  for (let lane = 0; lane < job.connections; lane++) {
    void keepAsking(job, tally, lane * stagger, () => over)
  }
  await sleep(job.warmupSeconds * 1000)
  window.open()
  const opened = performance.now()
  tally.measuring = true
  await sleep(job.measureSeconds * 1000)
  tally.measuring = false
  const seconds = (performance.now() - opened) / 1000
  window.close()
  over = true
  return {
    completed: tally.latency.count,
    seconds,
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

/** One lane of the loop; a lost connection is replaced. */
async function keepAsking(job: LoadJob, tally: Tally, afterMs: number, over: () => boolean): Promise<void> {
  if (afterMs >= 1) await sleep(afterMs)
  const port = Number(new URL(job.origin).port)
  const [request, expected] = onlyCall(job.requests)
  let connection: StreamConnection | null = null
  while (!over()) {
    if (connection === null || !connection.usable) connection = await StreamConnection.open(port)
    if (connection === null) tally.unreachable()
    const good =
      connection !== null &&
      tally.ended(await connection.call(request, '', tally.token, expected.format), expected)
    if (!good) await sleep(AFTER_FAILURE_MS)
  }
  connection?.leave()
}

function onlyCall(requests: readonly RequestSpec[]): [Buffer, Expected] {
  const [spec] = requests
  if (spec?.answer?.kind !== 'stream' || requests.length > 1) {
    throw new Error('a stream scenario sends one request and says how many tokens its answer holds')
  }
  const { tokens, format } = spec.answer
  return [requestBytes(spec), { tokens, tag: '', ...(format !== undefined && { format }) }]
}
