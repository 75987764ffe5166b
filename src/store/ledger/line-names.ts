/** Who answered, from a line that closes a call: read for every call, so nothing is parsed that was parsed before. */
import { LineCursor } from './line-cursor.js'

/** Names as the roll-ups of hours keep them. */
export interface NamesOfLine {
  readonly model: string
  /** Display name of the provider. */
  readonly provider: string
}

/** Model, what was asked for, provider and kind of work stand together. */
const NAMES = 4
const NOBODY = '"","","","",'
/** Of a name that parts sums: these are keys, which have an end. */
const LONGEST_NAME = 128
const CONTROLS = /\p{Cc}/gu

export class LineNames {
  readonly #cursor = new LineCursor()
  #last = ''

  /** As the text that they are in the line; `detailAt`: where its detail begins. */
  read(line: string, detailAt: number): string {
    const cursor = this.#cursor
    cursor.begin(line, detailAt)
    if (!cursor.passes('[') || !cursor.passesFigures()) return parsedNames(line, detailAt)
    if (this.#last !== '' && cursor.passes(this.#last)) return this.#last
    const namesAt = cursor.at
    if (!cursor.passesValues(NAMES)) return parsedNames(line, detailAt)
    this.#last = cursor.since(namesAt)
    return this.#last
  }

  /** What that text says. A character of it stands for a byte. */
  named(names: string): NamesOfLine {
    const [model, , provider] = JSON.parse(`[${names}0]`) as unknown[]
    return { model: plainName(model), provider: plainName(provider) }
  }
}

/** As a name is kept in the roll-ups, so that what is looked for is looked for by the same text. */
export function rollupName(name: string): string {
  return name.replaceAll(CONTROLS, '?').slice(0, LONGEST_NAME).toWellFormed()
}

function plainName(name: unknown): string {
  return typeof name === 'string' ? rollupName(Buffer.from(name, 'latin1').toString('utf8')) : ''
}

/** Of a line that has an escape in a name. */
function parsedNames(line: string, detailAt: number): string {
  try {
    const values = JSON.parse(line.slice(detailAt)) as unknown[]
    const names = values.slice(1, 1 + NAMES).map((value) => `${JSON.stringify(value ?? null)},`)
    return names.length === NAMES ? names.join('') : NOBODY
  } catch {
    return NOBODY
  }
}
