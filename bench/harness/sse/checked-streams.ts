/** A closed loop of streams, each checked to its last event, and what its readers saw. */
import { Histogram } from '../../../src/base/histogram.js'
import {
  CheckedStream,
  describeOutcome,
  type ExpectedStream,
  isComplete,
  type StreamOutcome,
} from './checked-stream.js'
import { StreamLoop } from './stream-loop.js'

export interface CheckedStreamsPlan {
  readonly port: number
  /** Streams at a time, each on a connection of its own, where the next one follows it. */
  readonly streams: number
  /** No stream begins later than this. */
  readonly seconds: number
  /** The first ones begin spread over this time, so that they do not march in step. */
  readonly spreadMs: number
  /** The request with this number, and what its stream has to hold. */
  readonly request: (index: number) => Buffer
  readonly expected: (index: number) => ExpectedStream
  /** Called when all of the first have begun. */
  readonly onAllBegun?: () => void
}

const MAX_NOTES = 5
/** A stream that is silent for so long has failed. */
const SILENCE_MS = 30_000

/** Milliseconds. */
export class CheckedStreamFigures {
  /** While it is false, only what went wrong is counted. */
  recording = true
  streams = 0
  incomplete = 0
  tokens = 0
  /** Tokens that should have come and did not; one out of its place makes the stream incomplete. */
  lostTokens = 0
  /** Tokens of another request. */
  crossed = 0
  /** Incomplete streams by cause: a bad status, silence, a lost connection, or missing or wrong events. */
  readonly errors = { non2xx: 0, timeouts: 0, resets: 0, incomplete: 0 }
  /** From the sending to the end, of complete streams. */
  readonly latency = new Histogram()
  readonly firstToken = new Histogram()
  readonly gap = new Histogram()
  /** The first few incomplete streams, a sentence each. */
  readonly notes: string[] = []

  readonly token = (_at: number, gapMs: number): void => {
    if (!this.recording) return
    this.tokens++
    // The first token of a stream has no gap before it.
    if (gapMs >= 0) this.gap.record(gapMs)
  }

  /** Counts a stream; true when it was complete. */
  ended(outcome: StreamOutcome, expected: ExpectedStream): boolean {
    const complete = isComplete(outcome, expected)
    this.streams++
    this.crossed += outcome.crossed
    this.lostTokens += Math.max(0, expected.tokens - outcome.tokens)
    if (this.recording && outcome.firstTokenMs !== null) this.firstToken.record(outcome.firstTokenMs)
    if (this.recording && complete) this.latency.record(outcome.totalMs)
    if (!complete) this.#countIncomplete(causeOf(outcome), describeOutcome(outcome))
    return complete
  }

  refused(expected: ExpectedStream): void {
    this.streams++
    this.lostTokens += expected.tokens
    this.#countIncomplete('resets', 'no connection')
  }

  #countIncomplete(cause: keyof CheckedStreamFigures['errors'], what: string): void {
    this.incomplete++
    this.errors[cause]++
    if (this.notes.length < MAX_NOTES) this.notes.push(`an incomplete stream: ${what}`)
  }
}

function causeOf({ lost, status }: StreamOutcome): keyof CheckedStreamFigures['errors'] {
  if (lost !== null) return lost === 'timeout' ? 'timeouts' : 'resets'
  return status === 200 ? 'incomplete' : 'non2xx'
}

/** Streams begun in time are read to their end, unless the loop is interrupted. */
export function checkedStreamLoop(
  plan: CheckedStreamsPlan,
  figures: CheckedStreamFigures,
): StreamLoop<StreamOutcome> {
  const { port, expected, onAllBegun, ...rest } = plan
  return new StreamLoop<StreamOutcome>(
    { ...rest, to: { address: '127.0.0.1', port }, schedule: null, silenceMs: SILENCE_MS },
    {
      call: (index, _dueAt, now) => {
        const { tag, format } = expected(index)
        return new CheckedStream(tag, figures.token, format, now)
      },
      ended: (outcome, index) => figures.ended(outcome, expected(index)),
      refused: (index) => figures.refused(expected(index)),
      ...(onAllBegun !== undefined && { allBegun: onAllBegun }),
    },
  )
}
