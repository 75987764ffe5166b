/**
 * Calls of a chat endpoint over raw sockets, checked event by event: every token there, in order, of its own request,
 * then the finish reason and the terminator. One connection carries one call at a time.
 */
import { connect, type Socket } from 'node:net'
import { BadAnswer } from '../../harness/http/answer-head.js'
import { SseReader } from '../../harness/sse/sse-reader.js'

/** What a complete stream has to hold. */
export interface Expected {
  readonly tokens: number
  /** Every token carries it; an empty text when the model does not tag. */
  readonly tag: string
  /** Of the answer; chat unless it says otherwise. */
  readonly format?: 'messages'
}

/** How a call ended. Milliseconds count from the sending. */
export interface StreamOutcome {
  /** 0 when no head arrived. */
  readonly status: number
  readonly tokens: number
  /** Tokens that did not follow the one before: one for each place where some are missing, doubled or swapped. */
  readonly disordered: number
  /** Tokens that carry another request's tag. */
  readonly crossed: number
  /** The finish reason `stop`, one `[DONE]` and the framing's own end were there. */
  readonly terminated: boolean
  readonly firstTokenMs: number | null
  readonly totalMs: number
  /** Why there is no complete answer, as far as the connection knows; null when its framing was whole. */
  readonly lost: 'refused' | 'reset' | 'closed' | 'timeout' | 'garbled' | 'left' | null
  /** The beginning of a body that is no stream: what a refusal said. */
  readonly said: string
}

/** Sees a stream as it comes. `gapMs`: since the token before, NaN at the first. */
export type TokenWatcher = (at: number, gapMs: number) => void

/** What shows a token, the reason of the end and the terminator in the bytes of an event. */
interface Marks {
  readonly token: Buffer
  readonly stop: Buffer
  readonly done: Buffer
}

const MARKS: Readonly<Record<'chat' | 'messages', Marks>> = {
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
const SILENCE_LIMIT_MS = 30_000
const SAID_LENGTH = 300
const DIGIT_ZERO = 48

/** True when a call brought everything it had to. */
export function isComplete(outcome: StreamOutcome, expected: Expected): boolean {
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
  const { status, tokens, disordered, crossed, terminated, lost, said } = outcome
  const parts = [`status ${status}`, `${tokens} tokens`]
  if (disordered > 0) parts.push(`${disordered} out of order`)
  if (crossed > 0) parts.push(`${crossed} of another request`)
  if (!terminated) parts.push('not terminated')
  if (lost !== null) parts.push(lost)
  if (said !== '') parts.push(said)
  return parts.join(', ')
}

/** The state of the call under way. */
class Progress {
  status = 0
  tokens = 0
  disordered = 0
  crossed = 0
  stopped = false
  dones = 0
  said = ''
  firstTokenAt: number | null = null
  lastTokenAt = Number.NaN
  /** When the bytes being read arrived: the clock is asked once for all events in them. */
  arrivedAt = 0
  /** The number the next token has to have. */
  #due = 0
  readonly sentAt = performance.now()

  constructor(
    readonly tag: string,
    readonly watch: TokenWatcher | null,
    readonly marks: Marks,
  ) {}

  event(bytes: Buffer, from: number, to: number): void {
    const { token: mark, done, stop } = this.marks
    const token = bytes.indexOf(mark, from)
    if (token >= 0 && token < to) this.#token(bytes, token + mark.length)
    else if (has(bytes, done, from, to)) this.dones++
    else if (has(bytes, stop, from, to)) this.stopped = true
    else if (!begins(bytes, DATA, from) && !begins(bytes, NAME, from) && this.said === '') {
      this.said = bytes.toString('utf8', from, Math.min(to, from + SAID_LENGTH))
    }
  }

  #token(bytes: Buffer, from: number): void {
    const at = this.arrivedAt
    let index = 0
    let end = from
    for (let digit = bytes[end]! - DIGIT_ZERO; digit >= 0 && digit <= 9; digit = bytes[++end]! - DIGIT_ZERO) {
      index = index * 10 + digit
    }
    if (index !== this.#due) this.disordered++
    this.#due = index + 1
    if (this.tag !== '' && bytes.toString('latin1', end + 1, end + 1 + this.tag.length) !== this.tag)
      this.crossed++
    this.tokens++
    this.firstTokenAt ??= at
    this.watch?.(at, at - this.lastTokenAt)
    this.lastTokenAt = at
  }

  outcome(lost: StreamOutcome['lost']): StreamOutcome {
    const { status, tokens, disordered, crossed, said, firstTokenAt, sentAt } = this
    return {
      status,
      tokens,
      disordered,
      crossed,
      terminated: this.stopped && this.dones === 1,
      firstTokenMs: firstTokenAt === null ? null : firstTokenAt - sentAt,
      totalMs: performance.now() - sentAt,
      lost,
      said: status === 200 ? '' : said,
    }
  }
}

function begins(bytes: Buffer, what: Buffer, from: number): boolean {
  return bytes.subarray(from, from + what.length).equals(what)
}

function has(bytes: Buffer, what: Buffer, from: number, to: number): boolean {
  const at = bytes.indexOf(what, from)
  return at >= 0 && at < to
}

interface Waiting {
  readonly progress: Progress
  readonly resolve: (outcome: StreamOutcome) => void
}

export class StreamConnection {
  readonly #socket: Socket
  readonly #reader: SseReader
  #waiting: Waiting | null = null
  #usable = true

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#reader = new SseReader({
      head: (status) => {
        if (this.#waiting) this.#waiting.progress.status = status
      },
      event: (bytes, from, to) => this.#waiting?.progress.event(bytes, from, to),
      ended: (closes) => {
        if (closes) this.#close()
        this.#settle(null)
      },
    })
    socket.on('data', (bytes) => this.#data(bytes))
    socket.on('end', () => this.#ended())
    socket.on('error', () => this.#lose('reset'))
    socket.on('close', () => this.#lose('closed'))
    socket.on('timeout', () => this.#lose('timeout'))
  }

  /** Opens a connection to 127.0.0.1; null when it is refused or nobody accepts it in `timeoutMs`. */
  static open(port: number, timeoutMs = 5_000): Promise<StreamConnection | null> {
    return new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      const fail = (): void => {
        socket.destroy()
        resolve(null)
      }
      socket.setTimeout(timeoutMs, fail)
      socket.once('error', fail)
      socket.once('connect', () => {
        socket.removeAllListeners()
        socket.setTimeout(SILENCE_LIMIT_MS)
        resolve(new StreamConnection(socket))
      })
    })
  }

  /** False once the connection was closed by either side. */
  get usable(): boolean {
    return this.#usable
  }

  /** Tokens the call under way has brought so far. */
  get tokens(): number {
    return this.#waiting?.progress.tokens ?? 0
  }

  /** Sends one request and resolves when its answer has ended, in whichever way. Never rejects. */
  call(
    request: Buffer,
    tag: string,
    watch: TokenWatcher | null = null,
    format: 'chat' | 'messages' = 'chat',
  ): Promise<StreamOutcome> {
    const progress = new Progress(tag, watch, MARKS[format])
    if (!this.#usable) return Promise.resolve(progress.outcome('closed'))
    return new Promise((resolve) => {
      this.#waiting = { progress, resolve }
      this.#socket.write(request)
    })
  }

  /** Stops reading, so that the kernel's buffers fill and the server feels it. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Closes the connection at once; a call under way ends as `left`. With `reset` the peer gets an RST, not a FIN. */
  leave(reset = false): void {
    const waiting = this.#waiting
    this.#waiting = null
    this.#usable = false
    if (reset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
    waiting?.resolve(waiting.progress.outcome('left'))
  }

  #data(bytes: Buffer): void {
    if (this.#waiting !== null) this.#waiting.progress.arrivedAt = performance.now()
    try {
      this.#reader.feed(bytes)
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error
      this.#lose('garbled')
    }
  }

  #ended(): void {
    if (this.#waiting !== null && this.#reader.endedByClose()) return
    this.#lose('closed')
  }

  #lose(how: NonNullable<StreamOutcome['lost']>): void {
    this.#close()
    this.#settle(how)
  }

  #close(): void {
    this.#usable = false
    this.#socket.destroy()
  }

  #settle(lost: StreamOutcome['lost']): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.resolve(waiting.progress.outcome(lost))
  }
}
