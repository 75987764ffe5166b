/** A closed loop of streams, each checked to its last event, and what its readers saw. */

import { Histogram } from '../../../src/base/histogram.js'
import { StreamLoop } from './stream-loop.js'
import type { StreamLoss } from './timed-stream.js'

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

/** What a complete stream has to hold. */
export interface ExpectedStream {
  readonly tokens: number
  /** Every token carries it; an empty text when the model does not tag. */
  readonly tag: string
  /** Of the answer; chat unless it says otherwise. */
  readonly format?: 'messages'
}

/** How a call ended. Milliseconds count from the sending. */
export type StreamOutcome = ReturnType<CheckedStream['outcome']>

/** Sees a stream as it comes. `gapMs`: since the token before, NaN at the first. */
export type TokenWatcher = (at: number, gapMs: number) => void

/** What shows a token, the reason of the end and the terminator in the bytes of an event. */
interface StreamMarkers {
  readonly token: Buffer
  readonly stop: Buffer
  readonly done: Buffer
}

const MARKS: Readonly<Record<'chat' | 'messages', StreamMarkers>> = {
  chat: {
    token: Buffer.from('"content":"w'),
    stop: Buffer.from('"finish_reason":"stop"'),
    done: Buffer.from('[DONE]'),
  },
  messages: {
    token: Buffer.from('"text":"w'),
    stop: Buffer.from('"stop_reason":"end_turn"'),
    done: Buffer.from('"type":"message_stop"'),
  },
}
const NAME = Buffer.from('event:')
const DATA = Buffer.from('data:')
const SAID_LENGTH = 300
const DIGIT_ZERO = 48

/** True when a call brought everything it had to. */
export function isComplete(outcome: StreamOutcome, expected: ExpectedStream): boolean {
  const { status, tokens, disordered, crossed, terminated, lost } = outcome
  return (
    status === 200 &&
    tokens === expected.tokens &&
    disordered === 0 &&
    crossed === 0 &&
    terminated &&
    lost === null
  )
}

/** One sentence for a note: what was wrong with an incomplete call. */
export function describeOutcome(outcome: StreamOutcome): string {
  const { status, tokens, disordered, crossed, terminated, lost, refusalText: said } = outcome
  const parts = [`status ${status}`, `${tokens} tokens`]
  if (disordered > 0) parts.push(`${disordered} out of order`)
  if (crossed > 0) parts.push(`${crossed} of another request`)
  if (!terminated) parts.push('not terminated')
  if (lost !== null) parts.push(lost)
  if (said !== '') parts.push(said)
  return parts.join(', ')
}

/**
 * A stream checked event by event: every token there, in order, of its own request, then the finish reason and the
 * terminator.
 */
export class CheckedStream {
  status = 0
  tokens = 0
  readonly #tag: string
  readonly #watch: TokenWatcher | null
  readonly #marks: StreamMarkers
  readonly #sentAt: number
  #disordered = 0
  #crossed = 0
  #stopped = false
  #dones = 0
  #said = ''
  #firstTokenAt: number | null = null
  #lastTokenAt = Number.NaN
  /** The number the next token has to have. */
  #due = 0

  /** `tag`: every token has to carry it; empty when the model does not tag. */
  constructor(
    tag: string,
    watch: TokenWatcher | null = null,
    format: 'chat' | 'messages' = 'chat',
    sentAt = performance.now(),
  ) {
    this.#tag = tag
    this.#watch = watch
    this.#marks = MARKS[format]
    this.#sentAt = sentAt
  }

  event(bytes: Buffer, from: number, to: number, at: number): void {
    const { token: mark, done, stop } = this.#marks
    const token = bytes.indexOf(mark, from)
    if (token >= 0 && token < to) this.#token(bytes, token + mark.length, at)
    else if (containsBytes(bytes, done, from, to)) this.#dones++
    else if (containsBytes(bytes, stop, from, to)) this.#stopped = true
    else if (
      !startsWithBytes(bytes, DATA, from) &&
      !startsWithBytes(bytes, NAME, from) &&
      this.#said === ''
    ) {
      this.#said = bytes.toString('utf8', from, Math.min(to, from + SAID_LENGTH))
    }
  }

  outcome(lost: StreamLoss | null, at: number) {
    const { status, tokens } = this
    return {
      /** 0 when no head arrived. */
      status,
      tokens,
      /** Tokens that did not follow the one before: one for each place where some are missing, doubled or swapped. */
      disordered: this.#disordered,
      /** Tokens that carry another request's tag. */
      crossed: this.#crossed,
      /** The finish reason `stop`, one `[DONE]` and the framing's own end were there. */
      terminated: this.#stopped && this.#dones === 1,
      firstTokenMs: this.#firstTokenAt === null ? null : this.#firstTokenAt - this.#sentAt,
      totalMs: at - this.#sentAt,
      /** Why there is no complete answer, as far as the connection knows; null when its framing was whole. */
      lost,
      /** The beginning of a body that is no stream: what a refusal said. */
      refusalText: status === 200 ? '' : this.#said,
    }
  }

  #token(bytes: Buffer, from: number, at: number): void {
    let index = 0
    let end = from
    for (let digit = bytes[end]! - DIGIT_ZERO; digit >= 0 && digit <= 9; digit = bytes[++end]! - DIGIT_ZERO) {
      index = index * 10 + digit
    }
    if (index !== this.#due) this.#disordered++
    this.#due = index + 1
    const tag = this.#tag
    if (tag !== '' && bytes.toString('latin1', end + 1, end + 1 + tag.length) !== tag) this.#crossed++
    this.tokens++
    this.#firstTokenAt ??= at
    this.#watch?.(at, at - this.#lastTokenAt)
    this.#lastTokenAt = at
  }
}

function startsWithBytes(bytes: Buffer, what: Buffer, from: number): boolean {
  return bytes.subarray(from, from + what.length).equals(what)
}

function containsBytes(bytes: Buffer, what: Buffer, from: number, to: number): boolean {
  const at = bytes.indexOf(what, from)
  return at >= 0 && at < to
}
