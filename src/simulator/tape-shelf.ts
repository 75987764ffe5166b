/** The tapes that a provider has read, by their files. */
import { join } from 'node:path'
import { TapeDefect, type TapedStream } from '../tape/tape.js'
import { readTapeFile } from '../tape/tape-file.js'
import type { TapePart } from './behaviour.js'
import { UnsupportedRequest } from './faults.js'
import { TapeDeck } from './tape-deck.js'

/** Names of tapes that stand in the id of a model. */
const TAPE_NAME = /^\w[\w.-]{0,63}$/
/** Tapes that are kept; the one that was read first goes first. */
const MOST_TAPES = 16
/** Callers make up names of tapes: what is not there must not push out what is. */
const MOST_DEFECTS = 256

export class TapeShelf {
  readonly #tapes = new Map<string, readonly TapedStream[]>()
  readonly #defects = new Map<string, TapeDefect>()
  readonly #underWay = new Map<string, Promise<readonly TapedStream[]>>()
  /** The reading before; one at a time, so that the loop has one slice between its turns. */
  #before: Promise<unknown> = Promise.resolve()

  /**
   * At once where its tapes have been read, else later; a reading is done once, however many wait for it and whatever
   * comes of it. `model`: what stands for the name of a tape where only its folder is given. Throws, or rejects with,
   * an `UnsupportedRequest` or a `TapeDefect` that names the file.
   */
  deckOf(parts: readonly TapePart[], model: string): TapeDeck | Promise<TapeDeck> {
    const files = parts.map((part) => fileOf(part, model))
    const deck = (): TapeDeck => makeDeck(parts, files, (file) => this.#known(file)!)
    if (files.every((file) => this.#known(file) !== undefined)) return deck()
    return Promise.all(files.map((file) => this.#read(file))).then((tapes) =>
      makeDeck(parts, files, (_, at) => tapes[at]!),
    )
  }

  /** Throws where it has been found to be none. */
  #known(file: string): readonly TapedStream[] | undefined {
    const defect = this.#defects.get(file)
    if (defect !== undefined) throw defect
    return this.#tapes.get(file)
  }

  async #read(file: string): Promise<readonly TapedStream[]> {
    const known = this.#known(file)
    if (known !== undefined) return known
    const begun = this.#underWay.get(file)
    if (begun !== undefined) return begun
    const reading = this.#readAnew(file)
    this.#underWay.set(file, reading)
    return reading
  }

  async #readAnew(file: string): Promise<readonly TapedStream[]> {
    const reading = this.#before.then(() => readTapeFile(file))
    this.#before = reading.catch(() => {})
    try {
      const tape = await reading
      keep(this.#tapes, file, tape, MOST_TAPES)
      return tape
    } catch (cause) {
      const defect = new TapeDefect(`the tape ${file}: ${(cause as Error).message}`, { cause })
      keep(this.#defects, file, defect, MOST_DEFECTS)
      throw defect
    } finally {
      this.#underWay.delete(file)
    }
  }
}

function makeDeck(
  parts: readonly TapePart[],
  files: readonly string[],
  tapeOf: (file: string, at: number) => readonly TapedStream[],
): TapeDeck {
  try {
    return new TapeDeck(parts.map((part, at) => ({ part, tape: tapeOf(files[at]!, at) })))
  } catch (cause) {
    throw new TapeDefect(`the tape ${files.join(', ')}: ${(cause as Error).message}`, { cause })
  }
}

function keep<T>(map: Map<string, T>, file: string, value: T, most: number): void {
  map.set(file, value)
  if (map.size > most) map.delete(map.keys().next().value!)
}

function fileOf({ file, folder }: TapePart, model: string): string {
  if (file !== undefined) return file
  // Of `tape:monday` the name is `monday`.
  const name = model.slice(model.lastIndexOf(':') + 1)
  if (!TAPE_NAME.test(name)) throw new UnsupportedRequest(`"${name.slice(0, 64)}" is no name of a tape`)
  return join(folder!, `${name}.ndjson`)
}

/** The tapes of one endpoint: asked once, kept as long as the endpoint is. */
export class TapedEndpoint {
  readonly #find: () => TapeDeck | Promise<TapeDeck>
  #found: (() => TapeDeck) | null = null
  #underWay: Promise<void> | null = null

  constructor(shelf: TapeShelf, parts: readonly TapePart[], model: string) {
    this.#find = () => shelf.deckOf(parts, model)
  }

  /** Null once `deck` can be asked; it resolves then. */
  whenRead(): Promise<void> | null {
    if (this.#found !== null) return null
    if (this.#underWay !== null) return this.#underWay
    try {
      const deck = this.#find()
      if (deck instanceof TapeDeck) this.#found = () => deck
      else this.#underWay = this.#await(deck)
    } catch (error) {
      this.#keepError(error)
    }
    return this.#underWay
  }

  /** Throws why there is none, again and again. */
  deck(): TapeDeck {
    return this.#found!()
  }

  async #await(reading: Promise<TapeDeck>): Promise<void> {
    try {
      const deck = await reading
      this.#found = () => deck
    } catch (error) {
      this.#keepError(error)
    }
  }

  #keepError(error: unknown): void {
    this.#found = () => {
      throw error
    }
  }
}
