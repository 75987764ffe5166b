/**
 * JSON whose long strings are copied as they are. Nearly all of a large body is pictures in base64, and the engine reads
 * and writes strings character by character: 20 MB take 25 ms to parse and 45 ms to write. Here the long ones are lifted
 * out of the text, a mark stands in their place while the rest is parsed or written, and memory is copied instead.
 *
 * Only plain strings are lifted: ASCII without anything that JSON escapes. Their bytes are their characters.
 */
import { isAscii } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { decodeUtf8 } from './utf8.js'

/** A shorter string costs less than what is done about a long one. */
export const LONG_STRING = 16 * 1024

/** Nobody outside has seen one, so nobody can send one. */
const MARK = `${randomBytes(18).toString('base64url')}:`
const DIGITS = 7
const MARK_LENGTH = MARK.length + DIGITS

const markOf = (index: number): string => `${MARK}${String(index).padStart(DIGITS, '0')}`
/** Of the string whose mark begins there. */
const indexInMark = (text: string, at: number): number =>
  Number(text.slice(at + MARK.length, at + MARK_LENGTH))

// ── Plain strings ───────────────────────────────────────────────────────────

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const BLOCK = 64 * 1024
const block = Buffer.from(new ArrayBuffer(BLOCK))
const words = new Int32Array(block.buffer)

/** Whether bytes between two quotes stand for themselves. */
function arePlainBytes(bytes: Buffer): boolean {
  if (!isAscii(bytes) || bytes.includes(BACKSLASH)) return false
  for (let at = 0; at < bytes.length; at += BLOCK)
    if (hasControl(bytes.copy(block, 0, at, at + BLOCK))) return false
  return true
}

/** Whether JSON writes a string as it is. */
function isPlainString(text: string): boolean {
  for (let at = 0; at < text.length; at += BLOCK) {
    const piece = text.slice(at, at + BLOCK)
    const length = block.write(piece)
    const bytes = block.subarray(0, length)
    if (length !== piece.length || !isAscii(bytes)) return false
    if (bytes.includes(QUOTE) || bytes.includes(BACKSLASH) || hasControl(length)) return false
  }
  return true
}

/**
 * Whether the first bytes of the block, which are ASCII, hold a control character. Four at a time: what is below a
 * space borrows, and then its highest bit is set.
 */
function hasControl(length: number): boolean {
  const count = Math.ceil(length / 4)
  block.fill(SPACE, length, count * 4)
  let borrowed = 0
  for (let at = 0; at < count; at++) borrowed |= words[at]! - 0x20202020
  return (borrowed & 0x80808080) !== 0
}

// ── Reading ─────────────────────────────────────────────────────────────────

/** A JSON text out of which the long strings were cut. */
export interface CutText {
  readonly rest: string
  readonly strings: readonly string[]
}

/**
 * Cuts the plain ones of its long strings out of a text; null where that is no UTF-8.
 * @param spans where long strings begin and end, without their quotes, by turns; none of them is a name
 */
export function cutLongStrings(text: Buffer, spans: readonly number[]): CutText | null {
  const pieces: Buffer[] = []
  const strings: string[] = []
  let from = 0
  for (let at = 0; at < spans.length; at += 2) {
    const string = text.subarray(spans[at], spans[at + 1])
    if (!arePlainBytes(string)) continue
    pieces.push(text.subarray(from, spans[at]), Buffer.from(markOf(strings.length)))
    strings.push(string.toString('latin1'))
    from = spans[at + 1]!
  }
  const rest = decodeUtf8(pieces.length === 0 ? text : Buffer.concat([...pieces, text.subarray(from)]))
  return rest === null ? null : { rest, strings }
}

/** The value of the whole text. Throws what `JSON.parse` throws; it tells places in the rest. */
export function parseCutText({ rest, strings }: CutText): unknown {
  const whole: Holder = { value: JSON.parse(rest) as unknown }
  if (strings.length > 0) putBack(whole, strings)
  return whole.value
}

/** How many bytes of the whole text stand before a place in the rest. */
export function bytesBefore({ rest, strings }: CutText, place: number): number {
  const before = rest.slice(0, place)
  let bytes = Buffer.byteLength(before)
  for (let at = findMark(before, 0, strings); at >= 0; at = findMark(before, at + MARK_LENGTH, strings))
    bytes += strings[indexInMark(before, at)]!.length - MARK_LENGTH
  return bytes
}

type Holder = Record<string | number, unknown>

/** Of a member that is given twice the first is gone, so there may be fewer marks than strings. */
function putBack(value: Holder, strings: readonly string[]): void {
  const visit = (holder: Holder, name: string | number): void => {
    const member = holder[name]
    if (typeof member === 'string') {
      if (member.length === MARK_LENGTH && member.startsWith(MARK))
        setMember(holder, name, strings[indexInMark(member, 0)])
    } else if (typeof member === 'object' && member !== null) visitAll(member as Holder)
  }
  const visitAll = (holder: Holder): void => {
    if (Array.isArray(holder)) for (let at = 0; at < holder.length; at++) visit(holder, at)
    else for (const name in holder) visit(holder, name)
  }
  visitAll(value)
}

/** An assignment to `__proto__` would be none. */
function setMember(holder: Holder, name: string | number, value: unknown): void {
  if (name !== '__proto__') holder[name] = value
  else Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true })
}

// ── Writing ─────────────────────────────────────────────────────────────────

/** What a piece of a written text has at most, in bytes: as much as a socket takes at once. */
const PIECE = 256 * 1024

/** A JSON text in UTF-8, made while it is sent. */
export class LongJson {
  readonly byteLength: number
  /** By turns what stands around the long strings, and those. */
  readonly #around: readonly Buffer[]
  readonly #strings: readonly string[]

  constructor(around: readonly Buffer[], strings: readonly string[]) {
    this.#around = around
    this.#strings = strings
    this.byteLength =
      around.reduce((sum, bytes) => sum + bytes.length, 0) +
      strings.reduce((sum, { length }) => sum + length, 0)
  }

  /** The text from its beginning; a piece of 256 KiB is good until the next one is asked for, a shorter one for good. */
  async *read(): AsyncIterable<Uint8Array> {
    const piece = Buffer.allocUnsafeSlow(PIECE)
    for (const [at, around] of this.#around.entries()) {
      for (let from = 0; from < around.length; from += PIECE) yield around.subarray(from, from + PIECE)
      const string = this.#strings[at] ?? ''
      for (let from = 0; from < string.length; from += PIECE) {
        const letters = string.slice(from, from + PIECE)
        // A socket keeps a short piece and asks for the next one at once.
        const bytes = letters.length === PIECE ? piece : Buffer.allocUnsafeSlow(letters.length)
        bytes.write(letters, 'latin1')
        yield bytes
      }
    }
  }
}

/** The JSON text of a large value. Throws what `JSON.stringify` throws. */
export function writeAround(value: object): LongJson {
  const strings: string[] = []
  const text = JSON.stringify(lift(value, strings))
  const around: Buffer[] = []
  const order: string[] = []
  let from = 0
  for (let at = findMark(text, 0, strings); at >= 0; at = findMark(text, from, strings)) {
    around.push(Buffer.from(text.slice(from, at)))
    order.push(strings[indexInMark(text, at)]!)
    from = at + MARK_LENGTH
  }
  around.push(Buffer.from(text.slice(from)))
  return new LongJson(around, order)
}

/** Without strings the text, which may be long, is not searched. */
function findMark(text: string, from: number, strings: readonly string[]): number {
  return strings.length === 0 ? -1 : text.indexOf(MARK, from)
}

/** The value with marks in the place of long strings: itself where it has none. */
function lift(value: unknown, strings: string[]): unknown {
  if (typeof value === 'string') {
    if (value.length < LONG_STRING || !isPlainString(value)) return value
    return markOf(strings.push(value) - 1)
  }
  if (typeof value !== 'object' || value === null) return value
  let copy: Holder | null = null
  const visit = (name: string | number): void => {
    const member = (value as Holder)[name]
    const lifted = lift(member, strings)
    if (lifted === member) return
    copy ??= (Array.isArray(value) ? value.slice() : { ...value }) as Holder
    setMember(copy, name, lifted)
  }
  if (Array.isArray(value)) for (let at = 0; at < value.length; at++) visit(at)
  else for (const name in value) visit(name)
  return copy ?? value
}
