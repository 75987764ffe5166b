/** Recorded paces for simulated answers: which stream of a tape an answer takes its times from, and those times. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../base/fault.js'
import { readTape, type TapedStream, UNITS_PER_MS } from '../tape/tape.js'
import type { SimulatedFault, TapePart } from './behaviour.js'
import { UnsupportedRequest } from './faults.js'
import type { SeededRandom } from './random.js'

/** Names of tapes that stand in the id of a model. */
const TAPE_NAME = /^\w[\w.-]{0,63}$/
/** Tapes that are kept; the one that was read first goes first. */
const MOST_TAPES = 16

/** The tapes that a provider has read, by their files. */
export class TapeShelf {
  readonly #tapes = new Map<string, readonly TapedStream[]>()

  /** `model`: what stands for the name of a tape where only its folder is given. */
  deckOf(parts: readonly TapePart[], model: string): TapeDeck {
    return new TapeDeck(
      parts.map((part) => ({ part, streams: cutTape(this.#read(fileOf(part, model)), part) })),
    )
  }

  /** Read once, while others wait: a tape is small, and this is no production. */
  #read(file: string): readonly TapedStream[] {
    const known = this.#tapes.get(file)
    if (known !== undefined) return known
    let streams: readonly TapedStream[]
    try {
      // What its reader held back has the times of the reader.
      streams = readTape(readFileSync(file, 'utf8')).filter(({ held }) => held !== true)
    } catch (cause) {
      throw new Fault('provider-failed', { detail: `the tape ${file} cannot be read`, cause })
    }
    this.#tapes.set(file, streams)
    if (this.#tapes.size > MOST_TAPES) this.#tapes.delete(this.#tapes.keys().next().value!)
    return streams
  }
}

function fileOf({ file, folder }: TapePart, model: string): string {
  if (file !== undefined) return file
  // Of `tape:monday` the name is `monday`.
  const name = model.slice(model.lastIndexOf(':') + 1)
  if (!TAPE_NAME.test(name)) throw new UnsupportedRequest(`"${name.slice(0, 64)}" is no name of a tape`)
  return join(folder!, `${name}.ndjson`)
}

const UNITS_PER_SECOND = 1000 * UNITS_PER_MS

function cutTape(streams: readonly TapedStream[], { cut }: TapePart): readonly TapedStream[] {
  if (cut === undefined) return streams
  const [from, to] = cut.map((seconds) => seconds * UNITS_PER_SECOND) as [number, number]
  return streams.filter(({ at }) => at >= from && at < to)
}

interface LoadedPart {
  readonly part: TapePart
  readonly streams: readonly TapedStream[]
}

/** Parts of tapes, each with its share of the answers. */
export class TapeDeck {
  readonly #parts: readonly LoadedPart[]
  readonly #shares: number

  constructor(parts: readonly LoadedPart[]) {
    this.#parts = parts.filter(({ streams }) => streams.length > 0)
    this.#shares = this.#parts.reduce((sum, { part }) => sum + part.share, 0)
    if (this.#parts.length === 0)
      throw new UnsupportedRequest('the tape has no stream that could be replayed')
  }

  draw(random: SeededRandom): TapedPace {
    let at = random.nextUnit() * this.#shares
    const drawn = this.#parts.find(({ part }) => (at -= part.share) < 0) ?? this.#parts.at(-1)!
    return new TapedPace(drawn.streams[random.nextBelow(drawn.streams.length)]!, drawn.part.scale)
  }
}

/** The times of one stream. */
export class TapedPace {
  readonly #stream: TapedStream
  readonly #scale: number

  constructor(stream: TapedStream, scale: number) {
    this.#stream = stream
    this.#scale = scale / UNITS_PER_MS
  }

  get tokens(): number {
    return Math.max(
      1,
      this.#stream.tok.reduce((sum, tokens) => sum + tokens, 0),
    )
  }

  get firstMs(): number {
    return (this.#stream.ttft ?? 0) * this.#scale
  }

  /** How it failed, where it did. A caller that left has ended nothing: then the answer ends with what was heard. */
  get fault(): SimulatedFault | null {
    const { end, status = 0, tok } = this.#stream
    if (end === 'refused') return status === 429 ? { kind: 'rate-limited' } : { kind: 'error' }
    if (end !== 'cut' && end !== 'error') return null
    return { kind: 'cut', after: tok.length === 0 ? 0 : this.tokens }
  }

  steps(): TapedSteps {
    return new TapedSteps(this.#stream, this.#scale)
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
