/**
 * The framing of a request. uWebSockets.js calls a handler before it has validated Content-Length and
 * Transfer-Encoding, and hands over repeated headers one by one, so this stands in front of everything.
 * The server feeds it the header fields of a request in order and asks for a verdict.
 * Rules: contract/decisions 21; RFC 9112 sections 3.2 and 6.3. Part of the native edge.
 */

/** How a caller asks for the connection to be closed: not at all, with the one word, or within a list. */
export type CloseRequest = 'none' | 'word' | 'listed'

export type FramingVerdict = 'ok' | 'bad-request' | 'length-required'

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i
const LENGTH = /^[0-9]{1,15}$/
/** What an authority may be made of (RFC 3986 section 3.2.2); it may be empty. */
const HOST = /^[\w.\-~!$&'()*+,;=%:[\]]*$/

export class FramingGuard {
  readonly #allowChunked: boolean
  #hosts = 0
  #types = 0
  #credentials = 0
  #length = ''
  #coding = ''
  #codings = 0
  #malformed = false
  #closeRequest: CloseRequest = 'none'

  /** `allowChunked`: the operator declares that a strict proxy stands in front. */
  constructor(allowChunked: boolean) {
    this.#allowChunked = allowChunked
  }

  reset(): void {
    this.#hosts = 0
    this.#types = 0
    this.#credentials = 0
    this.#codings = 0
    this.#length = ''
    this.#coding = ''
    this.#malformed = false
    this.#closeRequest = 'none'
  }

  /** Takes one header field; `name` in lower case. Told apart by length first: this runs per field. */
  addField(name: string, value: string): void {
    switch (name.length) {
      case 4:
        if (name === 'host') this.#addHost(value)
        return
      case 10:
        if (name === 'connection' && value !== 'keep-alive' && CLOSE.test(value)) {
          this.#closeRequest = value.length === 5 ? 'word' : 'listed'
        }
        return
      case 12:
        if (name === 'content-type') this.#types++
        return
      case 13:
        if (name === 'authorization') this.#credentials++
        return
      case 14:
        if (name === 'content-length') this.#addLength(value)
        return
      case 17:
        if (name === 'transfer-encoding') {
          this.#codings++
          this.#coding = value
        }
    }
  }

  #addHost(value: string): void {
    this.#hosts++
    if (!HOST.test(value)) this.#malformed = true
  }

  #addLength(value: string): void {
    // A second copy, even an equal one, is a repeated singleton; one copy may not be a list either.
    if (this.#length !== '' || !LENGTH.test(value)) this.#malformed = true
    this.#length = value
  }

  verdict(): FramingVerdict {
    if (this.#malformed || this.#hosts !== 1 || this.#types > 1 || this.#credentials > 1) return 'bad-request'
    if (this.#codings > 0) {
      if (this.#length !== '') return 'bad-request'
      if (!this.#allowChunked) return 'length-required'
      if (this.#codings > 1 || this.#coding.toLowerCase() !== 'chunked') return 'bad-request'
    }
    return 'ok'
  }

  /** The caller wants the connection closed behind the answer (RFC 9112 section 9.6). */
  get closeRequest(): CloseRequest {
    return this.#closeRequest
  }

  /**
   * Declared length of the body in bytes: 0 without a declaration, -1 when it comes in chunks, NaN when the
   * declaration is broken, so that the end of the body cannot be known.
   */
  get bodyLength(): number {
    if (this.#length !== '') return this.#malformed ? Number.NaN : Number(this.#length)
    return this.#codings > 0 ? -1 : 0
  }
}
