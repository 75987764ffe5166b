/** One stream from its request to its end, as times. */
import { type EventKind, kindOf } from './stream-events.js'

/** When a caller loses patience on purpose. Milliseconds count from the sending. */
export type AbortRule =
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'token'; readonly token: number }
  | { readonly kind: 'before-first' }

/**
 * `complete`: the format's own end came. `cut`: the answer ended without it. `error`: an error event, or a status that
 * is no success. `aborted`: on purpose, by us. The others are of the connection.
 */
export type StreamEnd =
  | 'complete'
  | 'cut'
  | 'error'
  | 'aborted'
  | 'reset'
  | 'closed'
  | 'refused'
  | 'garbled'
  | 'timeout'

export interface StreamTimes {
  readonly end: StreamEnd
  readonly status: number
  readonly tokens: number
  /** From the due time, as all times here; NaN without a token. */
  readonly firstTokenMs: number
  readonly totalMs: number
  /** Greatest distance of a token from the pace that was promised, counted from the first token; 0 without a pace. */
  readonly driftMs: number
  /** 99th percentile of its own gaps; 0 with fewer than two tokens. */
  readonly worstGapMs: number
}

export class StreamCall {
  status = 0
  tokens = 0
  readonly dueAt: number
  readonly sentAt: number
  readonly #paceMs: number | null
  readonly #onToken: (gapMs: number) => void
  #firstAt = Number.NaN
  #lastAt = Number.NaN
  #driftMs = 0
  #gaps: number[] = []
  #ended = false
  #failed = false

  /** `onToken` is told the gap before each token, NaN at the first. */
  constructor(dueAt: number, sentAt: number, paceMs: number | null, onToken: (gapMs: number) => void) {
    this.dueAt = dueAt
    this.sentAt = sentAt
    this.#paceMs = paceMs
    this.#onToken = onToken
  }

  /** Takes an event that arrived at `at`; says what it was. */
  event(bytes: Buffer, from: number, to: number, at: number): EventKind {
    const kind = kindOf(bytes, from, to)
    if (kind === 'token') this.#token(at)
    else if (kind === 'end') this.#ended = true
    else if (kind === 'error') this.#failed = true
    return kind
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

  /** How it went; `lost` when the connection or the caller ended it, null when its framing was whole. */
  times(lost: Exclude<StreamEnd, 'complete' | 'cut' | 'error'> | null, at: number): StreamTimes {
    return {
      end: lost ?? this.#ownEnd(),
      status: this.status,
      tokens: this.tokens,
      firstTokenMs: this.#firstAt - this.dueAt,
      totalMs: at - this.dueAt,
      driftMs: this.#driftMs,
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
