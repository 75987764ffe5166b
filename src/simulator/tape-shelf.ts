/** The tapes that a provider has read, by their files. */
import { join } from 'node:path'
import { TapeDefect, type TapedStream } from '../tape/tape.js'
import { readTapeFile } from '../tape/tape-file.js'
import type { TapePart } from './behaviour.js'
import { UnsupportedRequest } from './faults.js'
import { TapeDeck } from './tape-deck.js'

/** Names of tapes that stand in the id of a model. */
const TAPE_NAME = /^\w[\w.-]{0,63}$/
/** Bytes of text of all tapes that are kept. */
const MOST_BYTES = 256 * 1024 * 1024
/** Callers make up names of tapes: what is not there must not push out what is. */
const MOST_DEFECTS = 1_000

/** The deck, or a throw that tells why there is none: an `UnsupportedRequest`, or a `TapeDefect` that names the file. */
export type FoundDeck = () => TapeDeck

/** Parts of tapes, with their files. */
interface WantedDeck {
  readonly parts: readonly TapePart[]
  /** Of each part. */
  readonly files: readonly string[]
  /** The same for all endpoints that replay the same parts of the same files. */
  readonly key: string
}

interface ShelvedTape {
  readonly streams: readonly TapedStream[]
  /** Of its text. */
  readonly bytes: number
  /** Keys of the decks that hold its streams; they go with it. */
  readonly decks: Set<string>
}

/**
 * All that holds tapes for longer than a call begins: whoever has an endpoint looks its deck up here, call by call, so
 * that a tape that has gone from here is gone.
 */
export class TapeShelf {
  readonly #mostBytes: number
  #bytes = 0
  /** The one that has not been used for longest comes first. */
  readonly #tapes = new Map<string, ShelvedTape>()
  readonly #decks = new Map<string, FoundDeck>()
  readonly #defects = new Map<string, FoundDeck>()
  readonly #underWay = new Map<string, Promise<FoundDeck>>()
  /** The reading before; one at a time, so that the loop has one slice between its turns. */
  #before: Promise<void> = Promise.resolve()

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes
  }

  /** At once where its tapes are here, else later; a reading is done once, however many wait for it. Never rejects. */
  deckOf(wanted: WantedDeck): FoundDeck | Promise<FoundDeck> {
    const { key, files } = wanted
    const made = this.#decks.get(key)
    if (made !== undefined) {
      for (const file of files) this.#use(file)
      return made
    }
    const found = this.#defects.get(key) ?? this.#underWay.get(key)
    if (found !== undefined) return found
    if (files.every((file) => this.#tapes.has(file))) return this.#make(wanted, new Map())
    const reading = this.#before.then(() => this.#read(wanted))
    this.#before = reading.then(() => {})
    this.#underWay.set(key, reading)
    return reading
  }

  /** What it reads has its room from then on, and its place once all of it has been read. */
  async #read(wanted: WantedDeck): Promise<FoundDeck> {
    const tapes = new Map<string, ShelvedTape>()
    let all = 0
    let anew = 0
    try {
      for (const file of wanted.files) {
        if (tapes.has(file)) continue
        const shelved = this.#use(file)
        const tape = shelved ?? (await readShelved(file))
        if ((all += tape.bytes) > this.#mostBytes) throw new TapeDefect(tooMuch(wanted, this.#mostBytes))
        if (shelved === undefined) this.#makeRoom((anew += tape.bytes))
        tapes.set(file, tape)
      }
    } catch (defect) {
      return this.#keepDefect(wanted, defect as TapeDefect)
    } finally {
      this.#underWay.delete(wanted.key)
    }
    return this.#make(wanted, tapes)
  }

  /** `read`: the tapes that may not be here, any more or yet. */
  #make(wanted: WantedDeck, read: ReadonlyMap<string, ShelvedTape>): FoundDeck {
    const { key, parts, files } = wanted
    for (const [file, tape] of read) this.#put(file, tape)
    const tapes = files.map((file) => this.#use(file)!)
    this.#makeRoom(0)
    try {
      const deck = new TapeDeck(parts.map((part, at) => ({ part, tape: tapes[at]!.streams })))
      for (const tape of tapes) tape.decks.add(key)
      const found = (): TapeDeck => deck
      this.#decks.set(key, found)
      return found
    } catch (cause) {
      const why = `the tape ${files.join(', ')}: ${(cause as Error).message}`
      return this.#keepDefect(wanted, new TapeDefect(why, { cause }))
    }
  }

  #keepDefect({ key }: WantedDeck, defect: TapeDefect): FoundDeck {
    const found = (): never => {
      throw defect
    }
    this.#defects.set(key, found)
    if (this.#defects.size > MOST_DEFECTS) this.#defects.delete(this.#defects.keys().next().value!)
    return found
  }

  #put(file: string, tape: ShelvedTape): void {
    if (this.#tapes.has(file)) return
    this.#tapes.set(file, tape)
    this.#bytes += tape.bytes
  }

  #use(file: string): ShelvedTape | undefined {
    const tape = this.#tapes.get(file)
    if (tape === undefined) return undefined
    this.#tapes.delete(file)
    this.#tapes.set(file, tape)
    return tape
  }

  /** For so many bytes that are not here. */
  #makeRoom(more: number): void {
    for (const [file, { bytes, decks }] of this.#tapes) {
      if (this.#bytes + more <= this.#mostBytes) return
      this.#tapes.delete(file)
      this.#bytes -= bytes
      for (const key of decks) this.#decks.delete(key)
      decks.clear()
    }
  }
}

async function readShelved(file: string): Promise<ShelvedTape> {
  try {
    return { ...(await readTapeFile(file)), decks: new Set() }
  } catch (cause) {
    throw new TapeDefect(`the tape ${file}: ${(cause as Error).message}`, { cause })
  }
}

function tooMuch({ files }: WantedDeck, mostBytes: number): string {
  return `the tapes ${[...new Set(files)].join(', ')}: they have more than ${mostBytes} bytes together`
}

function fileOf({ file, folder }: TapePart, model: string): string {
  if (file !== undefined) return file
  // Of `tape:monday` the name is `monday`.
  const name = model.slice(model.lastIndexOf(':') + 1)
  if (!TAPE_NAME.test(name)) throw new UnsupportedRequest(`"${name.slice(0, 64)}" is no name of a tape`)
  return join(folder!, `${name}.ndjson`)
}

/** The tapes of one endpoint: which they are, and nothing of what is in them. */
export class TapedEndpoint {
  readonly #find: () => FoundDeck | Promise<FoundDeck>

  /** `model`: what stands for the name of a tape where only its folder is given. */
  constructor(shelf: TapeShelf, parts: readonly TapePart[], model: string) {
    try {
      const files = parts.map((part) => fileOf(part, model))
      const wanted = { parts, files, key: JSON.stringify([files, parts]) }
      this.#find = () => shelf.deckOf(wanted)
    } catch (error) {
      this.#find = () => () => {
        throw error
      }
    }
  }

  /** For a call that begins: whoever kept what is found would keep a whole tape. */
  deck(): FoundDeck | Promise<FoundDeck> {
    return this.#find()
  }
}
