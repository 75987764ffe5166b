/**
 * Finds where an answer of HTTP/1.1 ends: its head, its framing, and whether the connection stays. One request is under
 * way at a time, so bytes behind an answer are a fault.
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

/** Who wants to see more than where answers end. Bytes are borrowed: valid in the call only. */
export interface ResponseListener {
  head?(head: ResponseHead): void
  /** Bytes of the body, without its framing. */
  data?(bytes: Buffer, from: number, to: number): void
}

type FramingState = 'head' | 'sized' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer'

const HEAD_END = Buffer.from('\r\n\r\n')
const MAX_HEAD_BYTES = 64 * 1024
const MAX_CHUNK_SIZE_LINE = 16
const LF = 10
const CR = 13
const EMPTY = Buffer.alloc(0)

export class ResponseFraming {
  /** Whether the answers that follow are to HEAD, and so without a body. */
  toHeadRequest = false
  /** Of the answer that ended last, or of the one under way; 0 before its head. */
  status = 0
  /** Bytes of the body, without its framing. */
  bodyBytes = 0
  /** The connection ends with this answer. */
  closes = false
  readonly #listener: ResponseListener
  #state: FramingState = 'head'
  #bytesLeft = 0
  /** The beginning of a head or of the line of a chunk; of an interim answer, nothing. */
  #partial: Buffer | null = null

  constructor(parts: ResponseListener = {}) {
    this.#listener = parts
  }

  /** Takes bytes that are valid during the call only. True when the answer is complete. Faults: MalformedResponse. */
  feed(bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length; ) {
      at = this.#state === 'head' ? this.#feedHead(bytes, at) : this.#feedBody(bytes, at)
      if (this.#state !== 'head' || this.#partial !== null) continue
      if (at < bytes.length) throw new MalformedResponse(`${bytes.length - at} bytes behind the answer`)
      return true
    }
    return false
  }

  /** The peer closed: true when that is how the answer under way ends. */
  endedByClose(): boolean {
    if (this.#state !== 'until-close') return false
    this.#state = 'head'
    this.closes = true
    return true
  }

  #feedHead(bytes: Buffer, at: number): number {
    const kept = this.#partial ?? EMPTY
    const fresh = at === 0 ? bytes : bytes.subarray(at)
    const all = kept.length === 0 ? fresh : Buffer.concat([kept, fresh])
    const end = all.indexOf(HEAD_END)
    if (end < 0) {
      if (all.length > MAX_HEAD_BYTES) throw new MalformedResponse('the head of the answer does not end')
      this.#partial = Buffer.from(all)
      return bytes.length
    }
    this.#readHead(new ResponseHead(all.toString('latin1', 0, end), this.toHeadRequest))
    return at + end + HEAD_END.length - kept.length
  }

  #readHead(head: ResponseHead): void {
    if (head.version !== 'HTTP/1.1') throw new MalformedResponse(`an answer of ${head.version}`)
    this.bodyBytes = 0
    // Behind an interim answer the head of the real one follows.
    this.#partial = head.status < 200 ? EMPTY : null
    if (head.status < 200) return
    this.status = head.status
    this.closes = head.closes
    this.#bytesLeft = head.length
    if (head.framing === 'chunked') this.#state = 'chunk-size'
    else if (head.framing === 'until-close') this.#state = 'until-close'
    else if (head.length > 0) this.#state = 'sized'
    this.#listener.head?.(head)
  }

  #feedBody(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'sized':
        return this.#sizedData(bytes, at, 'head')
      case 'chunk':
        return this.#sizedData(bytes, at, 'chunk-end')
      case 'chunk-size':
        return this.#sizeLine(bytes, at)
      case 'chunk-end':
        return this.#lineEnd(bytes, at, 'chunk-size', 'a chunk is longer than it says')
      case 'trailer':
        return this.#lineEnd(bytes, at, 'head', 'trailers are not expected')
      default:
        return this.#data(bytes, at, bytes.length)
    }
  }

  #sizedData(bytes: Buffer, at: number, then: FramingState): number {
    const to = at + Math.min(this.#bytesLeft, bytes.length - at)
    this.#bytesLeft -= to - at
    if (this.#bytesLeft === 0) this.#state = then
    return this.#data(bytes, at, to)
  }

  #data(bytes: Buffer, from: number, to: number): number {
    this.bodyBytes += to - from
    this.#listener.data?.(bytes, from, to)
    return to
  }

  /** The CR LF behind a chunk and behind the last one; its CR is remembered by what is left. */
  #lineEnd(bytes: Buffer, at: number, then: FramingState, otherwise: string): number {
    if (bytes[at] !== (this.#bytesLeft === 0 ? CR : LF)) throw new MalformedResponse(otherwise)
    this.#bytesLeft = this.#bytesLeft === 0 ? 1 : 0
    if (this.#bytesLeft === 0) this.#state = then
    return at + 1
  }

  #sizeLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LF, at)
    if (this.#partial !== null || end < 0) return this.#splitSizeLine(bytes, at, end)
    this.#readSize(bytes, at, end)
    return end + 1
  }

  /** The line of a chunk that came in more than one piece. */
  #splitSizeLine(bytes: Buffer, at: number, end: number): number {
    const to = end < 0 ? bytes.length : end + 1
    const line = Buffer.concat([this.#partial ?? EMPTY, bytes.subarray(at, to)])
    if (line.length > MAX_CHUNK_SIZE_LINE) throw new MalformedResponse('no chunk size')
    this.#partial = end < 0 ? line : null
    if (end >= 0) this.#readSize(line, 0, line.length - 1)
    return to
  }

  /** The line stands before `end`, where its LF is. */
  #readSize(bytes: Buffer, from: number, end: number): void {
    if (end - 1 < from || bytes[end - 1] !== CR)
      throw new MalformedResponse('no end of a line behind a chunk size')
    const size = parseChunkSize(bytes, from, end - 1)
    this.#state = size === 0 ? 'trailer' : 'chunk'
    this.#bytesLeft = size
  }
}
