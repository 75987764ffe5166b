/** An event that comes again and again with another text in one place, as the pieces of a streamed answer do. */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const FIRST_NOT_ASCII = 0x80

/**
 * The form of such an event, learnt from one of them. What stands around the text is compared byte by byte, so that an
 * event of this form need not be cut into lines, made into text, nor parsed: in valid JSON a string may be exchanged
 * for any other without touching what is around it.
 */
export class RepeatedEvent {
  /** What the event that was matched last has to say. */
  text = ''
  /** The same as it stands in the JSON of the event, without its quotes. */
  #literal = ''
  readonly #head: Buffer
  readonly #tail: Buffer

  private constructor(
    name: string,
    private readonly before: string,
    private readonly behind: string,
  ) {
    this.#head = Buffer.from(`${name === 'message' ? '' : `event: ${name}\n`}data: ${before}`)
    this.#tail = Buffer.from(`${behind}\n\n`)
  }

  /**
   * The form of an event of this name and data, which is valid JSON: what varies is the text of its only `member`. Null
   * where it has no such member, or several.
   */
  static of(name: string, data: string, member: string): RepeatedEvent | null {
    const key = `"${member}":`
    const at = data.indexOf(key)
    // In valid JSON the quote of a name that ends so begins a value: a quote within a text stands behind a backslash.
    if (at < 0 || data.indexOf(key, at + 1) >= 0 || data.includes('\n')) return null
    let from = at + key.length
    if (data[from] === ' ') from++
    if (data[from] !== '"') return null
    from++
    const to = literalEnd(data, from)
    // One that says nothing is a beginning: the next one looks different.
    if (to === from) return null
    return new RepeatedEvent(name, data.slice(0, from), data.slice(to))
  }

  /** The data of the event that was matched last. */
  get data(): string {
    return this.dataWith(this.#literal)
  }

  /** The data of an event of this form with this text, as it stands in JSON between its quotes. */
  dataWith(literal: string): string {
    return this.before + literal + this.behind
  }

  /** Reads an event of this form that stands whole at `at`, and returns where it ends; -1 when there is none. */
  match(chunk: Buffer, at: number): number {
    const head = this.#head
    const tail = this.#tail
    const from = at + head.length
    const last = chunk.length - tail.length
    if (from > last) return -1
    // Measured: a third of what comparing byte by byte takes here.
    if (head.compare(chunk, at, from) !== 0) return -1
    let to = from
    let isPlain = true
    for (let code = chunk[to]!; code !== QUOTE; code = chunk[to]!) {
      if (code < SPACE || to > last) return -1
      if (code === BACKSLASH) to++
      if (code === BACKSLASH || code >= FIRST_NOT_ASCII) isPlain = false
      to++
    }
    if (to > last || tail.compare(chunk, to, to + tail.length) !== 0) return -1
    return this.#take(chunk, from, to, isPlain) ? to + tail.length : -1
  }

  #take(chunk: Buffer, from: number, to: number, isPlain: boolean): boolean {
    if (isPlain) {
      this.#literal = chunk.toString('latin1', from, to)
      this.text = this.#literal
      return true
    }
    this.#literal = chunk.toString('utf8', from, to)
    try {
      this.text = JSON.parse(`"${this.#literal}"`) as string
      return true
    } catch {
      return false
    }
  }
}

/** Where the text that begins at `from` ends: at the next quote without a backslash. */
function literalEnd(json: string, from: number): number {
  let at = from
  while (json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}
