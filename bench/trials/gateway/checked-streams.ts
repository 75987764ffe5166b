/** Streams of a model under a gateway, so many at a time, each checked to its last event. */
import { Histogram } from '../../../src/base/histogram.js'
import {
  CheckedStream,
  describeOutcome,
  type ExpectedStream,
  isComplete,
  type StreamOutcome,
} from '../../harness/sse/checked-stream.js'
import { StreamLoop } from '../../harness/sse/stream-loop.js'
import { type CallTarget, callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { mockModel, tagOf } from '../../performance/gateway/mock-models.js'

interface StreamLoadSettings {
  /** Our chat endpoint unless it says. */
  readonly to?: CallTarget
  readonly model: string
  /** Streams at a time, each on a connection of its own. */
  readonly lanes: number
  /** No stream begins later than this. */
  readonly seconds: number
  /** The first ones begin spread over this time, so that they do not march in step. */
  readonly spreadMs: number
  /** Called when all of the first have begun. */
  readonly onAllBegun?: () => void
}

const MAX_NOTES = 5
/** A stream that is silent for so long has failed. */
const SILENCE_MS = 30_000

/** What the readers of all streams saw; milliseconds. */
export class StreamFigures {
  streams = 0
  incomplete = 0
  /** Tokens that should have come and did not; one out of its place makes the stream incomplete. */
  lostTokens = 0
  /** Tokens of another request. */
  crossed = 0
  readonly gap = new Histogram()
  readonly firstToken = new Histogram()
  /** The first few incomplete streams, a sentence each. */
  readonly notes: string[] = []

  readonly token = (_at: number, gapMs: number): void => {
    if (gapMs >= 0) this.gap.record(gapMs)
  }

  /** Counts a stream; true when it was complete. */
  ended(outcome: StreamOutcome, expected: ExpectedStream): boolean {
    this.streams++
    this.crossed += outcome.crossed
    this.lostTokens += Math.max(0, expected.tokens - outcome.tokens)
    if (outcome.firstTokenMs !== null) this.firstToken.record(outcome.firstTokenMs)
    if (isComplete(outcome, expected)) return true
    this.#countIncomplete(describeOutcome(outcome))
    return false
  }

  refused(expected: ExpectedStream): void {
    this.streams++
    this.lostTokens += expected.tokens
    this.#countIncomplete('no connection')
  }

  #countIncomplete(what: string): void {
    this.incomplete++
    if (this.notes.length < MAX_NOTES) this.notes.push(`an incomplete stream: ${what}`)
  }
}

/** Each stream is followed by the next on its connection; those begun in time are read to their end. */
export async function runStreams(port: number, settings: StreamLoadSettings): Promise<StreamFigures> {
  const { to = SLUICE_CHAT, model, lanes, seconds, spreadMs, onAllBegun } = settings
  const figures = new StreamFigures()
  const expected = (index: number): ExpectedStream => expectedStream(model, index)
  const plan = {
    to: { address: '127.0.0.1', port },
    seconds,
    streams: lanes,
    spreadMs,
    silenceMs: SILENCE_MS,
  }
  const request = (index: number) => callBytes(to, model, expected(index).tag)
  await new StreamLoop<StreamOutcome>(
    { ...plan, schedule: null, request },
    {
      call: (index, _dueAt, now) => new CheckedStream(expected(index).tag, figures.token, 'chat', now),
      ended: (outcome, index) => figures.ended(outcome, expected(index)),
      refused: (index) => figures.refused(expected(index)),
      ...(onAllBegun !== undefined && { allBegun: onAllBegun }),
    },
  ).run()
  return figures
}

/** What a stream of a model has to hold for request `number`. */
export function expectedStream(model: string, number: number): ExpectedStream {
  const plan = mockModel(model)
  if (plan === null) throw new Error(`${model} is no model of the mock`)
  return { tokens: plan.tokens, tag: plan.tagged ? tagOf(number) : '' }
}
