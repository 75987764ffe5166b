/**
 * Reads a line of the ledger value by value, without making anything of those that are passed over. What does not stand
 * there as our own lines have it is told, and then the line is parsed instead.
 */
const ZERO = 0x30
const NINE = 0x39
const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const LIST = 0x5b
const OBJECT = 0x7b

export class LineCursor {
  #line = ''
  at = 0

  begin(line: string, at: number): void {
    this.#line = line
    this.at = at
  }

  /** A whole number, and passes the character behind it; NaN where it is none, or does not end with that character. */
  whole(end: string): number {
    const line = this.#line
    const begin = this.at
    let at = begin
    let number = 0
    for (;;) {
      const code = line.charCodeAt(at)
      if (!(code >= ZERO && code <= NINE)) break
      number = number * 10 + (code - ZERO)
      at++
    }
    this.at = at + 1
    return at === begin || line[at] !== end ? Number.NaN : number
  }

  /** Passes that text; false where another one stands. */
  passes(text: string): boolean {
    if (!this.#line.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  /** Passes an object of figures, whose names are ours and hold no brackets, and the comma behind it. */
  passesFigures(): boolean {
    if (this.passes('{},')) return true
    if (this.#line.charCodeAt(this.at) !== OBJECT) return false
    const end = this.#line.indexOf('},', this.at)
    if (end < 0) return false
    this.at = end + 2
    return true
  }

  /** Passes so many values with their commas: numbers, truth values, null, and texts without an escape. */
  passesValues(count: number): boolean {
    const line = this.#line
    let at = this.at
    for (let passed = 0; passed < count; passed++) {
      let code = line.charCodeAt(at)
      if (code === QUOTE) {
        do code = line.charCodeAt(++at)
        while (code !== QUOTE && code !== BACKSLASH && at < line.length)
        if (code !== QUOTE) return false
        at++
      } else if (code === LIST || code === OBJECT) return false
      while (line.charCodeAt(at) !== COMMA) if (++at >= line.length) return false
      at++
    }
    this.at = at
    return true
  }

  /** What was passed since. */
  since(at: number): string {
    return this.#line.slice(at, this.at)
  }
}
