/** One stream from its request to its end: what a driver tells of it, and the kind that knows its times. */

/** `token`: carries content. `other`: a role, a usage, reasoning, a ping. `end`: the format's own last event. */
type EventKind = 'token' | 'other' | 'end' | 'error'

/** Content in the formats of chat, messages and responses. A quote inside of JSON text is escaped, so none is taken for a key. */
const CONTENT_KEYS = ['"content":"', '"text":"', '"delta":"'].map((text) => Buffer.from(text))
const ENDS = ['data: [DONE]', 'data:[DONE]', '"type":"message_stop"', '"type":"response.completed"'].map(
  (text) => Buffer.from(text),
)
const ERRORS = ['event: error', 'data: {"error"', '"type":"error"'].map((text) => Buffer.from(text))
const COLON = 58
const QUOTE = 34

/** `from..to` is one event without the blank line behind it. */
export function classifyEvent(bytes: Buffer, from: number, to: number): EventKind {
  // A comment keeps a connection alive and says nothing.
  if (bytes[from] === COLON) return 'other'
  if (CONTENT_KEYS.some((key) => hasNonEmptyText(bytes, key, from, to))) return 'token'
  if (ENDS.some((end) => containsBytes(bytes, end, from, to))) return 'end'
  return ERRORS.some((error) => containsBytes(bytes, error, from, to)) ? 'error' : 'other'
}

/** The key is there and its text is not empty. */
function hasNonEmptyText(bytes: Buffer, key: Buffer, from: number, to: number): boolean {
  const at = bytes.indexOf(key, from)
  return at >= 0 && at + key.length < to && bytes[at + key.length] !== QUOTE
}

function containsBytes(bytes: Buffer, what: Buffer, from: number, to: number): boolean {
  const at = bytes.indexOf(what, from)
  return at >= 0 && at < to
}

/** When a caller loses patience on purpose. Milliseconds count from the sending. */
export type AbortRule =
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'token'; readonly token: number }
  | { readonly kind: 'before-first' }

/**
 * `complete`: the format's own end came. `cut`: the answer ended without it. `error`: an error event, or a status that
 * is no success. `aborted`: on purpose, by us. The others are of the connection.
 */
type StreamEnd =
  | 'complete'
  | 'cut'
  | 'error'
  | 'aborted'
  | 'reset'
  | 'closed'
  | 'refused'
  | 'garbled'
  | 'timeout'

/** How a stream ends that does not end by its own framing. */
export type StreamLoss = Exclude<StreamEnd, 'complete' | 'cut' | 'error'>

/** One stream as a driver reads it; `Outcome` is what is known of it in the end. */
export interface StreamObserver<Outcome> {
  /** Of the answer, as soon as its head has come. */
  status: number
  readonly tokens: number
  /** Takes an event that arrived at `at`. */
  event(bytes: Buffer, from: number, to: number, at: number): void
  /** How it went; `lost` when the connection or the caller ended it, null when its framing was whole. */
  outcome(lost: StreamLoss | null, at: number): Outcome
}

export type StreamTimes = ReturnType<TimedStream['outcome']>

/** A stream that is timed: its first token, its gaps, its drift from a promised pace. */
export class TimedStream {
  status = 0
  tokens = 0
  readonly #dueAt: number
  readonly #paceMs: number | null
  readonly #onToken: (gapMs: number) => void
  #firstAt = Number.NaN
  #lastAt = Number.NaN
  #driftMs = 0
  #gaps: number[] = []
  #ended = false
  #failed = false

  /** `onToken` is told the gap before each token, NaN at the first. */
  constructor(dueAt: number, paceMs: number | null, onToken: (gapMs: number) => void) {
    this.#dueAt = dueAt
    this.#paceMs = paceMs
    this.#onToken = onToken
  }

  event(bytes: Buffer, from: number, to: number, at: number): void {
    const kind = classifyEvent(bytes, from, to)
    if (kind === 'token') this.#token(at)
    else if (kind === 'end') this.#ended = true
    else if (kind === 'error') this.#failed = true
  }

  #token(at: number): void {
    this.#onToken(at - this.#lastAt)
    if (this.tokens === 0) this.#firstAt = at
    else {
      const gap = at - this.#lastAt
      this.#gaps.push(gap)
      if (this.#paceMs !== null) {
        this.#driftMs = Math.max(this.#driftMs, Math.abs(at - this.#firstAt - this.tokens * this.#paceMs))
      }
    }
    this.tokens++
    this.#lastAt = at
  }

  outcome(lost: StreamLoss | null, at: number) {
    return {
      end: lost ?? this.#ownEnd(),
      status: this.status,
      tokens: this.tokens,
      /** From the due time, as all times here; NaN without a token. */
      firstTokenMs: this.#firstAt - this.#dueAt,
      totalMs: at - this.#dueAt,
      /** Greatest distance of a token from the pace that was promised, counted from the first token; 0 without a pace. */
      driftMs: this.#driftMs,
      /** 99th percentile of its own gaps; 0 with fewer than two tokens. */
      worstGapMs: this.#worstGap(),
    }
  }

  #ownEnd(): StreamEnd {
    if (this.#failed || this.status < 200 || this.status > 299) return 'error'
    return this.#ended ? 'complete' : 'cut'
  }

  #worstGap(): number {
    if (this.#gaps.length === 0) return 0
    const sorted = this.#gaps.sort((a, b) => a - b)
    return sorted[Math.ceil(0.99 * sorted.length) - 1]!
  }
}
