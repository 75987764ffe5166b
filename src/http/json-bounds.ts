/**
 * How much a JSON text holds, from its bytes, before it is parsed (contract/decisions 64). Parsing makes an object for
 * every two bytes of `[]`: twenty megabytes would keep the event loop for seconds and take a gigabyte.
 */
import { notedIssue, type ValidationIssue } from '../base/fault.js'
import { LONG_STRING } from '../base/long-strings.js'

const DEEPEST = 200
/** Elements, members and the value itself. */
const MOST_VALUES = 500_000
/** Names cost the engine ten times as much as elements. */
const MOST_MEMBERS = 100_000
const MOST_MEMBERS_OF_ONE = 10_000
/**
 * Up to this size texts are parsed as they are: what they may hold costs two milliseconds at most. The bodies of the
 * practice API, which may be as deep as they like (contract/practice 2), have no more unless the operator says so.
 */
const LEAST_BYTES = 64 * 1024

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const LEFT_BRACKET = 0x5b
const BACKSLASH = 0x5c
const RIGHT_BRACKET = 0x5d
const LEFT_BRACE = 0x7b
const RIGHT_BRACE = 0x7d

/**
 * What a text holds too much of; null for nothing. The issue names the outermost member it stands in. Of a text that
 * is no JSON nothing is promised. One pass: a nanosecond or two a byte, strings less.
 * @param longStrings takes where strings begin and end that `cutLongStrings` may cut out, by turns
 */
export function jsonExcess(text: Buffer, longStrings: number[] = []): ValidationIssue | null {
  const { length } = text
  if (length <= LEAST_BYTES) return null
  /** Members of the objects that are open, by depth. */
  const memberCounts = new Int32Array(DEEPEST + 1)
  let depth = 0
  let values = 1
  let members = 0
  /** Where the string begins that was read last, and that of the outermost member under way. */
  let stringAt = 0
  let nameAt = 0
  const refuse = (note: string): ValidationIssue => notedIssue(locationOf(text, nameAt), note)
  for (let at = 0; at < length; at++) {
    switch (text[at]) {
      case QUOTE:
        stringAt = at
        at = endOfString(text, at + 1)
        if (at - stringAt > LONG_STRING) longStrings.push(stringAt + 1, at)
        break
      case COMMA:
        if (++values > MOST_VALUES) return refuse(`has more than ${MOST_VALUES} values`)
        break
      case COLON:
        // That was a name.
        if (longStrings.at(-2) === stringAt + 1) longStrings.length -= 2
        if (depth === 1) nameAt = stringAt
        if (++members > MOST_MEMBERS) return refuse(`has more than ${MOST_MEMBERS} members in all`)
        if (++memberCounts[depth]! > MOST_MEMBERS_OF_ONE)
          return notedIssue(
            locationOf(text, depth === 1 ? 0 : nameAt),
            `has an object of more than ${MOST_MEMBERS_OF_ONE} members`,
          )
        break
      case LEFT_BRACKET:
      case LEFT_BRACE:
        if (++depth > DEEPEST) return refuse(`is nested deeper than ${DEEPEST} levels`)
        memberCounts[depth] = 0
        // The first value within is counted here: no comma stands before it, and an empty one has none.
        if (isClosing(text[at + 1])) break
        if (++values > MOST_VALUES) return refuse(`has more than ${MOST_VALUES} values`)
        break
      case RIGHT_BRACKET:
      case RIGHT_BRACE:
        if (--depth < 0) return null
    }
  }
  return null
}

function isClosing(byte: number | undefined): boolean {
  return byte === RIGHT_BRACKET || byte === RIGHT_BRACE
}

/** Shorter distances are gone step by step: a search costs as much as this many. */
const NEAR = 48
/** Where a search ends so soon at a quote that ends nothing, it was not worth its cost. */
const DENSE = 512

/** Where the quote stands that ends a string of which `from` is the first byte; the length of the text without one. */
export function endOfString(text: Buffer, from: number): number {
  const { length } = text
  let steps = NEAR
  for (let at = from; ; ) {
    for (const near = Math.min(at + steps, length); at < near; at++) {
      const byte = text[at]
      if (byte === QUOTE) return at
      if (byte === BACKSLASH) at++
    }
    if (at >= length) return length
    const quote = text.indexOf(QUOTE, at)
    if (quote < 0) return length
    let backslashes = 0
    while (quote - backslashes > from && text[quote - backslashes - 1] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote
    if (quote - at < DENSE) steps *= 2
    at = quote + 1
  }
}

/** `nameAt`: where the string of a name begins; 0 for none, as no name stands first. */
function locationOf(text: Buffer, nameAt: number): readonly string[] {
  if (nameAt === 0) return ['body']
  try {
    const name: unknown = JSON.parse(text.toString('utf8', nameAt, endOfString(text, nameAt + 1) + 1))
    return typeof name === 'string' && name.length <= LONGEST_NAME ? ['body', name] : ['body']
  } catch {
    return ['body']
  }
}

/** A caller's own word is told back only if it is one. */
const LONGEST_NAME = 64
