/**
 * The head of an answer of HTTP/1.1, and what it says of the body behind it (RFC 9112 section 6.3). Strict on purpose:
 * a garbled answer must be noticed and not repaired.
 */

/** Thrown when the bytes are no HTTP/1.1 answer. */
export class MalformedResponse extends Error {}

/** How the end of a body is known. */
export type BodyFraming = 'none' | 'length' | 'chunked' | 'until-close'

const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/

export class ResponseHead {
  /** As in the status line: `HTTP/1.1`. */
  readonly version: string
  readonly status: number
  readonly reason: string
  readonly framing: BodyFraming
  /** Of the body where `framing` is `length`, otherwise 0. */
  readonly length: number
  /** The server says that the connection ends with this answer. */
  readonly closes: boolean
  readonly #text: string
  #fields: readonly (readonly [name: string, value: string])[] | null = null

  /** `text` is the head without its empty line; an answer to HEAD has no body whatever it says. Faults: MalformedResponse. */
  constructor(text: string, answersHead: boolean) {
    this.#text = text
    const lineEnd = text.indexOf('\r\n')
    const line = lineEnd < 0 ? text : text.slice(0, lineEnd)
    const match = /^(HTTP\/1\.[01]) ([1-9]\d\d)(?: (.*))?$/.exec(line)
    if (match === null) throw new MalformedResponse(`no status line: ${JSON.stringify(line.slice(0, 60))}`)
    this.version = match[1]!
    this.status = Number(match[2])
    this.reason = match[3] ?? ''
    const { coding, length, closes } = readFramingFields(text)
    if (coding !== null && length !== null)
      throw new MalformedResponse(`both a length (${length}) and a coding (${coding})`)
    if (length !== null && !/^\d{1,15}$/.test(length))
      throw new MalformedResponse(`no content length: ${length}`)
    if (coding !== null && coding.toLowerCase() !== 'chunked')
      throw new MalformedResponse(`unknown coding: ${coding}`)
    this.closes = closes
    this.length = 0
    if (answersHead || this.status < 200 || this.status === 204 || this.status === 304) this.framing = 'none'
    else if (coding !== null) this.framing = 'chunked'
    else if (length === null) this.framing = 'until-close'
    else {
      this.framing = 'length'
      this.length = Number(length)
    }
  }

  /** Header fields in order; names in lower case, values trimmed. Faults: MalformedResponse for a line that is none. */
  get fields(): readonly (readonly [name: string, value: string])[] {
    this.#fields ??= this.#text
      .split('\r\n')
      .slice(1)
      .map((line) => {
        const field = FIELD.exec(line)
        if (field === null)
          throw new MalformedResponse(`no header field: ${JSON.stringify(line.slice(0, 80))}`)
        return [field[1]!.toLowerCase(), field[2]!] as const
      })
    return this.#fields
  }

  /** Value of a header; repeated fields are joined with a comma, an absent one is `''`. */
  header(name: string): string {
    const values = this.fields.filter(([field]) => field === name).map(([, value]) => value)
    return values.join(', ')
  }
}

interface FramingFields {
  readonly coding: string | null
  readonly length: string | null
  readonly closes: boolean
}

/** Looks at the fields that frame, which are told from the others by the length of their name: a load driver has no time. */
function readFramingFields(text: string): FramingFields {
  let coding: string | null = null
  let length: string | null = null
  let closes = false
  for (let at = nextLineStart(text, 0); at > 0; at = nextLineStart(text, at)) {
    const colon = text.indexOf(':', at)
    if (colon <= at)
      throw new MalformedResponse(`no header field: ${JSON.stringify(text.slice(at, at + 80))}`)
    const size = colon - at
    if (size !== 10 && size !== 14 && size !== 17) continue
    const name = text.slice(at, colon).toLowerCase()
    if (name === 'connection') closes ||= /(?:^|,)\s*close\s*(?:,|$)/i.test(fieldValueAt(text, colon))
    else if (name === 'content-length') {
      if (length !== null) throw new MalformedResponse('two content lengths')
      length = fieldValueAt(text, colon)
    } else if (name === 'transfer-encoding') {
      if (coding !== null) throw new MalformedResponse('two transfer codings')
      coding = fieldValueAt(text, colon)
    }
  }
  return { coding, length, closes }
}

/** Where the line behind the one at `at` begins; 0 behind the last. */
function nextLineStart(text: string, at: number): number {
  const end = text.indexOf('\r\n', at)
  return end < 0 ? 0 : end + 2
}

function fieldValueAt(text: string, colon: number): string {
  const end = text.indexOf('\r\n', colon)
  return text.slice(colon + 1, end < 0 ? text.length : end).trim()
}

/** The size that the line of a chunk says; the line stands in `bytes` without its CR LF. Faults: MalformedResponse. */
export function parseChunkSize(bytes: Buffer, from = 0, to = bytes.length): number {
  let size = 0
  for (let at = from; at < to; at++) size = size * 16 + hexDigit(bytes[at]!)
  if (to <= from || to - from > 8) throw new MalformedResponse('no chunk size')
  return size
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  if (letter >= 97 && letter <= 102) return letter - 87
  throw new MalformedResponse(`no chunk size: ${JSON.stringify(String.fromCharCode(byte))}`)
}
