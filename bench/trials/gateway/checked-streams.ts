import { Histogram } from '../../../src/base/histogram.js'
import {
  CheckedStream,
  describeOutcome,
  type ExpectedStream,
  isComplete,
  type StreamOutcome,
} from '../../harness/sse/checked-stream.js'
import { StreamLoop } from '../../harness/sse/stream-loop.js'
import { type CallTarget, callBytes } from '../../performance/gateway/calls.js'
import { mockModel, tagOf } from '../../performance/gateway/mock-models.js'

interface StreamLoadSettings {
  readonly port: number
  readonly to: CallTarget
  readonly model: string
  /** Streams at a time, each on a connection of its own. */
  readonly lanes: number
  /** No stream begins later than this. */
  readonly seconds: number
  /** The beginnings of the lanes are spread over this time, so that they do not march in step. */
  readonly spreadMs: number
  /** Called when every lane has begun. */
  readonly onAllBegun?: () => void
}

/** What the readers of all lanes saw; milliseconds. */
export interface StreamFigures {
  readonly streams: number
  readonly incomplete: number
  /** Tokens that should have come and did not; one out of its place makes the stream incomplete. */
  readonly lostTokens: number
  /** Tokens of another request. */
  readonly crossed: number
  readonly gap: Histogram
  readonly firstToken: Histogram
  /** The first few incomplete streams, a sentence each. */
  readonly notes: readonly string[]
}

const NOTES = 5
/** A stream that is silent for so long has failed. */
const SILENCE_MS = 30_000

class StreamAccount {
  streams = 0
  incomplete = 0
  lostTokens = 0
  crossed = 0
  readonly gap = new Histogram()
  readonly firstToken = new Histogram()
  readonly notes: string[] = []

  readonly token = (_at: number, gapMs: number): void => {
    if (gapMs >= 0) this.gap.record(gapMs)
  }

  /** Books a stream; true when it was complete. */
  ended(outcome: StreamOutcome, expected: ExpectedStream): boolean {
    this.streams++
    this.crossed += outcome.crossed
    this.lostTokens += Math.max(0, expected.tokens - outcome.tokens)
    if (outcome.firstTokenMs !== null) this.firstToken.record(outcome.firstTokenMs)
    if (isComplete(outcome, expected)) return true
    this.note(describeOutcome(outcome))
    return false
  }

  unreachable(expected: ExpectedStream): void {
    this.streams++
    this.lostTokens += expected.tokens
    this.note('no connection')
  }

  note(what: string): void {
    this.incomplete++
    if (this.notes.length < NOTES) this.notes.push(`an incomplete stream: ${what}`)
  }
}

/** Each lane asks again when its stream has ended; streams begun in time are read to their end. */
export async function runStreams(settings: StreamLoadSettings): Promise<StreamFigures> {
  const { port, to, model, lanes, seconds, spreadMs, onAllBegun } = settings
  const account = new StreamAccount()
  const expected = (index: number): ExpectedStream => expectedStream(model, index)
  const loop = new StreamLoop<StreamOutcome>(
    {
      to: { address: '127.0.0.1', port },
      schedule: null,
      seconds,
      streams: lanes,
      spreadMs,
      request: (index) => callBytes(to, model, expected(index).tag),
      silenceMs: SILENCE_MS,
    },
    {
      call: (index, _dueAt, now) => new CheckedStream(expected(index).tag, account.token, 'chat', now),
      ended: (outcome, index) => account.ended(outcome, expected(index)),
      refused: (index) => account.unreachable(expected(index)),
      ...(onAllBegun !== undefined && { allBegun: onAllBegun }),
    },
  )
  await loop.run()
  return account
}

/** What a stream of a model has to hold for request `number`. */
export function expectedStream(model: string, number: number): ExpectedStream {
  const plan = mockModel(model)
  if (plan === null) throw new Error(`${model} is no model of the mock`)
  return { tokens: plan.tokens, tag: plan.tagged ? tagOf(number) : '' }
}
