/** Recorded paces for simulated answers: which stream of a tape an answer takes its times from, and those times. */
import {
  isLeftEmpty,
  type StreamEnd,
  TapeDefect,
  type TapedStream,
  tokensOf,
  UNITS_PER_MS,
} from '../tape/tape.js'
import type { TapePart } from './behaviour.js'
import { type FaultPoint, recordedRefusal, simulatedFailure, UnsupportedRequest } from './faults.js'
import type { SeededRandom } from './random.js'

const UNITS_PER_SECOND = 1000 * UNITS_PER_MS

/** A part and the whole of its tape. */
interface LoadedPart {
  readonly part: TapePart
  readonly tape: readonly TapedStream[]
}

/** A part and the streams of it that say how a provider is. */
interface PlayablePart extends LoadedPart {
  readonly streams: readonly TapedStream[]
}

/** What its reader held back has the times of the reader; what was left before anything came has none. */
function isPlayable(stream: TapedStream): boolean {
  return stream.held !== true && !isLeftEmpty(stream)
}

/** Whether a stream is in a part, by when it was asked for and of which model. */
function isOfPart({ at, model }: TapedStream, { cut, model: only }: TapePart): boolean {
  if (only !== undefined && model !== only) return false
  return cut === undefined || (at >= cut[0] * UNITS_PER_SECOND && at < cut[1] * UNITS_PER_SECOND)
}

/** Parts of tapes, each with its share of the answers. */
export class TapeDeck {
  readonly #loaded: readonly LoadedPart[]
  readonly #parts: readonly PlayablePart[]
  readonly #shares: number

  /** Throws a `TapeDefect` where nothing is left to replay. */
  constructor(loaded: readonly LoadedPart[]) {
    this.#loaded = loaded
    this.#parts = loaded
      .map((one) => ({
        ...one,
        streams: one.tape.filter((each) => isPlayable(each) && isOfPart(each, one.part)),
      }))
      .filter(({ streams }) => streams.length > 0)
    this.#shares = this.#parts.reduce((sum, { part }) => sum + part.share, 0)
    if (this.#parts.length === 0) throw new TapeDefect('it has no stream that could be replayed')
  }

  draw(random: SeededRandom): TapedPace {
    let at = random.nextUnit() * this.#shares
    const drawn = this.#parts.find(({ part }) => (at -= part.share) < 0) ?? this.#parts.at(-1)!
    return new TapedPace(drawn.streams[random.nextBelow(drawn.streams.length)]!, drawn.part.scale)
  }

  /**
   * The stream of a tape by its number, from 1 on. Of one that its reader held back the length is known and the times
   * are not: they are those of another.
   */
  pick(number: number, random: SeededRandom): TapedPace {
    const [{ tape, part }, ...others] = this.#loaded as [LoadedPart, ...LoadedPart[]]
    if (others.length > 0) throw rejectNumber('this model mixes several tapes')
    const stream = tape[number - 1]
    if (stream === undefined) throw rejectNumber(`the tape has ${tape.length} streams`)
    if (!isOfPart(stream, part)) throw rejectNumber(`this model does not replay stream ${number} of its tape`)
    if (isLeftEmpty(stream)) throw rejectNumber(`stream ${number} was left before anything came`)
    if (stream.held !== true) return new TapedPace(stream, part.scale)
    const timed = this.#parts[0]!.streams.filter(({ tok }) => tok.length > 0)
    const times = timed.length === 0 ? stream : timed[random.nextBelow(timed.length)]!
    return new TapedPace({ ...stream, took: undefined }, part.scale, times)
  }
}

function rejectNumber(why: string): UnsupportedRequest {
  return new UnsupportedRequest(`X-Service-Simulate: tape_stream: ${why}`)
}

/** Ends that an answer of words can have. Calls of tools are made where a request has tools, not because of a tape. */
export type TapedFinish = 'length' | 'content_filter'
const FINISH_REASONS: Readonly<Partial<Record<StreamEnd, TapedFinish>>> = {
  length: 'length',
  filter: 'content_filter',
}

/** What one stream says of an answer: its length, its times, how it ends. */
export class TapedPace {
  readonly #stream: TapedStream
  /** Whose times they are; nearly always its own. */
  readonly #times: TapedStream
  readonly #scale: number

  constructor(stream: TapedStream, scale: number, times: TapedStream = stream) {
    this.#stream = stream
    this.#times = times
    this.#scale = scale / UNITS_PER_MS
  }

  get tokens(): number {
    return Math.max(1, tokensOf(this.#stream))
  }

  get firstMs(): number {
    return (this.#times.ttft ?? this.#times.took ?? 0) * this.#scale
  }

  /** Null for the one that fits what the answer says. */
  get finishReason(): TapedFinish | null {
    return FINISH_REASONS[this.#stream.end] ?? null
  }

  /**
   * How it failed, where it did, and after which silence; null where nobody has written that down. A caller that left
   * has ended nothing: then the answer ends with what was heard.
   */
  failure(providerName: string): FaultPoint | null {
    const { end, status = 0, tok, ttft, gaps, took } = this.#stream
    if (end === 'refused') {
      const waitMs = (took ?? 0) * this.#scale
      return { afterSteps: 0, waitMs, failure: recordedRefusal(status, providerName) }
    }
    if (end !== 'cut' && end !== 'error') return null
    const heardFor = gaps.reduce((sum, gap) => sum + gap, ttft ?? 0)
    const waitMs = took === undefined ? null : Math.max(0, took - heardFor) * this.#scale
    const afterSteps = tok.length === 0 ? 0 : this.tokens
    return { afterSteps, waitMs, failure: simulatedFailure('cut', providerName) }
  }

  steps(): TapedSteps {
    return new TapedSteps(this.#times, this.#scale)
  }
}

/** Goes through the tokens of a stream in their order; an answer that is longer begins anew. */
export class TapedSteps {
  readonly #gaps: readonly number[]
  readonly #tokens: readonly number[]
  readonly #scale: number
  #event = 0
  #left: number
  #joins = false

  constructor({ gaps, tok }: TapedStream, scale: number) {
    this.#gaps = gaps
    this.#tokens = tok.length === 0 ? [1] : tok
    this.#scale = scale
    this.#left = Math.max(1, this.#tokens[0]!)
  }

  /** The token that comes next is part of the event before it. */
  get joins(): boolean {
    return this.#joins
  }

  /** Milliseconds from a token to the next. */
  nextGap(): number {
    this.#joins = --this.#left > 0
    if (this.#joins) return 0
    const gap = this.#gaps[this.#event % Math.max(1, this.#gaps.length)] ?? 0
    this.#event++
    this.#left = Math.max(1, this.#tokens[this.#event % this.#tokens.length]!)
    return gap * this.#scale
  }
}
