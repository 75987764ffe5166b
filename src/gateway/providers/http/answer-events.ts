/** The events of a streamed answer, from the bytes that come to the reader of their format. */
import { EventStreamParser } from '../../../upstream/event-stream-parser.js'
import type { RepeatedEvent } from '../../../upstream/repeated-event.js'
import type { StreamDefect, StreamReader } from './answer-format.js'

/** What it costs to learn the form of an event, counted in events of that form, and how much of that is advanced. */
const LEARNING_COST = 8
const MOST_CREDIT = 24
/** Characters of a longer event are not gone through again to learn its form: it may hold a picture. */
const LONGEST_LEARNT = 16 * 1024

/**
 * Nearly all events of an answer differ from the one before in their text alone. Such a one is known by its bytes and
 * read by its text; any other is read in full, and tried as the form of those behind it, unless that did not pay.
 */
export class AnswerEvents<E> {
  readonly #reader: StreamReader<E>
  readonly #onResult: (result: StreamDefect | 'end') => void
  readonly #parser: EventStreamParser
  #credit = MOST_CREDIT

  /** `onResult` takes what ends the answer: its terminator, or what is wrong with an event. */
  constructor(reader: StreamReader<E>, onResult: (result: StreamDefect | 'end') => void) {
    this.#reader = reader
    this.#onResult = onResult
    this.#parser = new EventStreamParser(
      (data, name) => this.#read(data, name),
      undefined,
      (event) => this.#readRepeated(event),
    )
  }

  /** As `EventStreamParser.push`. */
  push(bytes: Uint8Array): boolean {
    return this.#parser.push(bytes)
  }

  stop(): void {
    this.#parser.stop()
  }

  unfinished(): string {
    return this.#parser.unfinished()
  }

  #read(data: string, name: string): void {
    if (data === '') return
    const result = this.#reader.read(data, name)
    if (result !== null) {
      this.#onResult(result)
      return
    }
    if (this.#credit < LEARNING_COST || data.length > LONGEST_LEARNT) return
    const form = this.#reader.formOf(data, name)
    if (form === null) return
    this.#credit -= LEARNING_COST
    this.#parser.expect(form)
  }

  #readRepeated(event: RepeatedEvent): void {
    if (this.#credit < MOST_CREDIT) this.#credit++
    this.#reader.readRepeated(event)
  }
}
