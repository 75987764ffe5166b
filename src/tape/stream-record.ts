/** Listens to one stream of a provider and keeps how it came. Its words are looked at and forgotten. */
import { EventStreamParser } from '../upstream/event-stream-parser.js'
import { MOST_EVENTS, modelName, type StreamEnd, type TapedStream, UNITS_PER_MS } from './tape.js'

/** What is read of an event, whichever of the two formats it has. */
interface ReadEvent {
  readonly type?: unknown
  readonly error?: unknown
  readonly choices?: readonly {
    readonly delta?: Readonly<Record<string, unknown>>
    readonly finish_reason?: unknown
  }[]
  readonly usage?: Readonly<Record<string, unknown>> | null
  readonly message?: { readonly usage?: Readonly<Record<string, unknown>> }
  readonly delta?: Readonly<Record<string, unknown>>
}

const ENDS: Readonly<Record<string, StreamEnd>> = {
  ...{ stop: 'stop', end_turn: 'stop', stop_sequence: 'stop', length: 'length', max_tokens: 'length' },
  ...{ tool_calls: 'tools', function_call: 'tools', tool_use: 'tools' },
  ...{ content_filter: 'filter', refusal: 'filter' },
}

/** Members of a delta that hold words. */
const WORDS = ['content', 'reasoning', 'reasoning_content', 'text', 'thinking', 'partial_json'] as const

export class StreamRecord {
  readonly #asked: unknown
  readonly #at: number
  readonly #beganAt: number
  readonly #parser = new EventStreamParser((data) => this.#hear(data))
  /** Of each event with content: when it was read, and how many characters it had. */
  readonly #times: number[] = []
  readonly #sizes: number[] = []
  readonly #reads: number[] = []
  #now = 0
  #inThisRead = 0
  #sizeBeyond = 0
  #in: number | null = null
  #out: number | null = null
  #end: StreamEnd = 'cut'
  #isDone = false
  #isHeld = false

  /** `at` and `now` in milliseconds: since the tape began, and on the clock of what follows. */
  constructor(model: unknown, at: number, now: number) {
    this.#asked = model
    this.#at = at
    this.#beganAt = now
  }

  /** What one read of the socket has brought; borrowed. */
  read(bytes: Uint8Array, now: number): void {
    this.#now = now
    this.#inThisRead = 0
    this.#parser.push(bytes)
    if (this.#inThisRead > 0 && this.#reads.length < MOST_EVENTS) this.#reads.push(this.#inThisRead)
  }

  /** Its reader does not keep up: from now on the times are the reader's. */
  hold(): void {
    this.#isHeld = true
  }

  /** It is over, now. `why`: what its socket tells, where the stream has not told. */
  finish(why: 'ended' | 'left', now: number): TapedStream {
    if (!this.#isDone && this.#end !== 'error') this.#end = why === 'left' ? 'left' : 'cut'
    const tok = this.#tokens()
    return {
      ...this.#head(),
      ttft: this.#times.length === 0 ? null : toUnits(this.#times[0]! - this.#beganAt),
      gaps: this.#times.slice(1).map((time, at) => toUnits(time) - toUnits(this.#times[at]!)),
      tok,
      ...(this.#reads.some((events) => events !== 1) && { reads: this.#reads }),
      took: toUnits(now - this.#beganAt),
      end: this.#end,
      ...(this.#isHeld && { held: true as const }),
    }
  }

  /** It was refused, now; 0 where the provider was out of reach. */
  refuse(status: number, now: number): TapedStream {
    const took = toUnits(now - this.#beganAt)
    return { ...this.#head(), ttft: null, gaps: [], tok: [], took, end: 'refused', status }
  }

  #head() {
    const at = Math.max(0, toUnits(this.#at))
    return { v: 1 as const, at, model: modelName(this.#asked), in: this.#in, out: this.#out }
  }

  #hear(data: string): void {
    if (data === '[DONE]') {
      this.#isDone = true
      return
    }
    let event: ReadEvent | null
    try {
      event = JSON.parse(data) as ReadEvent | null
    } catch {
      return
    }
    if (typeof event !== 'object' || event === null) return
    this.#hearUsage(event.message?.usage)
    this.#hearUsage(event.usage)
    if (event.type === 'message_stop') this.#isDone = true
    if (event.error !== undefined || event.type === 'error') this.#end = 'error'
    const choice = Array.isArray(event.choices) ? event.choices[0] : undefined
    this.#hearDelta(choice?.delta ?? event.delta)
    const reason = choice?.finish_reason ?? event.delta?.stop_reason
    if (typeof reason === 'string' && this.#end !== 'error') this.#end = ENDS[reason] ?? 'stop'
  }

  #hearDelta(delta: Readonly<Record<string, unknown>> | undefined): void {
    if (typeof delta !== 'object' || delta === null) return
    let size = 0
    for (const name of WORDS) if (typeof delta[name] === 'string') size += delta[name].length
    if (Array.isArray(delta.tool_calls)) size += JSON.stringify(delta.tool_calls).length
    if (size === 0) return
    this.#inThisRead++
    if (this.#times.length < MOST_EVENTS) {
      this.#times.push(this.#now)
      this.#sizes.push(size)
    } else this.#sizeBeyond += size
  }

  #hearUsage(usage: Readonly<Record<string, unknown>> | null | undefined): void {
    if (typeof usage !== 'object' || usage === null) return
    this.#in = countIn(usage, 'prompt_tokens', 'input_tokens') ?? this.#in
    this.#out = countIn(usage, 'completion_tokens', 'output_tokens') ?? this.#out
  }

  /** The tokens that the provider has counted, over the events by their length; one each where it has not. */
  #tokens(): number[] {
    const out = this.#out
    const total = this.#sizes.reduce((sum, size) => sum + size, this.#sizeBeyond)
    if (out === null || out < this.#sizes.length) return this.#sizes.map(() => 1)
    // One for each event, and the rest by length, so that the sum is exact.
    const rest = out - this.#sizes.length
    let heard = 0
    let given = 0
    return this.#sizes.map((size) => {
      heard += size
      const due = Math.round((rest * heard) / total)
      const more = due - given
      given = due
      return 1 + more
    })
  }
}

function toUnits(ms: number): number {
  return Math.round(ms * UNITS_PER_MS)
}

function countIn(usage: Readonly<Record<string, unknown>>, ...names: readonly string[]): number | null {
  for (const name of names) {
    const value = usage[name]
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return Math.min(value, 1e12)
  }
  return null
}
