/**
 * Remembers one member of the bodies of an endpoint that its callers send again and again unchanged, as agents send the
 * definitions of their tools: it is parsed, checked and written as often as it changes, and not with each call.
 *
 * Known again are bytes: those of a value that stood at this member before, in a body of the same caller. They are taken
 * out of the text, a mark that nobody can send stands in their place, and where the rest has that mark at this member the
 * text as a whole has that value there: in valid JSON one value may stand for another without touching what is around it.
 * Whatever else comes of it, the whole text is parsed as any other.
 */
import { randomBytes } from 'node:crypto'
import { isKnown, keepKnown } from '../base/known-json.js'
import { isObject } from '../base/strict-json.js'
import { decodeUtf8 } from '../base/utf8.js'
import { endOfString } from './json-bounds.js'

const MARK = randomBytes(24).toString('base64url')
const QUOTED_MARK = `"${MARK}"`

/** Shorter values cost less than what is done about them; longer ones come in bodies that are read in another way. */
const LEAST_BYTES = 512
const MOST_BYTES = 128 * 1024
/** Of all that is in one: to freeze them takes a microsecond each. */
const MOST_VALUES_WITHIN = 8 * 1024
/** Values of one caller. */
const MOST_VALUES = 4
/** Bytes of the values of all callers; the values themselves take some ten times as much, of objects alone twenty. */
const MOST_BYTES_IN_ALL = 2 * 1024 * 1024

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const LEFT_BRACKET = 0x5b
const RIGHT_BRACKET = 0x5d
const LEFT_BRACE = 0x7b
const RIGHT_BRACE = 0x7d

/** What is remembered of one caller. */
interface Share {
  /** The one seen last stands first. */
  readonly values: RememberedValue[]
  /** Values that were not among them, since one was. */
  strangers: number
}

interface RememberedValue {
  readonly bytes: Buffer
  readonly value: object
  readonly share: Share
}

export class MemberMemory {
  readonly #name: string
  /** What stands before the value. */
  readonly #opening: Buffer
  /** Goes when its caller does. */
  readonly #shares = new WeakMap<object, Share>()
  /** Of all callers, in the order in which they were last seen. */
  readonly #order = new Set<RememberedValue>()
  #bytes = 0

  /** `name` of the member, in which nothing has to be escaped. Its value is a list. */
  constructor(name: string) {
    this.#name = name
    this.#opening = Buffer.from(`"${name}":`)
  }

  /**
   * The value of a body of this caller, with the remembered value, which is known and frozen, at its member; null where
   * nothing is remembered that stands there, or the body is no JSON.
   */
  read(body: Buffer, caller: object): object | null {
    const share = this.#shares.get(caller)
    if (share === undefined || share.values.length === 0) return null
    const from = this.#begin(body)
    if (from < 0) return null
    const at = share.values.findIndex(({ bytes }) => standsAt(body, bytes, from))
    if (at < 0) return null
    const remembered = share.values[at]!
    const whole = parseAround(body, from, from + remembered.bytes.length)
    if (whole === null || whole[this.#name] !== MARK) {
      this.#forget(remembered)
      return null
    }
    whole[this.#name] = remembered.value
    this.#refresh(remembered, at)
    return whole
  }

  /**
   * Takes note of what a valid body holds at its member. A caller whose values are new each time has the second, fourth,
   * eighth and so on remembered: it costs as much as reading them.
   */
  learn(body: Buffer, caller: object, value: unknown): void {
    if (!Array.isArray(value) || value.length === 0 || isKnown(value)) return
    let share = this.#shares.get(caller)
    if (share === undefined) {
      share = { values: [], strangers: 0 }
      this.#shares.set(caller, share)
    }
    const count = ++share.strangers
    if (count < 2 || (count & (count - 1)) !== 0) return
    const from = this.#begin(body)
    if (from < 0 || body[from] !== LEFT_BRACKET) return
    // `read` is not asked about every body.
    if (share.values.some(({ bytes }) => standsAt(body, bytes, from))) return
    const size = endOfList(body, from) - from
    if (size < LEAST_BYTES || size > MOST_BYTES) return
    this.#remember(Buffer.from(body.subarray(from, from + size)), share)
  }

  /** Where the value begins, if the member is written as it mostly is; -1 for nowhere. */
  #begin(body: Buffer): number {
    const opening = body.indexOf(this.#opening)
    if (opening < 0) return -1
    const from = opening + this.#opening.length
    return body[from] === SPACE ? from + 1 : from
  }

  #remember(bytes: Buffer, share: Share): void {
    const text = decodeUtf8(bytes)
    const value = text === null ? null : parseOrNull(text)
    if (!isObject(value) && !Array.isArray(value)) return
    const remembered = { bytes, value: keepKnown(value), share }
    share.values.unshift(remembered)
    this.#order.add(remembered)
    this.#bytes += bytes.length
    if (share.values.length > MOST_VALUES) this.#forget(share.values.at(-1)!)
    for (const oldest of this.#order) {
      if (this.#bytes <= MOST_BYTES_IN_ALL) break
      this.#forget(oldest)
    }
  }

  #refresh(remembered: RememberedValue, at: number): void {
    const { share } = remembered
    share.strangers = 0
    if (at > 0) {
      share.values.splice(at, 1)
      share.values.unshift(remembered)
    }
    this.#order.delete(remembered)
    this.#order.add(remembered)
  }

  #forget(remembered: RememberedValue): void {
    const { values } = remembered.share
    values.splice(values.indexOf(remembered), 1)
    this.#order.delete(remembered)
    this.#bytes -= remembered.bytes.length
  }
}

function standsAt(body: Buffer, bytes: Buffer, from: number): boolean {
  const to = from + bytes.length
  return to < body.length && body.compare(bytes, 0, bytes.length, from, to) === 0
}

/** The value of a text with the mark in the place of some of its bytes; null where that is no JSON object. */
function parseAround(body: Buffer, from: number, to: number): Record<string, unknown> | null {
  const before = decodeUtf8(body.subarray(0, from))
  const after = decodeUtf8(body.subarray(to))
  if (before === null || after === null) return null
  const whole = parseOrNull(before + QUOTED_MARK + after)
  return isObject(whole) ? whole : null
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Behind the bracket that ends a list; -1 where none does, or it holds too much. Of a text that is no JSON nothing is promised. */
function endOfList(text: Buffer, from: number): number {
  let depth = 0
  let values = 0
  for (let at = from; at < text.length && values <= MOST_VALUES_WITHIN; at++) {
    switch (text[at]) {
      case QUOTE:
        at = endOfString(text, at + 1)
        break
      case COMMA:
        values++
        break
      case LEFT_BRACKET:
      case LEFT_BRACE:
        values++
        depth++
        break
      case RIGHT_BRACKET:
      case RIGHT_BRACE:
        if (--depth === 0) return at + 1
    }
  }
  return -1
}
