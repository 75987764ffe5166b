import type { ResponseSink, StreamResponseBody } from '../../transport/exchange.js'

/** What is to happen to one stream. Absent members do not happen. */
export interface StreamFaults {
  readonly stall?: { readonly token: number; readonly ms: number }
  readonly cut?: { readonly token: number }
  readonly error?: { readonly token: number }
  readonly coalesceMs?: number
  readonly splitUtf8?: true
  readonly bytesPerS?: number
  /** A comment before the end. */
  readonly closingComment?: () => string
}

interface StreamFaultPorts {
  /** A fault has happened. */
  onFault(kind: string): void
  /** Closes the connection. */
  drop(): void
}

/** A body that goes wrong on its way. */
export function withStreamFaults(
  body: StreamResponseBody,
  faults: StreamFaults,
  ports: StreamFaultPorts,
): StreamResponseBody {
  return {
    heartbeat: body.heartbeat,
    padding: body.padding,
    get closingFrame() {
      return body.closingFrame
    },
    start: (sink) => body.start(new FaultySink(sink, faults, ports, () => body.closingFrame)),
  }
}

/** A whole body as a stream, for faults that need time between its parts. */
export function streamOfBody(body: string | Uint8Array): StreamResponseBody {
  const kept = typeof body === 'string' ? body : Uint8Array.from(body)
  return {
    heartbeat: '',
    padding: '',
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
class FaultySink implements ResponseSink {
  readonly #sink: ResponseSink
  readonly #faults: StreamFaults
  readonly #ports: StreamFaultPorts
  readonly #closingFrame: () => string
  readonly #goneListeners: (() => void)[] = []
  #queue: Buffer[] = []
  #waiting = 0
  #tokens = 0
  #timer: NodeJS.Timeout | null = null
  #ended = false
  #over = false
  #resume: (() => void) | null = null

  constructor(sink: ResponseSink, faults: StreamFaults, ports: StreamFaultPorts, closingFrame: () => string) {
    this.#sink = sink
    this.#faults = faults
    this.#ports = ports
    this.#closingFrame = closingFrame
    if (faults.bytesPerS !== undefined) ports.onFault('throttle')
    sink.onAbort(() => this.#stop())
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#over) return true
    for (const event of this.#splitEvents(chunk)) {
      if (!this.#over) this.#forward(event)
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
    this.#goneListeners.push(leave)
    this.#sink.onAbort(leave)
  }

  /** Without a fault at a token there is no need to look inside. */
  #splitEvents(chunk: string | Uint8Array): readonly (string | Uint8Array)[] {
    const { stall, cut, error } = this.#faults
    if (stall === undefined && cut === undefined && error === undefined) return [chunk]
    return Buffer.from(chunk as string)
      .toString()
      .split(/(?<=\n\n)/)
  }

  #forward(event: string | Uint8Array): void {
    const { coalesceMs, bytesPerS, splitUtf8 } = this.#faults
    const isToken = typeof event === 'string' && TOKEN.test(event)
    if (isToken && this.#applyTokenFault()) return
    if (isToken) this.#tokens++
    const paced = coalesceMs !== undefined || bytesPerS !== undefined || splitUtf8 === true
    if (paced || this.#timer !== null) this.#enqueue(Buffer.from(event as string))
    else this.#sink.write(event)
  }

  /** What happens instead of the next token, if that many have passed. True when it is not to be written any more. */
  #applyTokenFault(): boolean {
    const { stall, cut, error } = this.#faults
    if (stall !== undefined && stall.token === this.#tokens) {
      this.#ports.onFault('stall-at-token')
      this.#wait(stall.ms)
    }
    if (cut !== undefined && cut.token === this.#tokens) {
      this.#ports.onFault('cut-at-token')
      this.#abandonSource()
      // Not in this turn: closing throws away what is still corked.
      setImmediate(() => this.#ports.drop())
      return true
    }
    if (error !== undefined && error.token === this.#tokens) {
      this.#ports.onFault('error-at-token')
      const frame = this.#closingFrame()
      this.#abandonSource()
      if (frame !== '') this.#sink.write(frame)
      this.#sink.end()
      return true
    }
    return false
  }

  #enqueue(bytes: Buffer): void {
    this.#queue.push(bytes)
    this.#waiting += bytes.byteLength
    if (this.#timer !== null) return
    const { coalesceMs, bytesPerS } = this.#faults
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
    const { coalesceMs, bytesPerS, splitUtf8 } = this.#faults
    if (coalesceMs !== undefined && this.#queue.length > 1) this.#ports.onFault('coalesce')
    const all = Buffer.concat(this.#queue)
    const most =
      bytesPerS === undefined ? all.byteLength : Math.max(1, Math.round((bytesPerS * PACE_MS) / 1000))
    const cut = splitUtf8 === true ? splitPointInCharacter(all) : 0
    const size = Math.min(most, cut > 0 ? cut : all.byteLength)
    if (size > 0) this.#sink.write(all.subarray(0, size))
    if (cut > 0) this.#ports.onFault('split-utf8')
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
    const closingComment = this.#faults.closingComment?.() ?? ''
    if (closingComment !== '') this.#sink.write(closingComment)
    this.#over = true
    this.#sink.end()
  }

  /** Ends the source: its listeners are told that the reader has gone. */
  #abandonSource(): void {
    this.#stop()
    for (const leave of this.#goneListeners) leave()
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
function splitPointInCharacter(bytes: Buffer): number {
  const at = bytes.findIndex((byte) => byte >= 0xc0)
  return at < 0 ? 0 : at + 1
}
