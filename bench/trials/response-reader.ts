/**
 * A small, strict reader of HTTP/1.1 answers for connections that carry one request at a time.
 * Strict on purpose: a trial must notice a truncated, doubled or garbled answer instead of repairing it.
 */

/** One complete answer. Header names are lower-case; repeated fields are joined with a comma. */
export interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** True when the server said that this connection ends here. */
  readonly closes: boolean
}

/** Thrown when the bytes are no HTTP/1.1 answer, or more than one answer. */
export class GarbledAnswer extends Error {}

interface Head {
  readonly status: number
  readonly headers: Map<string, string>
  readonly closes: boolean
  readonly length: number
}

type Framing =
  | { readonly kind: 'sized'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' }

const HEAD_END = Buffer.from('\r\n\r\n')
const MAX_HEAD = 64 * 1024

function parseHead(bytes: Buffer): Head | null {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) {
    if (bytes.length > MAX_HEAD) throw new GarbledAnswer('the header block of the answer does not end')
    return null
  }
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const match = /^HTTP\/1\.1 (\d{3})(?: .*)?$/.exec(statusLine)
  if (!match) throw new GarbledAnswer(`no status line: ${JSON.stringify(statusLine.slice(0, 80))}`)
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon <= 0) throw new GarbledAnswer(`no header field: ${JSON.stringify(line.slice(0, 80))}`)
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const earlier = headers.get(name)
    if (earlier !== undefined && name === 'content-length') throw new GarbledAnswer('two content lengths')
    headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`)
  }
  const closes = /(?:^|,)\s*close\s*(?:,|$)/i.test(headers.get('connection') ?? '')
  return { status: Number(match[1]), headers, closes, length: end + HEAD_END.length }
}

function framingOf(head: Head, headRequest: boolean): Framing {
  if (headRequest || head.status === 204 || head.status === 304) return { kind: 'sized', bytes: 0 }
  const coding = head.headers.get('transfer-encoding')
  const length = head.headers.get('content-length')
  if (coding !== undefined) {
    if (length !== undefined) throw new GarbledAnswer('a content length together with a transfer encoding')
    if (coding.toLowerCase() !== 'chunked') throw new GarbledAnswer(`unknown transfer encoding ${coding}`)
    return { kind: 'chunked' }
  }
  if (length === undefined) return { kind: 'until-close' }
  if (!/^\d{1,15}$/.test(length)) throw new GarbledAnswer(`no content length: ${length}`)
  return { kind: 'sized', bytes: Number(length) }
}

/** Decodes a chunked body that starts at `from`; null while it is incomplete. */
function readChunks(bytes: Buffer, from: number): { body: Buffer; end: number } | null {
  const parts: Buffer[] = []
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return null
    const size = bytes.toString('latin1', at, lineEnd)
    if (!/^[0-9a-fA-F]{1,8}$/.test(size)) throw new GarbledAnswer(`no chunk size: ${JSON.stringify(size)}`)
    const length = Number.parseInt(size, 16)
    const start = lineEnd + 2
    if (bytes.length < start + length + 2) return null
    if (bytes.toString('latin1', start + length, start + length + 2) !== '\r\n') {
      throw new GarbledAnswer(length === 0 ? 'trailers are not expected' : 'a chunk is longer than it says')
    }
    if (length === 0) return { body: Buffer.concat(parts), end: start + 2 }
    parts.push(bytes.subarray(start, start + length))
    at = start + length + 2
  }
}

export class ResponseReader {
  #bytes: Buffer = Buffer.alloc(0)
  #head: Head | null = null
  #headRequest = false

  /** Prepares for the answer to the next request; `headRequest` says that it will carry no body. */
  expect(headRequest: boolean): void {
    this.#headRequest = headRequest
    this.#head = null
    this.#bytes = Buffer.alloc(0)
  }

  /** Bytes of an unfinished answer seen so far. */
  get pending(): number {
    return this.#bytes.length
  }

  /**
   * Takes the next bytes. Returns the answer once it is complete, null before.
   * Faults: GarbledAnswer, also when bytes follow a complete answer.
   */
  feed(chunk: Buffer): Answer | null {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    while (this.#head === null) {
      const head = parseHead(this.#bytes)
      if (head === null) return null
      if (head.status >= 200) this.#head = head
      else this.#bytes = this.#bytes.subarray(head.length)
    }
    return this.#complete(this.#head)
  }

  /** The peer sent its FIN: returns the answer when only the FIN could end it, null when it is incomplete. */
  end(): Answer | null {
    const head = this.#head
    if (head === null || framingOf(head, this.#headRequest).kind !== 'until-close') return null
    return this.#answer(head, this.#bytes.subarray(head.length), true)
  }

  #complete(head: Head): Answer | null {
    const framing = framingOf(head, this.#headRequest)
    if (framing.kind === 'until-close') return null
    if (framing.kind === 'sized') {
      const end = head.length + framing.bytes
      if (this.#bytes.length < end) return null
      return this.#exact(head, this.#bytes.subarray(head.length, end), end)
    }
    const chunks = readChunks(this.#bytes, head.length)
    return chunks === null ? null : this.#exact(head, chunks.body, chunks.end)
  }

  #exact(head: Head, body: Buffer, end: number): Answer {
    if (this.#bytes.length > end)
      throw new GarbledAnswer(`${this.#bytes.length - end} bytes after the answer`)
    return this.#answer(head, body, head.closes)
  }

  #answer(head: Head, body: Buffer, closes: boolean): Answer {
    this.#bytes = Buffer.alloc(0)
    this.#head = null
    return { status: head.status, headers: head.headers, body, closes }
  }
}
