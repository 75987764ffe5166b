/** Values of a condition as the language writes them, shortened where they are long. */
import { textOfDouble, textOfDuration, textOfTimestamp } from './conversions.js'
import { type CelMap, CelType, type CelValue, Duration, Timestamp, Uint } from './value.js'

/** Most UTF-16 units of what is shown of a value or a text. */
export const MAX_SHOWN = 200
const MAX_SHOWN_ITEMS = 16
const CUT = '…'

interface Rendered {
  readonly text: string
  readonly shortened: boolean
}

export function renderValue(value: CelValue): Rendered {
  const text = write(value, 0)
  return { ...shorten(text), shortened: text.length > MAX_SHOWN || text.includes(CUT) }
}

/** The begin of a text that is too long, with a mark. */
export function shorten(text: string): Rendered {
  if (text.length <= MAX_SHOWN) return { text, shortened: false }
  return { text: `${text.slice(0, MAX_SHOWN - 1).toWellFormed()}${CUT}`, shortened: true }
}

function write(value: CelValue, depth: number): string {
  if (typeof value === 'string') return writeText(value)
  if (typeof value === 'number') return textOfDouble(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (value instanceof Uint) return `${value.value}u`
  if (value instanceof Timestamp) return `timestamp("${textOfTimestamp(value)}")`
  if (value instanceof Duration) return `duration("${textOfDuration(value)}")`
  if (value instanceof CelType) return value.name
  if (value instanceof Uint8Array) return `${value.length} bytes`
  if (depth > 2) return CUT
  if (Array.isArray(value)) return `[${writeSome(value, (each) => write(each, depth + 1))}]`
  const entries = [...(value as CelMap).values()]
  return `{${writeSome(entries, ({ key, value: of }) => `${write(key, depth + 1)}: ${write(of, depth + 1)}`)}}`
}

function writeText(text: string): string {
  const quoted = JSON.stringify(text.slice(0, MAX_SHOWN).toWellFormed())
  return text.length <= MAX_SHOWN ? quoted : `${quoted.slice(0, -1)}${CUT}"`
}

function writeSome<T>(all: readonly T[], one: (item: T) => string): string {
  const shown = all.slice(0, MAX_SHOWN_ITEMS).map(one)
  return (all.length > MAX_SHOWN_ITEMS ? [...shown, CUT] : shown).join(', ')
}
