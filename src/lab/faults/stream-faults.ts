import type { ResponseSink, StreamResponseBody } from '../../transport/exchange.js'

/** What is to happen to one stream. Absent members do not happen. */
export interface StreamTroubles {
  readonly stall?: { readonly token: number; readonly ms: number }
  readonly cut?: { readonly token: number }
  readonly error?: { readonly token: number }
  readonly coalesceMs?: number
  readonly splitUtf8?: true
  readonly bytesPerS?: number
  /** A comment before the end. */
  readonly farewell?: () => string
}

interface StreamTroublePorts {
  /** A fault has happened. */
  applied(kind: string): void
  /** Closes the connection. */
  drop(): void
}

/** A body that goes wrong on its way. */
export function troubled(
  body: StreamResponseBody,
  troubles: StreamTroubles,
  ports: StreamTroublePorts,
): StreamResponseBody {
  return {
    heartbeat: body.heartbeat,
    ...(body.noHeartbeat !== undefined && { noHeartbeat: body.noHeartbeat }),
    get closingFrame() {
      return body.closingFrame
    },
    start: (sink) => body.start(new TroubledSink(sink, troubles, ports, () => body.closingFrame)),
  }
}

/** A whole body as a stream, for faults that need time between its parts. */
export function asStream(body: string | Uint8Array): StreamResponseBody {
  const kept = typeof body === 'string' ? body : Uint8Array.from(body)
  return {
    heartbeat: '',
    noHeartbeat: true,
    closingFrame: '',
    start: (sink) => {
      sink.write(kept)
      sink.end()
    },
  }
}

/** An event that carries text: of chat completions, of messages, of tool arguments. */
const TOKEN = /"(?:content|text|reasoning|reasoning_content|thinking|arguments|partial_json)":"(?!")/
/** Most bytes that wait here: as much as the transport keeps for a slow reader. */
const WAITING_BYTES = 1024 * 1024
const PACE_MS = 50
const SPLIT_MS = 2

/** Stands between a source and the transport. What cannot be written yet waits in a queue. */
class TroubledSink implements ResponseSink {
  readonly #sink: ResponseSink
  readonly #troubles: StreamTroubles
  readonly #ports: StreamTroublePorts
  readonly #lastWords: () => string
  readonly #leavers: (() => void)[] = []
  #queue: Buffer[] = []
  #waiting = 0
  #tokens = 0
  #timer: NodeJS.Timeout | null = null
  #ended = false
  #over = false
  #stalled = false
  #resume: (() => void) | null = null

  constructor(
    sink: ResponseSink,
    troubles: StreamTroubles,
    ports: StreamTroublePorts,
    lastWords: () => string,
  ) {
    this.#sink = sink
    this.#troubles = troubles
    this.#ports = ports
    this.#lastWords = lastWords
    if (troubles.bytesPerS !== undefined) ports.applied('throttle')
    sink.onAbort(() => this.#stop())
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#over) return true
    for (const event of this.#events(chunk)) {
      if (!this.#over) this.#hand(event)
    }
    return this.#over || this.#waiting < WAITING_BYTES
  }

  end(): void {
    this.#ended = true
    this.#finish()
  }

  onDrain(resume: () => void): void {
    this.#resume = resume
    this.#sink.onDrain(() => {
      if (this.#waiting === 0) resume()
    })
  }

  onAbort(leave: () => void): void {
    this.#leavers.push(leave)
    this.#sink.onAbort(leave)
  }

  /** Without a fault at a token there is no need to look inside. */
  #events(chunk: string | Uint8Array): readonly (string | Uint8Array)[] {
    const { stall, cut, error } = this.#troubles
    if (stall === undefined && cut === undefined && error === undefined) return [chunk]
    return Buffer.from(chunk as string)
      .toString()
      .split(/(?<=\n\n)/)
  }

  #hand(event: string | Uint8Array): void {
    const { coalesceMs, bytesPerS, splitUtf8 } = this.#troubles
    const isToken = typeof event === 'string' && TOKEN.test(event)
    if (isToken && this.#atToken()) return
    if (isToken) this.#tokens++
    const paced = coalesceMs !== undefined || bytesPerS !== undefined || splitUtf8 === true
    if (paced || this.#timer !== null) this.#enqueue(Buffer.from(event as string))
    else this.#sink.write(event)
  }

  /** What happens instead of the next token, if that many have passed. True when it is not to be written any more. */
  #atToken(): boolean {
    const { stall, cut, error } = this.#troubles
    if (stall !== undefined && stall.token === this.#tokens && !this.#stalled) {
      this.#stalled = true
      this.#ports.applied('stall-at-token')
      this.#wait(stall.ms)
    }
    if (cut !== undefined && cut.token === this.#tokens) {
      this.#ports.applied('cut-at-token')
      this.#leave()
      // Not in this turn: closing throws away what is still corked.
      setImmediate(() => this.#ports.drop())
      return true
    }
    if (error !== undefined && error.token === this.#tokens) {
      this.#ports.applied('error-at-token')
      const words = this.#lastWords()
      this.#leave()
      if (words !== '') this.#sink.write(words)
      this.#sink.end()
      return true
    }
    return false
  }

  #enqueue(bytes: Buffer): void {
    this.#queue.push(bytes)
    this.#waiting += bytes.byteLength
    if (this.#timer !== null) return
    const { coalesceMs, bytesPerS } = this.#troubles
    if (coalesceMs !== undefined) this.#wait(coalesceMs)
    else if (bytesPerS !== undefined) this.#wait(PACE_MS)
    else this.#flush()
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#flush()
    }, ms)
  }

  #flush(): void {
    if (this.#over) return
    const { coalesceMs, bytesPerS, splitUtf8 } = this.#troubles
    if (coalesceMs !== undefined && this.#queue.length > 1) this.#ports.applied('coalesce')
    const all = Buffer.concat(this.#queue)
    const most =
      bytesPerS === undefined ? all.byteLength : Math.max(1, Math.round((bytesPerS * PACE_MS) / 1000))
    const cut = splitUtf8 === true ? insideCharacter(all) : 0
    const size = Math.min(most, cut > 0 ? cut : all.byteLength)
    if (size > 0) this.#sink.write(all.subarray(0, size))
    if (cut > 0) this.#ports.applied('split-utf8')
    const rest = all.subarray(size)
    this.#queue = rest.byteLength > 0 ? [rest] : []
    this.#waiting = rest.byteLength
    if (rest.byteLength > 0) this.#wait(cut > 0 ? SPLIT_MS : PACE_MS)
    else {
      this.#resume?.()
      this.#finish()
    }
  }

  #finish(): void {
    if (!this.#ended || this.#over || this.#timer !== null || this.#waiting > 0) return
    const farewell = this.#troubles.farewell?.() ?? ''
    if (farewell !== '') this.#sink.write(farewell)
    this.#over = true
    this.#sink.end()
  }

  /** Ends the source: nobody takes any more of it. */
  #leave(): void {
    this.#stop()
    for (const leave of this.#leavers) leave()
  }

  #stop(): void {
    this.#over = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#queue = []
    this.#waiting = 0
  }
}

/** Where to cut so that a character of several bytes falls apart: behind the first lead byte; 0 when there is none. */
function insideCharacter(bytes: Buffer): number {
  const at = bytes.findIndex((byte) => byte >= 0xc0)
  return at < 0 ? 0 : at + 1
}
